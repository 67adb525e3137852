"""What a filter means, written a second time and plainly (MTEP 1.1): the checkers do not trust the matcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from p2psub.model.content import TOPIC, Event, Filter, Moment, Operator, Predicate, Value

_ORDERED: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LESS: lambda value, constant: value < constant,
    Operator.LESS_EQUAL: lambda value, constant: value <= constant,
    Operator.GREATER: lambda value, constant: value > constant,
    Operator.GREATER_EQUAL: lambda value, constant: value >= constant,
}


_DENIALS = {
    Operator.NOT_PREFIX: Operator.PREFIX,
    Operator.NOT_SUFFIX: Operator.SUFFIX,
    Operator.NOT_CONTAINS: Operator.CONTAINS,
    Operator.NOT_IN: Operator.IN,
    Operator.NOT_SUBSET: Operator.SUBSET,
    Operator.NOT_PROPER_SUBSET: Operator.PROPER_SUBSET,
    Operator.NOT_LIKE: Operator.LIKE,
}


def wants(wanted: Filter, event: Event) -> bool:
    """Whether the filter takes the event."""
    return any(all(_holds(predicate, event) for predicate in conjunction) for conjunction in wanted.conjunctions)


def _holds(predicate: Predicate, event: Event) -> bool:
    value = event.topic if predicate.attribute == TOPIC else event.attributes.get(predicate.attribute)
    if predicate.operator is Operator.EXISTS:
        return predicate.constant is (value is not None)
    if value is None:
        return False
    return _compare(value, predicate.operator, predicate.constant)


def _compare(value: Value, operator: Operator, constant: Value) -> bool:
    if operator in _DENIALS:
        affirmed = _DENIALS[operator]
        return _is_known(value, affirmed, constant) and not _compare(value, affirmed, constant)
    if operator in _ORDERED:
        return _sort(value) == _sort(constant) in ("number", "text", "date") and _ORDERED[operator](value, constant)
    match operator:
        case Operator.EQUAL:
            return _sort(value) == _sort(constant) and value == constant
        case Operator.UNEQUAL:
            itself = value == value and constant == constant  # noqa: PLR0124, NaN is not itself and satisfies nothing
            return _sort(value) == _sort(constant) and itself and value != constant
        case Operator.IN:
            return isinstance(constant, frozenset) and _sort(value) in ("number", "text") and value in constant
        case Operator.CONTAINS if isinstance(value, frozenset):
            return _sort(constant) in ("number", "text") and constant in value
    if isinstance(value, str) and isinstance(constant, str):
        return _text(value, operator, constant)
    if isinstance(value, frozenset) and isinstance(constant, frozenset):
        within = all(item in constant for item in value)
        return within and (operator is Operator.SUBSET or (operator is Operator.PROPER_SUBSET and value != constant))
    return False


def _is_known(value: Value, operator: Operator, constant: Value) -> bool:
    """Whether the comparison is true or false, and not unknown."""
    itself = value == value and constant == constant  # noqa: PLR0124, NaN is not itself
    if operator is Operator.IN and isinstance(constant, frozenset):
        return itself and bool(constant) and all(_sort(value) == _sort(member) for member in constant)
    if operator is Operator.CONTAINS and isinstance(value, frozenset):
        return itself and _sort(constant) in ("number", "text")
    wanted = "set" if operator in (Operator.SUBSET, Operator.PROPER_SUBSET) else "text"
    return operator is not Operator.IN and _sort(value) == _sort(constant) == wanted


def _is_like(value: str, pattern: str) -> bool:
    """% is any text, _ one character, a backslash makes the next one plain: the places each step can reach."""
    reached, steps = {0}, iter(pattern)
    for step in steps:
        if step == "%":
            reached = set(range(min(reached, default=len(value) + 1), len(value) + 1))
            continue
        plain = next(steps, step) if step == "\\" else step
        is_any = step == "_"
        reached = {at + 1 for at in reached if at < len(value) and (is_any or value[at] == plain)}
    return len(value) in reached


def _text(value: str, operator: Operator, constant: str) -> bool:
    match operator:
        case Operator.PREFIX:
            return value[: len(constant)] == constant
        case Operator.SUFFIX:
            return value.endswith(constant)
        case Operator.CONTAINS:
            return constant in value
        case Operator.LIKE:
            return _is_like(value, constant)
        case _:
            return False


def _sort(value: Value) -> str:
    """Values of one sort compare with each other."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, Moment) else "set"
