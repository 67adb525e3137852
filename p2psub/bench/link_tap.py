"""An inbox that counts what a peer's links bring before the peer has it: heartbeats by their time, bodies by event."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from p2psub.api.status import LinkStatus
from p2psub.bench.orders import LinkNotes
from p2psub.model.effects import Input, Received
from p2psub.model.ids import EventId
from p2psub.model.messages.casts import EventCast
from p2psub.model.messages.cube import CubeHeartbeat
from p2psub.model.messages.pubsub import Deliver, Publish, Route
from p2psub.runtime.driver import steady_us
from p2psub.runtime.inbox import Inbox

_Body = tuple[type, EventId]
"""What a body is needed for, and its event."""


@dataclass(slots=True)
class _Tally:
    committed: list[int] = field(default_factory=list)
    beats_us: list[int] = field(default_factory=list)
    paces: list[tuple[int, float]] = field(default_factory=list)
    heard_us: int = 0
    silence_us_max: int = 0
    bodies: int = 0
    distinct: set[_Body] = field(default_factory=set)


class LinkTap(Inbox):
    """The inbox of a peer that is measured."""

    __slots__ = ("_tallies", "is_on")

    def __init__(self) -> None:
        super().__init__()
        self.is_on = False
        self._tallies: defaultdict[str, _Tally] = defaultdict(_Tally)

    async def put(self, item: Input) -> None:
        if self.is_on and isinstance(item, Received):
            self._note(item)
        await super().put(item)

    def _note(self, received: Received) -> None:
        tally, now_us = self._tallies[received.peer.id.hex()], steady_us()
        if tally.heard_us:
            tally.silence_us_max = max(tally.silence_us_max, now_us - tally.heard_us)
        tally.heard_us = now_us
        for message in received.messages:
            if isinstance(message, CubeHeartbeat):
                tally.beats_us.append(now_us - received.sent_us)
            elif isinstance(message, EventCast | Route | Deliver | Publish):
                bodies = [(type(message), event.id) for event in message.parcel.events]
                tally.bodies += len(bodies)
                tally.distinct.update(bodies)

    def sample(self, links: Iterable[LinkStatus]) -> None:
        """Note how much is under way on each link on which anything is, and how fast its queue takes it to be."""
        for link in links:
            tally = self._tallies[link.peer]
            if link.committed_bytes:
                tally.committed.append(link.committed_bytes)
            pace = None if link.queue is None else link.queue.us_per_kb
            if pace is not None and (not tally.paces or tally.paces[-1][1] != pace):
                tally.paces.append((time.monotonic_ns(), pace))

    def notes(self) -> dict[str, LinkNotes]:
        """What was counted, by the peers' ids in hex."""
        return {
            peer: LinkNotes(
                tally.committed, tally.beats_us, tally.paces, tally.silence_us_max, tally.bodies, len(tally.distinct)
            )
            for peer, tally in self._tallies.items()
        }
