"""The hybrid logical clock: a wall clock that never runs backwards and keeps up with whatever was heard."""

from __future__ import annotations

from typing import Final

from p2psub.model.instants import SECOND_US, Stamp

AHEAD_US_MAX: Final = 24 * 3600 * SECOND_US
"""A wall clock this far ahead of ours is wrong or hostile; following it would break our own stamps for good."""


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
        wall_us, known_us = heard.wall_us, self._wall_us
        if wall_us > known_us:
            if wall_us <= known_us + AHEAD_US_MAX or not known_us:
                self._wall_us, self._ticks = wall_us, heard.ticks
        elif wall_us == known_us:
            self._ticks = max(self._ticks, heard.ticks)
