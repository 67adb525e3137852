"""Predicates that must be tried one by one, each held once, and tried at most once per event (Once 3.2).

Held by type, attribute and operator, then by constant: `a = TRUE` is not `a = 1`, though Python takes them for equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from p2psub.matching.predicates import Test, compile_predicate
from p2psub.model.content import Operator, Predicate, Value

PredicateNumber = int
Content = dict[str, Value]
Rest = int
"""The number of one predicate; or of several that must all hold, which are numbered from -2 down."""
NO_REST: Final[Rest] = -1
Truths = dict[Rest, bool]
"""What is known of one event already."""

_ShelfName = tuple[type, str, Operator]


class _Shelf(dict[Value, PredicateNumber]):
    """Numbers of the predicates that differ in their constant only."""

    __slots__ = ("name",)

    def __init__(self, name: _ShelfName) -> None:
        super().__init__()
        self.name = name


class PredicateStore:
    """Numbers predicates; a number is given again once no row uses it."""

    __slots__ = ("_constants", "_free", "_free_several", "_several", "_shelf_of", "_shelves", "_tests", "_uses")

    def __init__(self) -> None:
        self._shelves: dict[_ShelfName, _Shelf] = {}
        # By number:
        self._tests: list[Test] = []
        self._shelf_of: list[_Shelf] = []
        self._constants: list[Value] = []
        self._uses = array("i")
        self._free: list[PredicateNumber] = []
        # By -2 - rest:
        self._several: list[tuple[PredicateNumber, ...]] = []
        self._free_several: list[Rest] = []

    def __len__(self) -> int:
        return len(self._tests) - len(self._free)

    def take(self, predicate: Predicate) -> PredicateNumber:
        """The number of a predicate, which has one more use now. It must be defined."""
        kind = float if type(predicate.constant) is int else type(predicate.constant)
        name = (kind, predicate.attribute, predicate.operator)
        shelf = self._shelves.get(name)
        if shelf is None:
            shelf = self._shelves[name] = _Shelf(name)
        number = shelf.get(predicate.constant)
        if number is None:
            number = shelf[predicate.constant] = self._place(shelf, predicate)
        self._uses[number] += 1
        return number

    def _place(self, shelf: _Shelf, predicate: Predicate) -> PredicateNumber:
        test = compile_predicate(predicate)
        if self._free:
            number = self._free.pop()
            self._tests[number], self._shelf_of[number], self._constants[number] = test, shelf, predicate.constant
            return number
        self._tests.append(test)
        self._shelf_of.append(shelf)
        self._constants.append(predicate.constant)
        self._uses.append(0)
        return len(self._tests) - 1

    def drop(self, number: PredicateNumber) -> None:
        """One use less."""
        self._uses[number] -= 1
        if not self._uses[number]:
            shelf = self._shelf_of[number]
            del shelf[self._constants[number]]
            if not shelf:
                del self._shelves[shelf.name]
            self._free.append(number)

    def take_all(self, predicates: Sequence[Predicate]) -> Rest:
        """The number of all these together."""
        if not predicates:
            return NO_REST
        if len(predicates) == 1:
            return self.take(predicates[0])
        numbers = tuple([self.take(predicate) for predicate in predicates])
        if self._free_several:
            rest = self._free_several.pop()
            self._several[-2 - rest] = numbers
            return rest
        self._several.append(numbers)
        return -1 - len(self._several)

    def drop_all(self, rest: Rest) -> None:
        """Undo `take_all`."""
        if rest >= 0:
            self.drop(rest)
        elif rest != NO_REST:
            for number in self._several[-2 - rest]:
                self.drop(number)
            self._several[-2 - rest] = ()
            self._free_several.append(rest)

    def holds(self, number: PredicateNumber, content: Content, truths: Truths) -> bool:
        """Whether a predicate holds for an event, of which `truths` is all that was found out before."""
        known = truths.get(number)
        if known is None:
            attribute, kinds, comparison, constant = self._tests[number]
            value = content.get(attribute)
            known = truths[number] = type(value) in kinds and bool(comparison(value, constant))
        return known

    def holds_all(self, rest: Rest, content: Content, truths: Truths) -> bool:
        """The same for all of a rest of which it is not known yet."""
        if rest >= 0:
            # Most rests are one predicate. Spelt out, since this is where an event spends most of its time.
            attribute, kinds, comparison, constant = self._tests[rest]
            value = content.get(attribute)
            is_true = type(value) in kinds and bool(comparison(value, constant))
        else:
            is_true = all(self.holds(number, content, truths) for number in self._several[-2 - rest])
        truths[rest] = is_true
        return is_true
