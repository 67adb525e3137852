"""What an application may hand in: events, filters, rates and windows; refused before any peer sees it."""

from __future__ import annotations

from typing import Final

from p2psub.api.bids import check_timeout_us
from p2psub.api.errors import BadContent, TooLarge, spelled
from p2psub.matching.limits import excess_of
from p2psub.model.content import (
    EVENT_BYTES_MAX,
    RATE_MAX,
    TOPIC_BYTES_MAX,
    Draft,
    Filter,
    Guarantee,
    Moment,
    Operator,
    Order,
)

ATTRIBUTES_MAX: Final = 256
RETAIN_S_MAX: Final = 100 * 366 * 86_400.0
WINDOW_MAX: Final = 1 << 32
"""A window that owners are told of, which no peer's memory fills."""

INTEGER_MIN: Final = -(1 << 63)
INTEGER_MAX: Final = (1 << 64) - 1
"""Whole numbers that MessagePack can carry."""


def check_draft(draft: Draft) -> None:
    """Raise BadContent or TooLarge if no peer would take it."""
    if not 0 < text_bytes("the topic", draft.topic) <= TOPIC_BYTES_MAX:
        raise BadContent(f"the topic must have 1 to {TOPIC_BYTES_MAX} bytes", "give a short name such as quotes/ACME")
    if len(draft.attributes) > ATTRIBUTES_MAX:
        raise TooLarge(f"{len(draft.attributes)} attributes", f"give at most {ATTRIBUTES_MAX}, the rest in the body")
    # An application in Python may hand in any type.
    if type(draft.body) is not bytes:
        raise BadContent(f"the body has type {type(draft.body).__name__}", "give bytes")
    # A text that looks like one would travel, and no owner could read it.
    if type(draft.guarantee) is not Guarantee:
        raise BadContent(
            f"{spelled(draft.guarantee)} is not a valid guarantee",
            "give Guarantee.EFFECTIVELY_ONCE or Guarantee.AT_MOST_ONCE",
        )
    weight = len(draft.body)
    for name, value in draft.attributes.items():
        weight += text_bytes("the name of an attribute", name) + value_bytes(name, value)
    if weight > EVENT_BYTES_MAX:
        raise TooLarge(
            f"the event has {weight:,} bytes",
            f"publish at most {EVENT_BYTES_MAX:,}; put larger things where they can be fetched, and publish where",
        )
    if not 0 <= draft.retain_s <= RETAIN_S_MAX:
        limits = f"retain_s must be at least 0 and at most {RETAIN_S_MAX:,.0f}, and is {spelled(draft.retain_s)}"
        raise BadContent(limits, "give seconds; 0 retains nothing for later subscribers")
    if draft.timeout_us or type(draft.timeout_us) is not int:
        check_timeout_us(draft.timeout_us)


def checked_copy(draft: Draft) -> Draft:
    """The same, whatever becomes of the attributes that an application has in its hands."""
    check_draft(draft)
    body, attributes = draft.body, dict(draft.attributes)
    return Draft(draft.topic, attributes, body, draft.retain_s, draft.guarantee, draft.timeout_us)


def check_filter(wanted: Filter) -> Filter:
    """The same filter; BadContent or TooLarge if no peer would take it.

    It may have been put together by hand, past the language and its limits.
    """
    for conjunction in wanted.conjunctions:
        for predicate in conjunction:
            text_bytes("an attribute of the filter", predicate.attribute)
            if type(predicate.operator) is not Operator:
                raise BadContent(f"{spelled(predicate.operator)} is not a valid operator", "give a member of Operator")
            value_bytes(f"the constant for {predicate.attribute}", predicate.constant)
    excess = excess_of(wanted)
    if excess is not None:
        raise TooLarge(f"the filter has too many {excess}", "ask for less at once, or make several subscriptions")
    return wanted


def check_rate(rate: float) -> None:
    """Raise BadContent unless it is a rate that can be advertised."""
    if type(rate) is not float and type(rate) is not int:
        raise BadContent(f"the rate has type {type(rate).__name__}", "give events per second, as a number")
    if not 0 < rate <= RATE_MAX:
        limits = f"rate must be above 0 and at most {RATE_MAX:,.0f}, and is {spelled(rate)}"
        raise BadContent(limits, "give events per second")


def check_window(window: int) -> None:
    """Raise BadContent unless a subscription's channel with this window takes an event."""
    if type(window) is not int:
        raise BadContent(f"the window has type {type(window).__name__}", "give a whole number, 1 or more")
    if not 1 <= window <= WINDOW_MAX:
        limits = f"window must be at least 1 and at most {WINDOW_MAX:,}, and is {spelled(window)}"
        raise BadContent(limits, "give 1 or more")


def check_replay(replay: bool) -> None:
    """Raise BadContent unless it says yes or no."""
    if type(replay) is not bool:
        raise BadContent(f"replay has type {type(replay).__name__}", "give True or False")


def check_order(order: str) -> Order:
    """The order of this name; BadContent if there is none."""
    try:
        return Order(order)
    except ValueError:
        advice = f"give {' or '.join(repr(str(known)) for known in Order)}"
        raise BadContent(f"{spelled(order)} is not a valid order", advice) from None


def value_bytes(name: str, value: object) -> int:
    """Roughly what a value weighs; BadContent if it is not valid. `name` is what the complaint is about."""
    kind = type(value)
    if kind is str:
        return text_bytes(name, value)
    if kind is int:
        return _integer_bytes(name, value)
    if kind is float or kind is bool:
        return 8
    if type(value) is Moment:
        return _integer_bytes(name, value.us)
    if type(value) is frozenset:
        return sum(_member_bytes(name, member) for member in value)
    raise BadContent(
        f"{name} has type {kind.__name__}",
        "give a bool, int, float or str, Moment.of(a datetime), or a frozenset of ints or strs",
    )


def text_bytes(name: str, text: object) -> int:
    """Bytes of a text in UTF-8; BadContent if it has none."""
    if type(text) is not str:
        raise BadContent(f"{name} has type {type(text).__name__}", "give text")
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise BadContent(f"{name} contains an unpaired surrogate", "give text that has a form in UTF-8") from error


def _integer_bytes(name: str, number: object) -> int:
    assert isinstance(number, int)
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise BadContent(f"{name} is beyond 64 bits", "give a smaller number, or a float, or text")
    return 8


def _member_bytes(name: str, member: object) -> int:
    if type(member) is int:
        return _integer_bytes(name, member)
    if type(member) is str:
        return text_bytes(name, member)
    raise BadContent(f"the set {name} has a member of type {type(member).__name__}", "give ints or strs as members")
