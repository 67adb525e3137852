"""What a filter means (MTEP 1.1), compiled so that testing an event costs little.

A predicate (a, op, c) is satisfied if the event has the attribute `a`, its value is of a type that can be compared with
`c`, and `value op c` holds. A missing attribute or another type satisfies nothing, `<>` neither: as in SQL, unknown is
not true. In particular:

- ints and floats compare with each other, exactly; a bool is not a number, and knows only `=` and `<>`;
- NaN, as value or constant, satisfies nothing;
- text compares by code points, a date with dates;
- `in` (the paper's ∈): `c` is a set and the value, a number or text, is a member of it;
- `subset` (⊆) and `proper_subset` (⊂): both are sets, and the value lies within `c`; two sets also know `=` and `<>`;
- `prefix` (>*), `suffix` (<*): the text begins or ends with the text `c`;
- `contains`: the text contains the text `c`, or the set has the member `c`;
- `like`: the text fits the pattern `c` (see `like`);
- `not_…` holds where its counterpart is false, not where it is unknown; so `not_in` wants a value that can be compared
  with every member of `c`, of which there must be one;
- `exists`: the event has the attribute if `c` is true, lacks it if `c` is false; it alone is never unknown;
- the attribute `topic` is the event's topic, whatever its attributes say.

Values must be of exactly the types of `Value`, as the codec makes them: a subclass (an IntEnum, say) matches nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from p2psub.matching.like import Like
from p2psub.model.content import TOPIC, Draft, Event, Filter, Moment, Operator, Predicate, Value

Test = tuple[str, frozenset[type], Callable[[Any, Any], Any], Value | Like]
"""A compiled predicate: attribute, the types a value may have, the comparison, the constant or compiled pattern."""

CompiledFilter = tuple[tuple[Test, ...], ...]
"""Of the conjunctions those that some event can satisfy; no conjunction at all satisfies nothing."""

_NUMBERS: Final = frozenset([int, float])
_TEXT: Final = frozenset([str])
_DATES: Final = frozenset([Moment])
_BOOLS: Final = frozenset([bool])
_SETS: Final = frozenset([frozenset])
_ANYTHING: Final = _NUMBERS | _TEXT | _DATES | _BOOLS | _SETS | {type(None)}
"""Every type, and that of what `dict.get` finds for a missing attribute."""


def _differs(value: float, constant: float) -> bool:
    # NaN differs from everything to Python, and satisfies nothing here.
    return value != constant and value == value  # noqa: PLR0124


def _is_in(value: float | str, constant: frozenset[int | str]) -> bool:
    return value in constant


def _is_not_in(value: float | str, constant: frozenset[int | str]) -> bool:
    return value not in constant and value == value  # noqa: PLR0124, NaN again


def _exists(value: Value | None, constant: bool) -> bool:
    return (value is not None) is constant


def _is_like(value: str, constant: Like) -> bool:
    return constant.fits(value)


def _not(comparison: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda value, constant: not comparison(value, constant)


_Comparisons = Mapping[Operator, Callable[[Any, Any], Any]]
_Row = dict[Operator, tuple[frozenset[type], Callable[[Any, Any], Any]]]


def _row(kinds: frozenset[type], comparisons: _Comparisons) -> _Row:
    return {op: (kinds, comparison) for op, comparison in comparisons.items()}


_ORDER: Final[_Comparisons] = {
    Operator.LESS: operator.lt,
    Operator.LESS_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_EQUAL: operator.ge,
}
_SAMENESS: Final[_Comparisons] = {Operator.EQUAL: operator.eq, Operator.UNEQUAL: operator.ne}
_CONTAINING: Final[_Comparisons] = {
    Operator.CONTAINS: operator.contains,
    Operator.NOT_CONTAINS: _not(operator.contains),
}
_SPELLING: Final[_Comparisons] = {
    Operator.PREFIX: str.startswith,
    Operator.NOT_PREFIX: _not(str.startswith),
    Operator.SUFFIX: str.endswith,
    Operator.NOT_SUFFIX: _not(str.endswith),
    Operator.LIKE: _is_like,
    Operator.NOT_LIKE: _not(_is_like),
}
_WITHIN: Final[_Comparisons] = {
    Operator.SUBSET: operator.le,
    Operator.NOT_SUBSET: _not(operator.le),
    Operator.PROPER_SUBSET: operator.lt,
    Operator.NOT_PROPER_SUBSET: _not(operator.lt),
}
_MEMBERSHIP: Final[_Comparisons] = {Operator.IN: _is_in, Operator.NOT_IN: _is_not_in}

_NUMBER_ROW: Final = _row(_NUMBERS, {**_ORDER, **_SAMENESS, Operator.UNEQUAL: _differs}) | _row(_SETS, _CONTAINING)
_COMPARISONS: Final[dict[type, _Row]] = {
    int: _NUMBER_ROW,
    float: _NUMBER_ROW,
    bool: _row(_BOOLS, _SAMENESS) | _row(_ANYTHING, {Operator.EXISTS: _exists}),
    Moment: _row(_DATES, {**_ORDER, **_SAMENESS}),
    str: _row(_TEXT, {**_ORDER, **_SAMENESS, **_SPELLING}) | _row(_TEXT | _SETS, _CONTAINING),
    frozenset: _row(_SETS, {**_SAMENESS, **_WITHIN}) | _row(_NUMBERS | _TEXT, _MEMBERSHIP),
}
"""Per type of the constant and operator, what values it can be compared with, and how. What is missing never holds."""


def is_defined(operator: Operator, constant: Value) -> bool:
    """Whether some value can be compared with the constant in this way."""
    return operator in _COMPARISONS[type(constant)] and constant == constant  # noqa: PLR0124, only NaN is not itself


def are_defined(conjunction: Sequence[Predicate]) -> bool:
    """The same for every predicate of a conjunction, in one call."""
    for predicate in conjunction:
        constant = predicate.constant
        if predicate.operator not in _COMPARISONS[type(constant)] or constant != constant:  # noqa: PLR0124
            return False
    return True


def compile_filter(wanted: Filter) -> CompiledFilter:
    """A filter ready for `satisfies`; conjunctions that no event can satisfy are left out."""
    conjunctions = (_compile_conjunction(conjunction) for conjunction in wanted.conjunctions)
    return tuple(conjunction for conjunction in conjunctions if conjunction is not None)


def _compile_conjunction(conjunction: tuple[Predicate, ...]) -> tuple[Test, ...] | None:
    if not are_defined(conjunction):
        return None
    # The topic first: it tells most events apart.
    return tuple(sorted(map(compile_predicate, conjunction), key=lambda test: test[0] != TOPIC))


def compile_predicate(predicate: Predicate) -> Test:
    """One predicate, which must be defined, ready to be tried."""
    constant = predicate.constant
    kinds, comparison = _COMPARISONS[type(constant)][predicate.operator]
    if predicate.operator is Operator.NOT_IN and isinstance(constant, frozenset):
        return predicate.attribute, _kinds_of_members(constant), comparison, constant
    if predicate.operator in (Operator.LIKE, Operator.NOT_LIKE) and isinstance(constant, str):
        return predicate.attribute, kinds, comparison, Like(constant)
    return predicate.attribute, kinds, comparison, constant


def _kinds_of_members(members: frozenset[int | str]) -> frozenset[type]:
    """What can be compared with every member."""
    found = frozenset(map(type, members))
    if found == {int}:
        return _NUMBERS
    return _TEXT if found == {str} else frozenset()


def content_of(event: Event | Draft) -> dict[str, Value]:
    """What the tests of a filter look at."""
    return {**event.attributes, TOPIC: event.topic}


def satisfies(content: dict[str, Value], wanted: CompiledFilter) -> bool:
    """Whether some conjunction of the filter holds in all its tests."""
    value_of = content.get
    for conjunction in wanted:
        for attribute, kinds, comparison, constant in conjunction:
            value = value_of(attribute)
            if type(value) not in kinds or not comparison(value, constant):
                break
        else:
            return True
    return False
