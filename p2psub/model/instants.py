"""Time as the cores see it: integer microseconds that are handed in, and the hybrid logical clock of the records."""

from __future__ import annotations

from typing import NewType

import msgspec

Micros = NewType("Micros", int)
"""Microseconds: an instant of the node's own steady clock, or a span."""

SECOND_US = Micros(1_000_000)


AHEAD_US_MAX = 24 * 3600 * SECOND_US
"""A wall clock this far ahead of ours is wrong or hostile; following it would break our own stamps for good."""


class Stamp(msgspec.Struct, frozen=True, order=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An instant of the hybrid logical clock; their order extends 'happened before'."""

    wall_us: int
    ticks: int


class HybridClock:
    """Stamps that never run backwards and always exceed what was heard."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = Stamp(0, 0)

    def tick(self, wall_us: int) -> Stamp:
        """Stamp a local happening."""
        last = self._last
        stamp = self._last = Stamp(wall_us, 0) if wall_us > last.wall_us else Stamp(last.wall_us, last.ticks + 1)
        return stamp

    def hear(self, heard: Stamp) -> None:
        """Take note of another node's stamp, so that the next own one is later; one absurdly far ahead is ignored."""
        last = self._last
        if heard > last and (heard.wall_us <= last.wall_us + AHEAD_US_MAX or not last.wall_us):
            self._last = heard
