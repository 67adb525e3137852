"""What may be published, and what may be wanted: filters that were not written as text have the same limits."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from p2psub.api.errors import BadContent, TooLarge
from p2psub.api.validation import (
    ATTRIBUTES_MAX,
    INTEGER_MAX,
    INTEGER_MIN,
    check_draft,
    check_filter,
    check_order,
    check_rate,
    check_replay,
    check_window,
)
from p2psub.model.content import (
    EVENT_BYTES_MAX,
    FILTER_BYTES_MAX,
    TOPIC_BYTES_MAX,
    Draft,
    Filter,
    Moment,
    Operator,
    Predicate,
)

LONG = 10**5000
"""Python itself refuses to write such a number down."""


class Color(enum.IntEnum):
    """A subclass of int."""

    RED = 1


@pytest.mark.parametrize(
    "draft",
    [
        Draft("t"),
        Draft("ü" * (TOPIC_BYTES_MAX // 2)),
        Draft("t", {"a": INTEGER_MAX, "b": INTEGER_MIN, "c": 1.5, "d": True, "e": "x", "f": Moment(1)}),
        Draft("t", {"s": frozenset(["a", 1])}),
        Draft("t", {}, b"x" * EVENT_BYTES_MAX),
        Draft("t", retain_s=3600.0),
    ],
)
def test_sound_drafts_pass(draft: Draft) -> None:
    """Up to the limits, and with every type of value."""
    check_draft(draft)


@pytest.mark.parametrize(
    ("attributes", "word"),
    [
        ({"price": None}, "price"),
        ({"price": [1]}, "price"),
        ({"price": Color.RED}, "price"),
        ({"price": INTEGER_MAX + 1}, "price"),
        ({"price": INTEGER_MIN - 1}, "price"),
        ({"price": Moment(1 << 70)}, "price"),
        ({"price": datetime(2026, 1, 1, tzinfo=UTC)}, "Moment.of"),
        ({"price": {1}}, "frozenset"),
        ({"price": frozenset([1.5])}, "price"),
        ({"price": frozenset([1 << 70])}, "price"),
        ({"price": "\ud800"}, "UTF-8"),
        ({"\ud800": 1}, "UTF-8"),
        ({1: 1}, "text"),
    ],
)
def test_attributes_of_other_types_are_refused(attributes: dict[Any, Any], word: str) -> None:
    """A value that no peer could encode, or match, is told so where it is published."""
    with pytest.raises(BadContent, match=word):
        check_draft(Draft("t", attributes))


@pytest.mark.parametrize(
    "draft",
    [
        Draft(""),
        Draft("x" * (TOPIC_BYTES_MAX + 1)),
        Draft("\ud800"),
        Draft(b"t"),  # type: ignore[arg-type]
        Draft("t", {}, "text"),  # type: ignore[arg-type]
        Draft("t", guarantee="at_most_once"),  # type: ignore[arg-type]
        Draft("t", retain_s=-1.0),
        Draft("t", retain_s=float("nan")),
        Draft("t", retain_s=float("inf")),
        Draft("t", retain_s=LONG),
        Draft("t", guarantee=LONG),  # type: ignore[arg-type]
    ],
)
def test_bad_topics_bodies_guarantees_and_retentions_are_refused(draft: Draft) -> None:
    """Each with advice."""
    with pytest.raises(BadContent) as told:
        check_draft(draft)
    assert told.value.advice


@pytest.mark.parametrize(
    "draft",
    [
        Draft("t", {}, b"x" * (EVENT_BYTES_MAX + 1)),
        Draft("t", {"a": "ü" * EVENT_BYTES_MAX}),
        Draft("t", {"a": frozenset(str(n).rjust(100) for n in range(EVENT_BYTES_MAX // 100 + 1))}),
        Draft("t", {str(n): n for n in range(ATTRIBUTES_MAX + 1)}),
    ],
)
def test_what_would_not_fit_into_a_frame_is_refused(draft: Draft) -> None:
    """Wherever its bytes are."""
    with pytest.raises(TooLarge):
        check_draft(draft)


def filter_of(constant: Any, attribute: Any = "a", conjunctions: int = 1, predicates: int = 1) -> Filter:
    """A filter with the same predicate many times."""
    return Filter(((Predicate(attribute, Operator.EQUAL, constant),) * predicates,) * conjunctions)


def test_a_filter_within_the_limits_is_taken() -> None:
    """The largest too."""
    for wanted in (Filter(), filter_of("x" * (FILTER_BYTES_MAX - 100)), filter_of(1, conjunctions=256, predicates=4)):
        assert check_filter(wanted) is wanted


@pytest.mark.parametrize(
    ("wanted", "limit"),
    [
        (filter_of(1, conjunctions=257), "conjunctions_max"),
        (filter_of(1, predicates=4097), "predicates_max"),
        (filter_of("x" * FILTER_BYTES_MAX), "bytes_max"),
        (filter_of("é" * (FILTER_BYTES_MAX // 2)), "bytes_max"),
        (filter_of(frozenset(range(20_000))), "bytes_max"),
    ],
)
def test_a_larger_filter_is_refused_by_its_limit_with_advice(wanted: Filter, limit: str) -> None:
    """Before any peer sees it."""
    with pytest.raises(TooLarge, match=f"{limit}.*several subscriptions"):
        check_filter(wanted)


@pytest.mark.parametrize("wanted", [filter_of(1 << 64), filter_of([1]), filter_of("\ud800"), filter_of(1, attribute=5)])
def test_a_filter_that_cannot_travel_is_no_content(wanted: Filter) -> None:
    """It would end links instead."""
    with pytest.raises(BadContent):
        check_filter(wanted)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (check_filter, Filter(((Predicate("a", "=", 1),),))),  # type: ignore[arg-type]
        (check_rate, True),
        (check_rate, "5"),
        (check_window, 2.5),
        (check_window, 1 << 63),
        (check_replay, "yes"),
        (check_filter, Filter(((Predicate("a", LONG, 1),),))),  # type: ignore[arg-type]
        pytest.param(check_rate, LONG, id="rate"),
        pytest.param(check_window, -LONG, id="window"),
        pytest.param(check_order, LONG, id="order"),
        (check_order, [LONG]),
        (check_order, "o" * 10_000),
    ],
)
def test_what_peers_cannot_read_is_refused_at_once(check: Callable[[Any], object], value: object) -> None:
    """Else the peer sends it again and again, and every other peer ends the link that it comes over."""
    with pytest.raises(BadContent) as told:
        check(value)
    assert told.value.advice
    assert len(told.value.message) < 200
