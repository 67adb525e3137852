"""The hybrid logical clock: a wall clock that never runs backwards and keeps up with whatever was heard."""

from __future__ import annotations

from typing import Final

from p2psub.model.instants import SECOND_US, Stamp

AHEAD_US_MAX: Final = 24 * 3600 * SECOND_US
"""A wall clock this far ahead of ours is wrong or hostile; following it would break our own stamps for good."""


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
