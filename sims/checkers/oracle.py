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


def wants(wanted: Filter, event: Event) -> bool:
    """Whether the filter takes the event."""
    return any(all(_holds(predicate, event) for predicate in term) for term in wanted.terms)


def _holds(predicate: Predicate, event: Event) -> bool:
    value = event.topic if predicate.attribute == TOPIC else event.attributes.get(predicate.attribute)
    if value is None:
        return False
    return _compare(value, predicate.operator, predicate.constant)


def _compare(value: Value, operator: Operator, constant: Value) -> bool:
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


def _text(value: str, operator: Operator, constant: str) -> bool:
    match operator:
        case Operator.PREFIX:
            return value[: len(constant)] == constant
        case Operator.SUFFIX:
            return value.endswith(constant)
        case Operator.CONTAINS:
            return constant in value
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
