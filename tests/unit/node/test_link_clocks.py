"""The time on a link is told from differences alone, however far the clocks at its ends are apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.effects import LinkUp, Received
from p2psub.model.instants import SECOND_US, Micros, Stamp
from p2psub.node.egress_link import SHOWN_US
from p2psub.node.link_clocks import LINK_US_MAX, MEMORY_US, NOTICED_US, SPAN_US, LinkClocks
from tests.unit.bench import at

PEER = at(64)
HOUR_US = 3_600 * SECOND_US
ONE_WAY_US = 20_000
OFF_PPM_MAX = 20_000
"""As fast or slow as the clocks of the simulator."""
ROUNDING_US = NOTICED_US + 10

offs_ppm = st.integers(-OFF_PPM_MAX, OFF_PPM_MAX) | st.integers(-100, 100)


class Line:
    """A link of 20 ms one way, to a peer whose clock is an hour ahead, or behind; either clock may be fast."""

    def __init__(self, ahead_us: int = HOUR_US, theirs_ppm: int = 0, ours_ppm: int = 0) -> None:
        self.clocks = LinkClocks()
        self.clocks.link_up(LinkUp(PEER, 1, round_trip_us=2 * ONE_WAY_US))
        self.ahead_us, self.theirs_ppm, self.ours_ppm = ahead_us, theirs_ppm, ours_ppm
        self.apart_us = 2 * SPAN_US * (abs(theirs_ppm) + abs(ours_ppm)) / 1_000_000
        """By so much a message may look too old."""

    def hear(self, at_us: int, held_up_us: int = 0) -> int:
        """What the receiver makes of a message that is heard then."""
        sent_us = at_us - ONE_WAY_US - held_up_us
        theirs = Micros(sent_us + self.ahead_us + sent_us * self.theirs_ppm // 1_000_000)
        ours = Micros(at_us + at_us * self.ours_ppm // 1_000_000)
        return self.clocks.link_us(Received(PEER, [], Stamp(0, 0), theirs), ours)


@given(st.integers(-HOUR_US, HOUR_US), st.lists(st.integers(0, 30 * SECOND_US), max_size=20))
def test_what_held_a_message_up_is_told_whatever_the_clocks_say(ahead_us: int, held_up: list[int]) -> None:
    """Once one came that nothing held up; half the round trip is added."""
    line = Line(ahead_us)
    now = 2 * HOUR_US
    for held_up_us in (0, *held_up):
        now += SHOWN_US
        assert line.hear(now) == ONE_WAY_US
        assert line.hear(now, held_up_us) == ONE_WAY_US + held_up_us


waits = st.integers(0, 30 * SECOND_US) | st.integers(0, SPAN_US)
held_ups = st.just(0) | st.integers(0, 10 * SECOND_US)


@given(offs_ppm, offs_ppm, st.integers(-HOUR_US, HOUR_US), st.lists(st.tuples(waits, held_ups), max_size=60))
def test_no_message_looks_older_than_it_is_but_for_what_clocks_run_apart_in_two_spans(
    theirs_ppm: int, ours_ppm: int, ahead_us: int, heard: list[tuple[int, int]]
) -> None:
    """Whatever held up which messages, and however long none came; so nothing expires before its time."""
    line = Line(ahead_us, theirs_ppm, ours_ppm)
    now = 2 * HOUR_US
    for wait_us, held_up_us in heard:
        now += wait_us
        told = line.hear(now, held_up_us)
        its_own_us = held_up_us * (abs(theirs_ppm) + abs(ours_ppm)) / 1_000_000
        assert 0 <= told <= ONE_WAY_US + held_up_us + its_own_us + line.apart_us + ROUNDING_US


@given(offs_ppm, offs_ppm, st.lists(st.tuples(st.integers(0, SHOWN_US), held_ups), max_size=60))
def test_none_looks_younger_where_what_nothing_holds_up_comes_often_enough(
    theirs_ppm: int, ours_ppm: int, heard: list[tuple[int, int]]
) -> None:
    """But for what clocks run apart meanwhile: however long content fills the link, it is not taken for quick."""
    line = Line(theirs_ppm=theirs_ppm, ours_ppm=ours_ppm)
    now = 2 * HOUR_US
    for wait_us, held_up_us in [(SHOWN_US, 10 * SECOND_US)] * 200 + heard:
        line.hear(now)
        told = line.hear(now + wait_us, held_up_us)
        its_own_us = held_up_us * (abs(theirs_ppm) + abs(ours_ppm)) / 1_000_000
        assert told >= ONE_WAY_US + held_up_us - its_own_us - line.apart_us - ROUNDING_US
        now += wait_us


@pytest.mark.parametrize("silent_s", [1, 5, 20, 50])
def test_what_stood_still_with_its_line_is_as_old_as_that_but_for_a_twenty_fifth(silent_s: int) -> None:
    """No message came that could show it: the first after a stall is not taken for quick."""
    line, now = Line(), 2 * HOUR_US
    line.hear(now)
    now += silent_s * SECOND_US
    assert line.hear(now, silent_s * SECOND_US) >= ONE_WAY_US + silent_s * SECOND_US * 24 // 25


@pytest.mark.parametrize("wait_us", [SPAN_US // 2, SPAN_US * 19 // 20, SPAN_US * 39 // 20, SPAN_US * 99 // 20])
def test_nor_where_all_but_the_first_are_held_up(wait_us: int) -> None:
    """However the messages fall into spans, the least of them rises at least as fast as clocks run apart."""
    line, now = Line(theirs_ppm=-OFF_PPM_MAX, ours_ppm=OFF_PPM_MAX), 2 * HOUR_US
    line.hear(now)
    for _ in range(MEMORY_US // wait_us):
        now += wait_us
        assert line.hear(now, SECOND_US) <= (ONE_WAY_US + SECOND_US) * 1.04 + line.apart_us + ROUNDING_US


@pytest.mark.parametrize("idle_us", [SPAN_US, 10 * SECOND_US, MEMORY_US, HOUR_US])
@pytest.mark.parametrize("off_ppm", [100, OFF_PPM_MAX])
def test_a_link_that_was_idle_makes_nothing_old(idle_us: int, off_ppm: int) -> None:
    """What was seen before it was idle says ever less of a clock that runs fast or slow."""
    line = Line(theirs_ppm=-off_ppm, ours_ppm=off_ppm)
    for beat in range(10):
        assert line.hear(2 * HOUR_US + beat * idle_us) <= ONE_WAY_US + line.apart_us + ROUNDING_US


def test_a_clock_that_stood_still_is_believed_again_after_a_minute() -> None:
    """A machine that slept shows less: all it sends looks held up by that, until what was before is forgotten."""
    line, now = Line(), 2 * HOUR_US
    line.hear(now)
    line.ahead_us -= 30 * SECOND_US
    assert line.hear(now + SECOND_US) == ONE_WAY_US + 30 * SECOND_US
    for _ in range((MEMORY_US + 2 * SPAN_US) // SECOND_US):
        now += SECOND_US
        line.hear(now)
    assert line.hear(now) == ONE_WAY_US


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
