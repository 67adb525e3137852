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
- the attribute `topic` is the event's topic, whatever its attributes say.

Values must be of exactly the types of `Value`, as the codec makes them: a subclass (an IntEnum, say) matches nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from p2psub.model.content import TOPIC, Event, Filter, Moment, Operator, Predicate, Value

Test = tuple[str, frozenset[type], Callable[[Any, Any], Any], Value]
"""A compiled predicate: attribute, the types a value may have, the comparison, the constant."""

CompiledFilter = tuple[tuple[Test, ...], ...]
"""Of the terms those that some event can satisfy; no term at all satisfies nothing."""

_NUMBERS: Final = frozenset([int, float])
_TEXT: Final = frozenset([str])
_DATES: Final = frozenset([Moment])
_BOOLS: Final = frozenset([bool])
_SETS: Final = frozenset([frozenset])


def _differs(value: float, constant: float) -> bool:
    # NaN differs from everything to Python, and satisfies nothing here.
    return value != constant and value == value  # noqa: PLR0124


_ORDER: Final[dict[Operator, Callable[[Any, Any], Any]]] = {
    Operator.LESS: operator.lt,
    Operator.LESS_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_EQUAL: operator.ge,
}
_SAMENESS: Final[dict[Operator, Callable[[Any, Any], Any]]] = {
    Operator.EQUAL: operator.eq,
    Operator.UNEQUAL: operator.ne,
}

_Row = dict[Operator, tuple[frozenset[type], Callable[[Any, Any], Any]]]


def _row(kinds: frozenset[type], comparisons: Mapping[Operator, Callable[[Any, Any], Any]]) -> _Row:
    return {op: (kinds, comparison) for op, comparison in comparisons.items()}


_NUMBER_ROW: Final[_Row] = _row(_NUMBERS, {**_ORDER, **_SAMENESS, Operator.UNEQUAL: _differs}) | {
    Operator.CONTAINS: (_SETS, operator.contains)
}
_COMPARISONS: Final[dict[type, _Row]] = {
    int: _NUMBER_ROW,
    float: _NUMBER_ROW,
    bool: _row(_BOOLS, _SAMENESS),
    Moment: _row(_DATES, {**_ORDER, **_SAMENESS}),
    str: _row(_TEXT, {**_ORDER, **_SAMENESS, Operator.PREFIX: str.startswith, Operator.SUFFIX: str.endswith})
    | {Operator.CONTAINS: (_TEXT | _SETS, operator.contains)},
    frozenset: _row(_SETS, {**_SAMENESS, Operator.SUBSET: operator.le, Operator.PROPER_SUBSET: operator.lt})
    | {Operator.IN: (_NUMBERS | _TEXT, lambda value, constant: value in constant)},
}
"""Per type of the constant and operator, what values it can be compared with, and how. What is missing never holds."""


def compile_filter(wanted: Filter) -> CompiledFilter:
    """A filter ready for `satisfies`; terms that no event can satisfy are left out."""
    terms = (_compile_term(term) for term in wanted.terms)
    return tuple(term for term in terms if term is not None)


def _compile_term(term: tuple[Predicate, ...]) -> tuple[Test, ...] | None:
    tests: list[Test] = []
    for predicate in term:
        constant = predicate.constant
        comparison = _COMPARISONS[type(constant)].get(predicate.operator)
        if comparison is None or constant != constant:  # noqa: PLR0124, only NaN is not itself
            return None
        tests.append((predicate.attribute, *comparison, constant))
    # The topic first: it tells most events apart.
    return tuple(sorted(tests, key=lambda test: test[0] != TOPIC))


def content_of(event: Event) -> dict[str, Value]:
    """What the tests of a filter look at."""
    return {**event.attributes, TOPIC: event.topic}


def satisfies(content: dict[str, Value], wanted: CompiledFilter) -> bool:
    """Whether some term of the filter holds in all its tests."""
    value_of = content.get
    for term in wanted:
        for attribute, kinds, comparison, constant in term:
            value = value_of(attribute)
            if type(value) not in kinds or not comparison(value, constant):
                break
        else:
            return True
    return False
