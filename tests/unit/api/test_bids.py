"""What applications may bid, and how they say it; anything else is refused with advice."""

from __future__ import annotations

import math

import pytest

from p2psub.api.bids import bid_of, check_timeout_us, timeout_us_of
from p2psub.api.errors import BadContent
from p2psub.api.items import Notification
from p2psub.model.bids import DEADLINE_US_MAX, NO_BID, PRICE_MAX, PRICE_ONE, TIMEOUT_US_MAX, Bid
from p2psub.model.instants import SECOND_US, Micros
from tests.unit.bench import event_of

LONG = 10**5000
"""Python itself refuses to write such a number down."""
SPANS = {"40s": 40 * SECOND_US, "200ms": 200_000, "2m": 120 * SECOND_US, "1.5 s": 1_500_000, "40": 40 * SECOND_US}


@pytest.mark.parametrize(("said", "us"), SPANS.items())
def test_spans_are_said_with_their_unit(said: str, us: int) -> None:
    """A bare number is of seconds."""
    assert timeout_us_of(said) == bid_of(said).deadline_us == us


def test_numbers_are_of_seconds_and_prices_exact_to_a_millionth() -> None:
    """Up to the caps; what is not said is the default."""
    assert bid_of(0.25, 1.5, 0.15) == Bid(250_000, 1_500_000, 150_000)
    assert bid_of() == NO_BID
    assert timeout_us_of(None) == 0
    assert bid_of(DEADLINE_US_MAX / 1e6, PRICE_MAX / PRICE_ONE, 0) == Bid(DEADLINE_US_MAX, PRICE_MAX, 0)


@pytest.mark.parametrize(
    "span",
    [
        0,
        0.0,
        -1,
        math.nan,
        math.inf,
        1e-9,
        90_000,
        "0s",
        "-4s",
        "soon",
        "",
        "25h",
        "9" * 400,
        True,
        b"4s",
        [4],
        pytest.param(LONG, id="long"),
    ],
)
def test_spans_that_no_peer_takes_are_refused(span: object) -> None:
    """Zero too: it would mean never, and none means always."""
    for read in (timeout_us_of, bid_of):
        with pytest.raises(BadContent, match="; "):
            read(span)  # type: ignore[arg-type]


@pytest.mark.parametrize("price", [-0.1, math.nan, math.inf, 1e6 + 1, True, "1.5", None, pytest.param(LONG, id="long")])
def test_prices_that_no_peer_takes_are_refused(price: object) -> None:
    """Those of penalties as those of prices."""
    for name in ("price", "penalty"):
        with pytest.raises(BadContent, match=name):
            bid_of(None, **{name: price})  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout_us", [-1, TIMEOUT_US_MAX + 1, 1.5, True, pytest.param(LONG, id="long")])
def test_drafts_with_such_timeouts_are_refused(timeout_us: int) -> None:
    """An application may put together a draft by hand."""
    with pytest.raises(BadContent, match="timeout"):
        check_timeout_us(timeout_us)


def test_notification_tells_age_and_remaining_time() -> None:
    """At the instant of asking, by the node's own clock; there is no remaining time where there is no limit."""
    now = [Micros(5 * SECOND_US)]
    pressed = Notification(event_of("x"), Micros(2 * SECOND_US), 4 * SECOND_US, lambda: now[0])
    free = Notification(event_of("x"), Micros(2 * SECOND_US), 0, lambda: now[0])
    assert (pressed.age_s, pressed.remaining_s, free.age_s, free.remaining_s) == (3.0, 1.0, 3.0, None)
    now[0] = Micros(9 * SECOND_US)
    assert (pressed.age_s, pressed.remaining_s) == (7.0, 0.0)
