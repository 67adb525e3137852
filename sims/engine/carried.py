"""What links carried, for the figures of a run: how often each body went over a link, and how far heartbeats parted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from p2psub.model.ids import EventId
from p2psub.model.messages import Message
from p2psub.model.messages.casts import EventCast
from p2psub.model.messages.cluster import Heartbeat, HeartbeatAck
from p2psub.model.messages.cube import CubeHeartbeat
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Publish, Route, StoreCopy
from p2psub.model.messages.shards import ParcelToShard
from p2psub.model.parcels import Parcel

_BODIES: Final[dict[type[Message], Callable[[Any], Sequence[Parcel]]]] = {
    Publish: lambda message: (message.parcel,),
    StoreCopy: lambda message: [owed.parcel for owed in message.owed_parcels],
    Route: lambda message: (message.parcel,),
    EventCast: lambda message: (message.payload.parcel,),
    Deliver: lambda message: (message.parcel,),
    ParcelToOwner: lambda message: (message.parcel,),
    ParcelToShard: lambda message: (message.parcel,),
}
"""The messages that carry bodies, and where."""
_BEATS: Final = (Heartbeat, HeartbeatAck, CubeHeartbeat)


@dataclass(slots=True)
class Carried:
    """Counters over a whole run."""

    needed: int = 0
    """Bodies that went over a link, each once for a link and what it was needed for there."""
    transmitted: int = 0
    """The same, as often as they went."""
    beat_gap_us_max: int = 0
    """The longest silence between two heartbeats heard over a session."""


class Carriage:
    """Looks at all that is transmitted and arrives, from `begin` on."""

    def __init__(self) -> None:
        self.carried = Carried()
        self._begun_us = -1
        self._seen: set[tuple[type[Message], int, int, EventId]] = set()

    def begin(self, now: int) -> None:
        """Formation is over: what comes from here on counts."""
        self._begun_us = now

    def sent(self, sender: int, receiver: int, messages: Sequence[Message]) -> None:
        """A link takes messages, whether they arrive or not."""
        if self._begun_us < 0:
            return
        for message in messages:
            parcels_of = _BODIES.get(type(message))
            for parcel in () if parcels_of is None else parcels_of(message):
                for event in parcel.events:
                    self.carried.transmitted += 1
                    self._seen.add((type(message), sender, receiver, event.id))
        self.carried.needed = len(self._seen)

    def arrived(self, beat_us: int, now: int, messages: Sequence[Message]) -> int:
        """Messages arrive on a session whose last heartbeat came at `beat_us`; returns when the last came now."""
        if self._begun_us < 0 or not any(type(message) in _BEATS for message in messages):
            return beat_us
        if beat_us >= self._begun_us:
            self.carried.beat_gap_us_max = max(self.carried.beat_gap_us_max, now - beat_us)
        return now
