"""From the syntax tree of a filter to its condition: constants are read, parameters put in, types checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from p2psub.matching.constants import Constant, Constants, place_of
from p2psub.matching.faults import FilterError
from p2psub.matching.like import BadEscape, canonical, items_of, read_pattern, simpler
from p2psub.matching.limits import Limits
from p2psub.matching.literals import set_of
from p2psub.matching.normal_form import Condition, Every, Some, every, negated, some
from p2psub.matching.predicates import is_defined
from p2psub.model.content import Moment, Operator, Predicate, Value

if TYPE_CHECKING:
    from lark import Token
    from lark.tree import ParseTree

_MIRRORED: Final = {
    Operator.LESS: Operator.GREATER,
    Operator.LESS_EQUAL: Operator.GREATER_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_EQUAL: Operator.LESS_EQUAL,
}
_SPELT: Final = {"starts": Operator.PREFIX, "ends": Operator.SUFFIX, "contains": Operator.CONTAINS}


class Reader:
    """Reads the tree of one text. Recursion is as deep as the tree, which the tokens' `depth_max` bounds."""

    __slots__ = ("_constants", "_limits", "_text")

    def __init__(self, text: str, params: Mapping[str, object], limits: Limits) -> None:
        self._text = text
        self._constants = Constants(text, params, limits)
        self._limits = limits

    def condition(self, tree: ParseTree) -> Condition:
        """What a (part of a) filter asks for."""
        parts = cast("list[ParseTree]", [child for child in tree.children if not isinstance(child, str)])
        match tree.data:
            case "everything":
                return Every()
            case "nothing":
                return Some()
            case "inner":
                return self.condition(parts[0])
            case "negation":
                return negated(self.condition(parts[0]))
            case "conjunction":
                return every([self.condition(part) for part in parts])
            case "disjunction":
                return some([self.condition(part) for part in parts])
            case _:
                return self._comparison(str(tree.data), parts)

    def _comparison(self, kind: str, parts: list[ParseTree]) -> Condition:
        match kind:
            case "compared":
                return self._compared(_name(parts[0]), _operator(parts[1]), self._constants.constant(parts[2]))
            case "mirrored":
                operator = _operator(parts[1])
                return self._compared(
                    _name(parts[2]), _MIRRORED.get(operator, operator), self._constants.constant(parts[0])
                )
            case "tested":
                return self._tested(_name(parts[0]), parts[1])
            case "untested":
                return negated(self._tested(_name(parts[0]), parts[1]))
            case _:
                return Predicate(_name(parts[0]), Operator.EXISTS, kind == "present")

    def _tested(self, name: str, test: ParseTree) -> Condition:
        operands = cast("list[ParseTree]", [child for child in test.children if not isinstance(child, str)])
        match test.data:
            case "between":
                return self._between(name, self._constants.constant(operands[0]), self._constants.constant(operands[1]))
            case "within":
                return self._within(name, operands[0])
            case "like":
                return self._like(name, *map(self._constants.constant, operands))
            case "subset" | "proper_subset":
                return Predicate(name, Operator(str(test.data)), self._constants.set(operands[0]))
            case _:
                return self._compared(name, _SPELT[str(test.data)], self._constants.constant(operands[0]))

    def _compared(self, name: str, operator: Operator, constant: Constant) -> Condition:
        if not is_defined(operator, constant.value):
            raise self._fault(constant.at, *_why_undefined(operator, constant.value))
        if operator is Operator.UNEQUAL and isinstance(constant.value, bool):
            return Predicate(name, Operator.EQUAL, not constant.value)
        return Predicate(name, operator, constant.value)

    def _between(self, name: str, low: Constant, high: Constant) -> Condition:
        bounds = [
            self._compared(name, Operator.GREATER_EQUAL, low),
            self._compared(name, Operator.LESS_EQUAL, high),
        ]
        if _kind(low.value) != _kind(high.value):
            message = f"BETWEEN compares with {_kind(low.value)} and with {_kind(high.value)}"
            raise self._fault(high.at, message, "both constants must be of one type")
        return every(bounds)

    def _within(self, name: str, tree: ParseTree) -> Condition:
        listed = [member.value for member in self._constants.members(tree)]
        if not listed:
            raise self._fault(place_of(tree), "IN needs at least one constant", "write IN ('a', 'b')")
        # A set value holds whole numbers and texts; what else a list may hold is compared one by one.
        members = set_of([value for value in listed if type(value) in (int, str)])
        alone: list[Value] = [value for value in listed if type(value) not in (int, str)]
        if len(members) == 1:
            alone.extend(members)
        parts: list[Condition] = [Predicate(name, Operator.EQUAL, value) for value in alone]
        if len(members) > 1:
            parts.append(Predicate(name, Operator.IN, members))
        return some(parts)

    def _like(self, name: str, pattern: Constant, escape: Constant | None = None) -> Condition:
        if not isinstance(pattern.value, str):
            raise self._fault(pattern.at, "LIKE compares with a pattern", "write it in single quotes: 'quotes/%'")
        if len(pattern.value) > self._limits.like_max:
            message = f"the pattern is longer than {self._limits.like_max} characters (limit like_max)"
            raise self._fault(pattern.at, message, "shorten it, or use STARTS WITH, ENDS WITH or CONTAINS")
        if escape and not (isinstance(escape.value, str) and len(escape.value) == 1):
            raise self._fault(escape.at, "ESCAPE takes one character", "such as ESCAPE '\\'")
        try:
            items = read_pattern(pattern.value, str(escape.value) if escape else None)
        except BadEscape as error:
            message = f"the escape character at {error.offset} of the pattern escapes nothing"
            raise self._fault(pattern.at, message, "it stands before %, _ or itself") from error
        text = canonical(items)
        operator, constant = simpler(items_of(text)) or (Operator.LIKE, text)
        return Predicate(name, operator, constant)

    def _fault(self, at: int, message: str, hint: str) -> FilterError:
        return FilterError(self._text, at, message, hint)


def _why_undefined(operator: Operator, constant: Value) -> tuple[str, str]:
    if operator in (Operator.PREFIX, Operator.SUFFIX):
        return "STARTS WITH and ENDS WITH compare with text", "write the constant in single quotes"
    if operator is Operator.CONTAINS:
        return "CONTAINS looks for a text, or for a member of a set", "write a text in single quotes, or a number"
    return f"{_kind(constant)} has no order", "compare with = or <>"


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a date" if isinstance(value, Moment) else "a set"


def _name(tree: ParseTree) -> str:
    token = cast("Token", tree.children[0])
    return token[1:-1].replace('""', '"') if token.type == "QUOTED" else str(token)


def _operator(tree: ParseTree) -> Operator:
    return Operator[cast("Token", tree.children[0]).type]
