"""Packs as an owner keeps them, for measuring the store: events of some publishers, and which subscriptions want them.

What one step brings of one publisher is one pack, of up to as many events as one signature covers. So one publisher
makes full packs, and a thousand that publish at a time make packs of one event.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from p2psub.bench.content import EventLoad
from p2psub.model.content import Event, Guarantee
from p2psub.model.effects import Pack
from p2psub.model.ids import ID_BYTES, NodeId, Place, SubscriptionId
from p2psub.model.seals import BATCH_MAX
from p2psub.runtime.packs import PackCodec

SUBSCRIPTIONS: Final = 4
"""That want events of a pack; as many as it has events, if those are fewer."""


class PackHead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a start must know of a pack: whose events, which, to whom they are owed, and their age."""

    publisher: NodeId
    first: int
    count: int
    owed: tuple[tuple[SubscriptionId, bytes], ...]
    """A bit for every event."""
    age_us: int
    written_us: int


class PackBody(msgspec.Struct, frozen=True, array_like=True):
    """Events under one signature."""

    signature: bytes
    events: tuple[Event, ...]


CODEC: Final = PackCodec(PackHead, PackBody)


@dataclass(frozen=True, slots=True)
class PackLoad:
    """So many events, `at_once` of them in a step; the first pack has the number 1."""

    events: int
    events_per_pack: int
    """In all packs but the last of a step."""
    at_once: int
    body_bytes: int

    def steps(self) -> Iterator[list[Pack]]:
        """The packs of one step after the other."""
        maker = PackMaker(self.body_bytes)
        for begun in range(0, self.events, self.at_once):
            left = min(self.at_once, self.events - begun)
            yield [maker.make(min(self.events_per_pack, left - at)) for at in range(0, left, self.events_per_pack)]


def events_per_pack(publishers: int, at_once: int) -> int:
    """How many events of one publisher a step brings, of which that many publish at a time."""
    return min(BATCH_MAX, max(1, at_once // publishers))


class PackMaker:
    """Makes packs, each with the number after the last one's; what events say repeats, and takes no time to make."""

    def __init__(self, body_bytes: int) -> None:
        load = EventLoad(BATCH_MAX, ("quotes/1", "quotes/2"), body_bytes, Guarantee.EFFECTIVELY_ONCE)
        self._publisher = NodeId(Place(bytes(range(ID_BYTES))))
        self._events = tuple(load.events(self._publisher, time.monotonic_ns()))
        self._wanted = [SubscriptionId(self._publisher, 1, number) for number in range(SUBSCRIPTIONS)]
        self._number = 0
        self._sequence = 1

    def make(self, count: int) -> Pack:
        """The next pack, with so many events."""
        self._number += 1
        owed = tuple(
            (wanted, bytes([1 << turn] * (-(-count // 8)))) for turn, wanted in enumerate(self._wanted[:count])
        )
        head = PackHead(self._publisher, self._sequence, count, owed, 1_000, time.time_ns() // 1000)
        self._sequence += count
        return Pack(self._number, head, PackBody(bytes(64), self._events[:count]))
