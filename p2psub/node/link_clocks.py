"""How long messages were on their link, from differences alone: no clock of another machine is believed.

A peer says when it sent, by its steady clock. How far that is from ours nobody knows, but it hardly changes. So the
least difference that was seen of late is that of a message that nothing held up: it took half the round trip, and any
other took so much longer as its difference is greater.
"""

from __future__ import annotations

from typing import Final

from p2psub.model.effects import LinkUp, Received
from p2psub.model.ids import NodeId
from p2psub.model.instants import SECOND_US, Micros

SPAN_US: Final = 60 * SECOND_US
"""The least of this span and of the one before counts: steady clocks drift apart. A guess."""
LINK_US_MAX: Final = 60 * SECOND_US
"""A peer that makes it more is not believed."""
NOTICED_US: Final = 1_000
"""Less is not worth making messages anew for: an event takes a few links, and its time is told in milliseconds."""


class LinkClocks:
    """The steady clocks at the other ends of all links."""

    def __init__(self) -> None:
        self._clocks: dict[NodeId, _LinkClock] = {}

    def link_up(self, news: LinkUp) -> None:
        self._clocks[news.peer.id] = _LinkClock(news.round_trip_us)

    def link_lost(self, peer: NodeId) -> None:
        self._clocks.pop(peer, None)

    def link_us(self, received: Received, now: Micros) -> int:
        """How long what we hear now was on its link; 0 if hardly at all."""
        clock = self._clocks.get(received.peer.id)
        link_us = 0 if clock is None else clock.link_us(now - received.sent_us, now)
        return link_us if link_us >= NOTICED_US else 0


class _LinkClock:
    """The one at the other end of one link."""

    __slots__ = ("_before_us", "_least_us", "_round_trip_us", "_until_us")

    def __init__(self, round_trip_us: int) -> None:
        self._round_trip_us = round_trip_us
        self._least_us: int | None = None
        self._before_us: int | None = None
        self._until_us = 0

    def link_us(self, off_us: int, now: Micros) -> int:
        if self._least_us is None or now >= self._until_us:
            self._before_us, self._least_us = self._least_us, off_us
            self._until_us = now + SPAN_US
        elif off_us < self._least_us:
            self._least_us = off_us
        least_us = self._least_us if self._before_us is None else min(self._least_us, self._before_us)
        return min(off_us - least_us + self._round_trip_us // 2, LINK_US_MAX)
