"""The time on a link is told from differences alone, however far the clocks at its ends are apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.effects import LinkUp, Received
from p2psub.model.instants import SECOND_US, Micros, Stamp
from p2psub.node.link_clocks import LINK_US_MAX, NOTICED_US, SPAN_US, LinkClocks
from tests.unit.bench import at

PEER = at(64)
HOUR_US = 3_600 * SECOND_US
ONE_WAY_US = 20_000


class Line:
    """A link of 20 ms one way, to a peer whose clock is an hour ahead, or behind, or fast."""

    def __init__(self, ahead_us: int = HOUR_US, drift_ppm: int = 0) -> None:
        self.clocks = LinkClocks()
        self.clocks.link_up(LinkUp(PEER, 1, round_trip_us=2 * ONE_WAY_US))
        self.ahead_us, self.drift_ppm = ahead_us, drift_ppm

    def hear(self, at_us: int, held_up_us: int = 0) -> int:
        """What the receiver makes of a message that is heard then."""
        sent_us = at_us - ONE_WAY_US - held_up_us
        theirs = Micros(sent_us + self.ahead_us + sent_us * self.drift_ppm // 1_000_000)
        return self.clocks.link_us(Received(PEER, [], Stamp(0, 0), theirs), Micros(at_us))


@given(st.integers(-HOUR_US, HOUR_US), st.lists(st.integers(0, 30 * SECOND_US), max_size=20))
def test_what_held_a_message_up_is_told_whatever_the_clocks_say(ahead_us: int, held_up: list[int]) -> None:
    """Once one came that nothing held up; half the round trip is added."""
    line = Line(ahead_us)
    now = 2 * HOUR_US
    assert line.hear(now) == ONE_WAY_US
    for held_up_us in held_up:
        now += SECOND_US
        assert line.hear(now, held_up_us) == ONE_WAY_US + held_up_us


@pytest.mark.parametrize("drift_ppm", [-50, 50])
def test_clocks_that_drift_apart_are_followed(drift_ppm: int) -> None:
    """A day at 50 ppm is four seconds; what is told is never off by more than what two spans bring."""
    line = Line(drift_ppm=drift_ppm)
    for minute in range(24 * 60):
        told = line.hear(2 * HOUR_US + minute * 60 * SECOND_US)
        assert abs(told - ONE_WAY_US) <= 2 * SPAN_US * 50 // 1_000_000


def test_a_peer_cannot_make_its_messages_older_than_that() -> None:
    """Nor younger than half the round trip."""
    line = Line()
    line.hear(HOUR_US)
    line.ahead_us = -(10**15)
    assert line.hear(HOUR_US + 1) == LINK_US_MAX
    line.ahead_us = 10**15
    assert line.hear(HOUR_US + 2) == ONE_WAY_US


def test_hardly_any_time_is_none_and_so_is_that_of_an_unknown_link() -> None:
    """Most links are fast: nothing is made anew there. A new link to the same peer begins anew."""
    clocks = LinkClocks()
    heard = Received(PEER, [], Stamp(0, 0), Micros(7))
    assert clocks.link_us(heard, Micros(5 * SECOND_US)) == 0
    clocks.link_up(LinkUp(PEER, 1, round_trip_us=2 * NOTICED_US - 2))
    assert clocks.link_us(heard, Micros(5 * SECOND_US)) == 0
    clocks.link_up(LinkUp(PEER, 1, round_trip_us=2 * NOTICED_US))
    assert clocks.link_us(heard, Micros(9 * SECOND_US)) == NOTICED_US
    clocks.link_lost(PEER.id)
    assert clocks.link_us(heard, Micros(9 * SECOND_US)) == 0
