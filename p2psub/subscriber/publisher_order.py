"""Whether an ordered subscription gets events in the order of their publishers: it is told where it does not."""

from __future__ import annotations

from collections.abc import Iterable

from p2psub.model.content import Event, Guarantee
from p2psub.model.ids import NodeId
from p2psub.model.instants import Micros

_Position = tuple[int, int]
"""Incarnation and sequence number of a publisher's event."""


class PublisherOrder:
    """The last event of every publisher and topic, for the span at least: an older one would not be handed over."""

    def __init__(self, span_us: Micros) -> None:
        self._span_us = span_us
        self._began_us = Micros(0)
        self._last: dict[tuple[NodeId, str], _Position] = {}
        self._before: dict[tuple[NodeId, str], _Position] = {}
        """Of the span before."""

    def count_late(self, events: Iterable[Event], now: Micros) -> int:
        """Note promised events as handed over; returns how many come after a later one of their publisher and topic."""
        if now - self._began_us > self._span_us:
            self._before, self._last, self._began_us = self._last, {}, now
        late = 0
        for event in events:
            if event.guarantee is Guarantee.EFFECTIVELY_ONCE:
                name, position = (event.id.node, event.topic), (event.id.incarnation, event.id.sequence)
                last = self._last.get(name) or self._before.get(name)
                if last is not None and position < last:
                    late += 1
                else:
                    self._last[name] = position
        return late
