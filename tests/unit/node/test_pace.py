"""What a KB takes on a link, and how much may be under way: by what arrived while the link was full."""

from __future__ import annotations

import pytest

from p2psub.model.effects import LinkDrained
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import LinkEstimate
from p2psub.model.ways import NO_WAY
from p2psub.node.pace import WINDOW_BYTES_MAX, Pace
from tests.unit.bench import at

FIRST_WINDOW = 16 * 1024
KB_US = 16_000
"""What 1,000 bytes take on the slow line of these tests."""


class Line:
    """What a driver says of one link."""

    def __init__(self, window: int = FIRST_WINDOW) -> None:
        self.pace = Pace(window)
        self.now = Micros(0)
        self._arrived = 0

    def full(self, busy_us: int, busy_bytes: int) -> None:
        """It was full for so long, and so much arrived meanwhile."""
        self.now = Micros(self.now + busy_us)
        self._arrived += busy_bytes
        self.pace.take(busy_bytes)
        self.pace.drain(LinkDrained(at(2).id, self._arrived, busy_us, busy_bytes), self.now)

    def slow(self, busy_bytes: int, kb_us: int = KB_US) -> None:
        """The same of a line that takes so long for a KB."""
        self.full(busy_bytes * kb_us // 1000, busy_bytes)

    @property
    def kb_us(self) -> float:
        return self.pace.estimate.mean_us_per_kb


def test_what_a_buffer_took_at_once_counts_for_little() -> None:
    """By bytes and times added up: two KB in a few milliseconds, and the rest as slowly as the line goes."""
    line = Line()
    line.full(3_000, 2_000)
    line.slow(10_000)
    assert line.kb_us == pytest.approx(KB_US, rel=0.2)
    line.slow(10_000)
    assert line.kb_us == pytest.approx(KB_US, rel=0.1)


def test_a_short_look_makes_a_link_neither_known_nor_wide() -> None:
    """It may be a buffer that was empty: nobody counts on it, and no more is put on the link than before."""
    line = Line()
    line.full(800, 2_000)
    assert (line.pace.is_known, line.pace.is_fresh(line.now), line.pace.way(line.now)) == (False, False, NO_WAY)
    assert line.pace.estimate == LinkEstimate(0.0, 0.0)
    assert line.pace.window == FIRST_WINDOW


def test_a_fast_link_is_as_wide_as_any_after_a_few_looks() -> None:
    """Each doubles the window, as half of it arrived."""
    line, windows = Line(), []
    for _ in range(7):
        line.full(500, line.pace.window // 2)
        windows.append(line.pace.window)
    assert windows == [*(1024 << doubled for doubled in range(5, 10)), WINDOW_BYTES_MAX, WINDOW_BYTES_MAX]


def test_a_window_is_a_tenth_of_a_second() -> None:
    """Of a slow line, from the first look on."""
    line = Line()
    line.slow(8_000)
    assert line.pace.window == pytest.approx(100_000 / KB_US * 1000, abs=1)


@pytest.mark.parametrize("factor", [0.5, 2])
def test_another_speed_is_believed_after_a_few_seconds(factor: float) -> None:
    """Of being full: what is long ago counts less."""
    line = Line()
    while line.now < 5 * SECOND_US:
        line.slow(5_000)
    changed_us = line.now
    while line.now < changed_us + 4 * SECOND_US:
        line.slow(5_000, round(factor * KB_US))
    assert line.kb_us == pytest.approx(factor * KB_US, rel=0.1)


def test_the_deviation_is_that_of_looks() -> None:
    """A line that goes like a clock has none; one that goes by fits and starts has one."""
    even, uneven = Line(), Line()
    for number in range(40):
        even.slow(5_000)
        uneven.slow(5_000, KB_US * (1 + number % 2))
    assert even.pace.estimate.deviation_us_per_kb == pytest.approx(0.0, abs=1e-6)
    assert 0.2 * KB_US < uneven.pace.estimate.deviation_us_per_kb < KB_US


def test_a_link_has_room_for_one_more_whatever_a_look_showed() -> None:
    """Only what is put on a full link asks the driver for another look: a window that is all used would stay so."""
    pace = Pace(FIRST_WINDOW)
    pace.take(FIRST_WINDOW)
    half = FIRST_WINDOW // 2
    pace.drain(LinkDrained(at(2).id, half, half * KB_US // 1000, half), Micros(SECOND_US))
    assert pace.window * KB_US // 1000 > 100_000
    assert (pace.under_way, pace.window) == (half, half + 1)
    pace.take(500)
    pace.drain(LinkDrained(at(2).id, FIRST_WINDOW + 500, half * KB_US // 1000, half), Micros(2 * SECOND_US))
    assert pace.window * KB_US // 1000 == pytest.approx(100_000, rel=0.01)
