"""What a filter means, said once more and as plainly as possible: one `if` after the other, nothing compiled."""

from __future__ import annotations

import math

from p2psub.model.content import Event, Filter, Moment, Operator, Predicate, Value


def matches(wanted: Filter, event: Event) -> bool:
    """Whether some conjunction of the filter holds in all its predicates."""
    return any(all(holds(predicate, event) for predicate in term) for term in wanted.terms)


def holds(predicate: Predicate, event: Event) -> bool:
    """Whether one predicate holds for an event."""
    if predicate.attribute == "topic":
        return compare(event.topic, predicate.operator, predicate.constant)
    if predicate.attribute not in event.attributes:
        return False
    return compare(event.attributes[predicate.attribute], predicate.operator, predicate.constant)


def family(value: Value) -> str:
    """Values of one family can be compared with each other."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Moment):
        return "date"
    return "set"


def compare(value: Value, operator: Operator, constant: Value) -> bool:
    """Whether `value operator constant`, where unknown is false."""
    if any(isinstance(side, float) and math.isnan(side) for side in (value, constant)):
        return False
    kinds = (family(value), family(constant))
    symbol = operator.value
    if symbol == "in":
        return kinds in {("number", "set"), ("text", "set")} and any(is_same(value, member) for member in constant)  # type: ignore[union-attr]
    if symbol == "contains":
        if kinds == ("text", "text"):
            return str(constant) in str(value)
        return kinds in {("set", "number"), ("set", "text")} and any(is_same(constant, member) for member in value)  # type: ignore[union-attr]
    if kinds[0] != kinds[1]:
        return False
    if symbol == "=":
        return value == constant
    if symbol == "<>":
        return value != constant
    if kinds[0] == "set":
        return compare_sets(frozenset(value), symbol, frozenset(constant))  # type: ignore[arg-type]
    if kinds[0] == "bool":
        return False
    if symbol in {"prefix", "suffix"}:
        return kinds[0] == "text" and compare_texts(str(value), symbol, str(constant))
    return compare_ordered(value, symbol, constant)


def is_same(one: Value, other: Value) -> bool:
    """Equality within a family."""
    return family(one) == family(other) and one == other


def compare_sets(value: frozenset[int | str], symbol: str, constant: frozenset[int | str]) -> bool:
    """⊆ and ⊂, member by member."""
    within = all(any(is_same(member, other) for other in constant) for member in value)
    if symbol == "subset":
        return within
    return symbol == "proper_subset" and within and len(value) < len(constant)


def compare_texts(value: str, symbol: str, constant: str) -> bool:
    """>* and <*."""
    return value[: len(constant)] == constant if symbol == "prefix" else value[len(value) - len(constant) :] == constant


def compare_ordered(value: Value, symbol: str, constant: Value) -> bool:
    """Numbers, texts and dates have an order."""
    if symbol not in {"<", "<=", ">", ">="}:
        return False
    if isinstance(value, Moment) and isinstance(constant, Moment):
        value, constant = value.us, constant.us
    below, same = value < constant, value == constant  # type: ignore[operator]
    return {"<": below, "<=": below or same, ">": not below and not same, ">=": not below}[symbol]
