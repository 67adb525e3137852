"""What came while a peer followed its subscriptions: every event by its number, since a promise is kept one by one.

It takes nine bytes an event, so that it hardly shows in the memory of the peer that is measured.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from p2psub.api.items import Gap, Notification
from p2psub.bench.consumer import age_ns
from p2psub.model.ids import NodeId

_TIMES_MAX: Final = 255
"""What a byte can say; an event that came more often came too often anyway."""


class Roll:
    """Which events were consumed, how often, and how old they were."""

    __slots__ = ("_times", "ages_ns", "events", "last_ns")

    def __init__(self) -> None:
        self._times: dict[NodeId, bytearray] = {}
        self.ages_ns = array("q")
        self.events = 0
        """Different ones."""
        self.last_ns = 0

    def note(self, items: Sequence[Notification | Gap], now_ns: int) -> None:
        """Items were consumed together. A gap needs no note: what is missing is not on the roll."""
        self.last_ns = now_ns
        for item in items:
            if isinstance(item, Notification):
                self._count(item.event.id.node, item.event.id.sequence)
                self.ages_ns.append(age_ns(item, now_ns))

    def _count(self, publisher: NodeId, sequence: int) -> None:
        times = self._times.setdefault(publisher, bytearray())
        if sequence >= len(times):
            times.extend(bytes(sequence + 1 - len(times)))
        self.events += not times[sequence]
        times[sequence] = min(times[sequence] + 1, _TIMES_MAX)

    @property
    def times_consumed(self) -> dict[str, bytes]:
        """By publisher; the byte at an event's number says how often it came."""
        return {publisher.hex(): bytes(times) for publisher, times in self._times.items()}
