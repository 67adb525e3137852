"""Filters that were not written as text have the same limits, and only values that can travel."""

from __future__ import annotations

from typing import Any

import pytest

from p2psub.model.content import FILTER_BYTES_MAX, Filter, Operator, Predicate
from p2psub.runtime.refusals import BadContent, TooLarge
from p2psub.runtime.wishes import check_filter


def filter_of(constant: Any, attribute: Any = "a", conjunctions: int = 1, predicates: int = 1) -> Filter:
    """A filter with the same predicate many times."""
    return Filter(((Predicate(attribute, Operator.EQUAL, constant),) * predicates,) * conjunctions)


def test_what_is_within_the_limits_is_taken() -> None:
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
def test_what_is_larger_is_refused_by_its_limit_with_advice(wanted: Filter, limit: str) -> None:
    """Before any peer sees it."""
    with pytest.raises(TooLarge, match=f"{limit}.*several subscriptions"):
        check_filter(wanted)


@pytest.mark.parametrize("wanted", [filter_of(1 << 64), filter_of([1]), filter_of("\ud800"), filter_of(1, attribute=5)])
def test_what_cannot_travel_is_no_content(wanted: Filter) -> None:
    """It would end links instead."""
    with pytest.raises(BadContent):
        check_filter(wanted)
