"""Criteria: how many refusals are too many."""

from __future__ import annotations

import pytest

from p2psub.admission.criteria import FULL, NONE, read_criterion
from p2psub.errors import ConfigError


def test_full_takes_no_refusal_and_none_takes_all() -> None:
    """However many are asked; without an answer to wait for, `none` asks nobody."""
    assert [FULL.admits(50, refused) for refused in (0, 1, 50)] == [True, False, False]
    assert [NONE.admits(50, refused) for refused in (0, 1, 50)] == [True, True, True]
    assert (FULL.is_asking, NONE.is_asking) == (True, False)


def test_percent_takes_refusals_up_to_its_share_of_those_asked() -> None:
    """The share itself included, whether or not it divides."""
    twenty = read_criterion("percent:20")
    assert [twenty.admits(50, refused) for refused in (10, 11)] == [True, False]
    assert [twenty.admits(4, refused) for refused in (0, 1)] == [True, False]
    assert [read_criterion("percent:12.5").admits(8, refused) for refused in (1, 2)] == [True, False]


@pytest.mark.parametrize("text", ["none", "full", "percent:20"])
def test_what_carries_nothing_needs_nobody(text: str) -> None:
    """With nobody to ask, nobody refuses."""
    assert read_criterion(text).admits(0, 0)


@pytest.mark.parametrize("text", ["none", "full", "percent:20", "percent:12.5"])
def test_a_criterion_is_written_as_it_is_read(text: str) -> None:
    """And spaces around it do not matter."""
    assert read_criterion(f" {text} ").text == text


@pytest.mark.parametrize(
    "text", ["", "some", "full:20", "percent", "percent:", "percent:few", "percent:0", "percent:100", "percent:nan"]
)
def test_what_is_not_a_criterion_is_refused_with_what_is(text: str) -> None:
    """The advice names what can be written instead."""
    with pytest.raises(ConfigError, match=r"'full'|'percent:20'"):
        read_criterion(text)
