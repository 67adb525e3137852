"""Time as the cores see it: integer microseconds that are handed in, and the hybrid logical clock of the records."""

from __future__ import annotations

from typing import NamedTuple, NewType

Micros = NewType("Micros", int)
"""Microseconds: an instant of the node's own steady clock, or a span."""

SECOND_US = Micros(1_000_000)


AHEAD_US_MAX = 24 * 3600 * SECOND_US
"""A wall clock this far ahead of ours is wrong or hostile; following it would break our own stamps for good."""


class Stamp(NamedTuple):
    """An instant of the hybrid logical clock; their order extends 'happened before'."""

    wall_us: int
    ticks: int


class HybridClock:
    """Stamps that never run backwards and always exceed what was heard."""

    __slots__ = ("_ticks", "_wall_us")

    def __init__(self) -> None:
        self._wall_us = 0
        self._ticks = 0

    def tick(self, wall_us: int) -> Stamp:
        """Stamp a local happening."""
        if wall_us > self._wall_us:
            self._wall_us, self._ticks = wall_us, 0
        else:
            self._ticks += 1
        return Stamp(self._wall_us, self._ticks)

    def hear(self, heard: Stamp) -> None:
        """Take note of another node's stamp, so that the next own one is later; one absurdly far ahead is ignored."""
        wall_us, ticks = heard
        if wall_us < self._wall_us or (wall_us == self._wall_us and ticks <= self._ticks):
            return
        if self._wall_us and wall_us > self._wall_us + AHEAD_US_MAX:
            return
        self._wall_us, self._ticks = wall_us, ticks
