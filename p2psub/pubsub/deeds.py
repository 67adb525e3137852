"""Holding events that are owed: copies, hand-over and give-back, all by one rule.

A deed is an event with what it owes. Whoever holds a deed makes sure that the present owner of its key holds it; the
owner makes sure that the members after it do. `Keep` asks for a copy, `Kept` states a durable one. A deed is let go
only when it owes nothing, or when the owner holds it and we are not among its holders. Any table change starts this
anew, since a member may have come back without its disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from p2psub.config import PubSubConfig
from p2psub.model.batches import batches_of
from p2psub.model.ids import ClusterId, Contact, EventId, Key, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Deed, DeedId, Discharged, Keep, Kept, Obligation
from p2psub.model.places import TableVersion
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.pubsub.tenure import Tenure

DEED_ROOM: Final = "deed"
_DEEDS_PER_MESSAGE: Final = 64
_IDS_PER_MESSAGE: Final = 4096
_ERASE_EVERY_TICKS: Final = 8
_SPARE_TICKS: Final = 2
"""After this time a deed gets the copies beyond those that its acknowledgement needs. A guess: one heartbeat."""
_STALE_TICKS: Final = 60
"""A replica that has heard nothing of a deed for this long asks its owner whether it is discharged. A guess: 30 H."""


_encoder: Final = msgspec.msgpack.Encoder()


class Held:
    """A deed we hold."""

    __slots__ = (
        "asked",
        "born_us",
        "deed",
        "dispatches",
        "due_tick",
        "held_by",
        "is_acknowledged",
        "is_asked",
        "is_recorded",
        "kept_tick",
        "key",
        "look_tick",
        "owed",
        "told_by",
    )

    def __init__(self, deed: Deed, key: Key, born_us: Micros) -> None:
        self.deed = deed
        self.key = key
        self.born_us = born_us
        self.owed: dict[SubscriptionId, Obligation] = {o.subscription: o for o in deed.owed}
        self.held_by: dict[NodeId, None] = {}
        """Who is known to hold it durably, ourselves included."""
        self.asked: dict[NodeId, None] | None = None
        """Whom we asked to hold it, if it was born here: nobody else can. None for a deed that came from another."""
        self.told_by: NodeId | None = None
        """Who asked us to hold it; it need not hold it durably itself yet."""
        self.kept_tick = -1_000
        """When somebody was last asked to keep it, or asked us."""
        self.look_tick = 0
        """Until then nothing can be due."""
        self.is_recorded = False
        self.is_acknowledged = False
        self.is_asked = False
        """Whether its publisher waits for an acknowledgement from us."""
        self.dispatches = 0
        self.due_tick = 0
        """When what is owed is paid again."""


class Deeds:
    """All undischarged events that this member holds, as owner or for an owner."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        tenure: Tenure,
        holders: int,
        is_finished: Callable[[DeedId], bool],
        finish: Callable[[Held], None],
        copied: Callable[[Held], None],
    ) -> None:
        self._step = step
        self._config = config
        self._tenure = tenure
        self._holders = holders
        self._is_finished = is_finished
        self._finish = finish
        self._copied = copied
        self._tick = 0
        self._table: TableVersion | None = None
        self._released: dict[NodeId, tuple[Contact, list[DeedId]]] = {}
        self.held: dict[DeedId, Held] = {}
        self._by_event: dict[EventId, dict[DeedId, None]] = {}
        self.cluster: ClusterId | None = None

    def recover(self, deeds: Iterable[Deed]) -> None:
        """After a restart: what was durable is still held."""
        for deed in deeds:
            self._hold(deed).held_by[self._step.me.id] = None
            self._step.record(Kind.KEEP, event=deed.id.event, reason="recovered")

    # Taking and keeping

    def take(self, deed: Deed, kind: Kind) -> Held:
        """Hold a deed, and say so in the trace once it is durable."""
        held = self._hold(deed)
        self._step.write(DEED_ROOM, deed.id, deed)
        self._step.when_durable(lambda: self._note_durable(held, kind))
        return held

    def _hold(self, deed: Deed) -> Held:
        event = deed.timed.event
        born = Micros(self._step.now - deed.timed.age_us)
        held = Held(deed, event.key, born)
        self.held[deed.id] = held
        self._by_event.setdefault(deed.id.event, {})[deed.id] = None
        return held

    def all_of_event(self, event: EventId) -> list[Held]:
        """The deeds of an event that we hold: usually one."""
        return [self.held[id_] for id_ in self._by_event.get(event, ())]

    def _note_durable(self, held: Held, kind: Kind) -> None:
        if kind is Kind.STORE:
            self.record_store(held)
        else:
            self._step.record(kind, event=held.deed.id.event)
        held.held_by[self._step.me.id] = None
        self._copied(held)

    def record_store(self, held: Held) -> None:
        """Say in the trace, once, that we are responsible for the event, and for which changes it was matched."""
        if not held.is_recorded:
            held.is_recorded = True
            event, deed = held.deed.timed.event, held.deed
            self._step.record(
                Kind.STORE,
                event=event.id,
                cluster=self.cluster,
                vector=deed.vector,
                count=deed.matched,
                published=event,
            )

    def replicate(self, held: Held) -> None:
        """Ask the members after us for the copies that an acknowledgement needs.

        Most events owe nothing any more before a tick has passed. Only what lives longer, or lacks a copy by then, is
        worth the rest of its holders.
        """
        held.kept_tick = self._tick + _SPARE_TICKS - self._config.retry_ticks
        held.asked = {}
        needed = self._tenure.required_copies(self._config.copies) - 1
        for contact in self._missing_holders(held)[:needed]:
            self._ask(contact, [held])

    def _missing_holders(self, held: Held) -> list[Contact]:
        table = self._tenure.table
        holders = [] if table is None else table.holders_of(held.key, self._holders)
        return [c for c in holders if c.id not in held.held_by and c.id != self._step.me.id]

    def _ask(self, contact: Contact, several: list[Held]) -> None:
        if self.cluster is not None:
            for held in several:
                if held.asked is not None:
                    held.asked[contact.id] = None
            deeds = [self._aged(held) for held in several]
            batches = [deeds] if len(deeds) == 1 else batches_of(deeds, _bytes_of, _DEEDS_PER_MESSAGE)
            for batch in batches:
                self._step.send(contact, Keep(self.cluster, tuple(batch)))

    def _aged(self, held: Held) -> Deed:
        """The deed as it stands: older, and owing only what is still owed."""
        deed, age = held.deed, Micros(self._step.now - held.born_us)
        timed = type(deed.timed)(deed.timed.event, age)
        return Deed(deed.id, timed, tuple(held.owed.values()), deed.matched, deed.vector, deed.publisher)

    def on_keep(self, peer: Contact, keep: Keep) -> None:
        """Hold what we do not hold yet; what we know to be discharged needs no copy."""
        if keep.cluster != self.cluster:
            return
        taken: list[DeedId] = []
        finished: list[DeedId] = []
        for deed in keep.deeds:
            if self._is_finished(deed.id):
                finished.append(deed.id)
                continue
            held = self.held.get(deed.id)
            if held is None:
                held = self.take(deed, Kind.KEEP)
            else:
                self._unite(held, deed)
            held.told_by, held.kept_tick, held.look_tick = peer.id, self._tick, 0
            taken.append(deed.id)
        if finished:
            self._step.send(peer, Discharged(keep.cluster, tuple(finished)))
        if taken:
            kept = Kept(keep.cluster, tuple(taken))
            self._step.when_durable(lambda: self._step.send(peer, kept))

    def _unite(self, held: Held, told: Deed) -> None:
        """Two copies of one deed: what one of them knows to be settled is settled."""
        still = {o.subscription for o in told.owed}
        held.owed = {id_: o for id_, o in held.owed.items() if id_ in still}

    def on_kept(self, peer: Contact, kept: Kept) -> None:
        for id_ in kept.deeds:
            held = self.held.get(id_)
            if held is not None:
                held.held_by[peer.id] = None
                held.look_tick = 0
                self._copied(held)

    # Letting go

    def discharge(self, held: Held) -> None:
        """It owes nothing any more: let it go here, and tell the other holders."""
        id_, table = held.deed.id, self._tenure.table
        owners = () if table is None else table.owners
        holders = [] if table is None else table.holders_of(held.key, self._holders)
        may_hold = {c.id for c in holders} if held.asked is None else held.asked
        for contact in owners:
            is_holder = contact.id in may_hold or contact.id in held.held_by
            if is_holder and contact.id != self._step.me.id:
                self._released.setdefault(contact.id, (contact, []))[1].append(id_)
        self._let_go(id_)

    def _let_go(self, id_: DeedId) -> None:
        if self.held.pop(id_, None) is not None:
            self._step.erase(DEED_ROOM, id_)
            del self._by_event[id_.event][id_]
            if not self._by_event[id_.event]:
                del self._by_event[id_.event]

    def on_discharged(self, _: Contact, discharged: Discharged) -> None:
        """An owner before us settled it: if it is ours now, others may hold it too and must hear of it."""
        for id_ in discharged.deeds if discharged.cluster == self.cluster else ():
            held = self.held.get(id_)
            if held is not None and self._tenure.is_mine(held.key):
                self._finish(held)
            else:
                self._let_go(id_)

    # Time

    def tick(self) -> None:
        """See that everything held is where it belongs."""
        self._tick += 1
        if self._tick % 2 == 0:
            self._tell_discharged()
        if self._tick % _ERASE_EVERY_TICKS == 0:
            self._step.erase_now()
        if self._tenure.version != self._table:
            self._table = self._tenure.version
            me = self._step.me.id
            for held in self.held.values():
                held.held_by = {me: None} if me in held.held_by else {}
                held.told_by, held.kept_tick, held.look_tick = None, -1_000, 0
        asks: dict[NodeId, tuple[Contact, list[Held]]] = {}
        tick = self._tick
        for held in [held for held in self.held.values() if held.look_tick <= tick]:
            for contact in self._due(held):
                asks.setdefault(contact.id, (contact, []))[1].append(held)
        for contact, several in asks.values():
            self._ask(contact, several)

    def _tell_discharged(self) -> None:
        for contact, ids in self._released.values():
            for i in range(0, len(ids), _IDS_PER_MESSAGE):
                if self.cluster is not None:
                    self._step.send(contact, Discharged(self.cluster, tuple(ids[i : i + _IDS_PER_MESSAGE])))
        self._released.clear()

    def _due(self, held: Held) -> list[Contact]:
        """Whom to ask now to hold it; also decides when to look at it again."""
        owner, me = self._tenure.owner_of(held.key), self._step.me.id
        if owner is None:
            return []
        is_known_there = owner.id == held.told_by or owner.id in held.held_by
        if owner.id in held.held_by and owner.id != me and not self._is_holder(held):
            self._let_go(held.deed.id)
            return []
        patience = _STALE_TICKS if is_known_there and owner.id != me else self._config.retry_ticks
        if self._tick < held.kept_tick + patience:
            held.look_tick = held.kept_tick + patience
            return []
        held.kept_tick, held.look_tick = self._tick, self._tick + patience
        return self._missing_holders(held) if owner.id == me else [owner]

    def _is_holder(self, held: Held) -> bool:
        table = self._tenure.table
        me = self._step.me.id
        return table is not None and any(c.id == me for c in table.holders_of(held.key, self._holders))


def _bytes_of(deed: Deed) -> int:
    """Its bytes on a link: all that it owes and was matched against travels with it."""
    return len(_encoder.encode(deed))
