"""What a filter means, said once more and as plainly as possible: one `if` after the other, nothing compiled."""

from __future__ import annotations

import math

from p2psub.model.content import Event, Filter, Moment, Operator, Predicate, Value


def matches(wanted: Filter, event: Event) -> bool:
    """Whether some conjunction of the filter holds in all its predicates."""
    return any(all(holds(predicate, event) for predicate in conjunction) for conjunction in wanted.conjunctions)


def holds(predicate: Predicate, event: Event) -> bool:
    """Whether one predicate holds for an event."""
    if predicate.operator is Operator.EXISTS:
        exists = predicate.attribute == "topic" or predicate.attribute in event.attributes
        return isinstance(predicate.constant, bool) and exists == predicate.constant
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
    if symbol.startswith("not_"):
        counterpart = Operator(symbol.removeprefix("not_"))
        return can_compare(value, counterpart, constant) and not compare(value, counterpart, constant)
    if symbol == "like":
        return kinds == ("text", "text") and is_like(str(value), str(constant), "\\")
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


def can_compare(value: Value, operator: Operator, constant: Value) -> bool:
    """Whether the comparison is true or false, and not unknown."""
    kinds = (family(value), family(constant))
    match operator.value:
        case "in":
            members = constant if isinstance(constant, frozenset) else frozenset()
            return bool(members) and value == value and all(family(value) == family(member) for member in members)  # noqa: PLR0124
        case "contains":
            is_number = isinstance(constant, int) or (isinstance(constant, float) and not math.isnan(constant))
            return kinds in {("text", "text"), ("set", "text")} or (kinds == ("set", "number") and is_number)
        case "subset" | "proper_subset":
            return kinds == ("set", "set")
        case _:
            return kinds == ("text", "text")


def is_like(text: str, pattern: str, escape: str | None) -> bool:
    """% is any text, _ any character: the places of the text that each step of the pattern can reach."""
    reached = {0}
    steps = iter(pattern)
    for step in steps:
        if step == escape:
            literal = next(steps, step)
            reached = {at + 1 for at in reached if text[at : at + 1] == literal}
        elif step == "%":
            reached = set(range(min(reached), len(text) + 1)) if reached else set()
        elif step == "_":
            reached = {at + 1 for at in reached if at < len(text)}
        else:
            reached = {at + 1 for at in reached if text[at : at + 1] == step}
    return len(text) in reached


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
