"""How long messages were on their link, from differences alone: no clock of another machine is believed.

A peer says when it sent, by its steady clock. How far that is from ours nobody knows, but it hardly changes. So the
least difference that was seen of late is that of a message that nothing held up: it took half the round trip, and any
other took so much longer as its difference is greater.

Steady clocks run apart, though. If the peer's is slow, what nothing holds up shows a greater difference every second,
and beside an old least it would look held up. So a least holds for a span or two, and from then on it rises as fast as
two clocks may run apart: nothing looks older than it is by more than they run apart in two spans.
"""

from __future__ import annotations

from typing import Final

from p2psub.model.effects import LinkUp, Received
from p2psub.model.ids import NodeId
from p2psub.model.instants import SECOND_US, Micros

SPAN_US: Final = 2 * SECOND_US
"""A least holds for the rest of its span, and for the next one. A guess."""
_RISE_US: Final = SPAN_US // 25
"""For each span after these it rises by so much: two clocks of which each is two per cent wrong."""
MEMORY_US: Final = 60 * SECOND_US
"""Then it is forgotten: the clock of a machine that slept has stood still. A guess."""
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

    __slots__ = ("_before_us", "_forgotten_us", "_least_us", "_round_trip_us", "_until_us")

    def __init__(self, round_trip_us: int) -> None:
        self._round_trip_us = round_trip_us
        self._least_us = 0
        """Of this span."""
        self._until_us = -MEMORY_US
        """Then it ends."""
        self._before_us = 0
        """Of those before, risen."""
        self._forgotten_us = 0
        """Then that counts no more."""

    def link_us(self, off_us: int, now: Micros) -> int:
        if now >= self._until_us:
            self._begin_span(off_us, now)
        elif off_us < self._least_us:
            self._least_us = off_us
        return min(off_us - min(self._least_us, self._before_us) + self._round_trip_us // 2, LINK_US_MAX)

    def _begin_span(self, off_us: int, now: Micros) -> None:
        spans = 1 + (now - self._until_us) // SPAN_US
        self._before_us += spans * _RISE_US
        least_us = self._least_us + (spans - 1) * _RISE_US
        if least_us <= self._before_us or now >= self._forgotten_us:
            self._before_us, self._forgotten_us = least_us, self._until_us + MEMORY_US
        if now >= self._forgotten_us:
            self._before_us = off_us
        self._least_us = off_us
        self._until_us += spans * SPAN_US
