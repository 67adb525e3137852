"""A small core to try the simulator with: it pings its contacts on every beat, and stores and records what it hears."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import msgspec

from p2psub.model.content import Event
from p2psub.model.effects import (
    Connect,
    DiskState,
    Effect,
    Input,
    LinkDrained,
    LinkLost,
    LinkUp,
    Persist,
    PublishCommand,
    Received,
    SetTimer,
    Stored,
    TimerFired,
    Transmit,
    Write,
)
from p2psub.model.ids import Contact, EventId, NodeId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.records import Kind, Record
from sims.engine.host import Host

BEAT_US = 500_000


class Gossip:
    """Dials its contacts, pings its links on every beat, answers pings, persists a counter, records what happens."""

    def __init__(
        self, me: Contact, incarnation: int, rng: Random, disk: Mapping[str, Mapping[tuple[object, ...], object]],
        contacts: tuple[Contact, ...],
    ) -> None:  # fmt: skip
        self.me = me
        self.incarnation = incarnation
        self.contacts = contacts
        self.beats = int(str(disk.get("beats", {}).get((), 0)))
        self.beats_found = self.beats
        self.stored: list[int] = []
        self.disk_states: list[bool] = []
        self.heard: list[tuple[NodeId, Message]] = []
        self.linked: dict[NodeId, int] = {}
        self.losses: list[tuple[int, NodeId]] = []
        self.drained: list[LinkDrained] = []
        self.beat_times: list[int] = []
        self.per_beat = 1
        self.rng = rng
        self._writes = 0
        self._records = 0
        self._origin: int | None = None
        self._next = 0

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """One step; its own clock starts at the first."""
        effects: list[Effect] = []
        if self._origin is None:
            self._origin = now
            self._next = now + self.rng.randrange(BEAT_US)
            effects.extend(Connect(contact) for contact in self.contacts if contact != self.me)
            effects.append(SetTimer(Micros(self._next)))
        for item in inputs:
            self._take(item, now, effects)
        return effects

    def _take(self, item: Input, now: Micros, effects: list[Effect]) -> None:
        match item:
            case Received(peer, messages, _):
                self.heard.extend((peer.id, message) for message in messages)
                pongs: list[Message] = [Pong() for message in messages if isinstance(message, Ping)]
                if pongs and peer.id in self.linked:
                    effects.append(transmit(peer.id, pongs, now))
            case LinkUp(peer, window):
                self.linked[peer.id] = window
            case LinkLost(node):
                self.linked.pop(node, None)
                self.losses.append((now - (self._origin or 0), node))
            case LinkDrained():
                self.drained.append(item)
            case Stored(number):
                self.stored.append(number)
            case DiskState(is_full):
                self.disk_states.append(is_full)
            case TimerFired():
                self._beat(now, effects)
            case PublishCommand():
                for number, draft in enumerate(item.drafts, item.number):
                    event = Event(EventId(self.me.id, self.incarnation, number), draft.topic, draft.attributes)
                    self._record(Kind.PUBLISH, now, effects, count=number, published=event)
            case _:
                raise AssertionError(f"unexpected {item}")

    def _beat(self, now: Micros, effects: list[Effect]) -> None:
        self.beats += 1
        self.beat_times.append(now - (self._origin or 0))
        self._writes += 1
        effects.append(Persist(self._writes, [Write("beats", (), self.beats)]))
        pings: list[Message] = [Ping() for _ in range(self.per_beat)]
        effects.extend(transmit(node, pings, now) for node in sorted(self.linked))
        self._record(Kind.RING, now, effects, count=len(self.heard))
        self._next += BEAT_US
        if self._next <= now:
            self._next = now + BEAT_US
        effects.append(SetTimer(Micros(self._next)))

    def _record(
        self, kind: Kind, now: Micros, effects: list[Effect], *, count: int, published: Event | None = None
    ) -> None:
        self._records += 1
        record = Record(
            kind=kind,
            node=self.me.id,
            incarnation=self.incarnation,
            sequence=self._records,
            stamp=Stamp(now - (self._origin or 0), 0),
            count=count,
            published=published,
        )
        effects.append(record)


def transmit(node: NodeId, messages: list[Message], now: Micros) -> Transmit:
    """It wants to hear when they have left."""
    return Transmit(node, messages, Stamp(now, 0), now, len(msgspec.msgpack.encode(messages)), drained_to=0)


def gossip(
    host: Host, rng: Random, disk: Mapping[str, Mapping[tuple[object, ...], object]], contacts: tuple[Contact, ...]
) -> Gossip:
    """Birth of a gossip core."""
    return Gossip(host.contact, host.incarnation, rng, disk, contacts)
