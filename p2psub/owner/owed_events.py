"""Holding events that are owed: copies, hand-over and give-back, all by one rule.

An owed event is an event with what it owes. Each holder makes sure that the present owner of the key holds it; the
owner makes sure that the members after it do. `StoreCopy` asks for a copy, `CopyStored` states a durable one. An owed
event is let go only when it owes nothing, or when we are not among its holders and as many of them hold it as an
acknowledgement needs: the owner's word alone would leave one copy. Any table change starts this anew, since a member
may have come back without its disk, and members that follow different tables might rely on each other and both let go.
What owes nothing any more is remembered, so that a late copy of it is not taken, and retained for late subscribers if
its class asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from p2psub.config import PubSubConfig
from p2psub.model.batches import batches_of
from p2psub.model.content import Timed
from p2psub.model.ids import Contact, EventId, Key, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import (
    CopyStored,
    Discharged,
    Obligation,
    OwedEvent,
    OwedEventId,
    StoreCopy,
    StoredEvent,
)
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.places import TableVersion
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.retention import Recent
from p2psub.parcels.remembered import Remembered

OWED_EVENT_NAMESPACE: Final = "owed_event"
_OWED_EVENTS_PER_MESSAGE: Final = 64
_IDS_PER_MESSAGE: Final = 4096
_ERASE_EVERY_TICKS: Final = 8
_SPARE_TICKS: Final = 2
"""After this time an owed event gets the copies beyond those that its acknowledgement needs. A guess: one heartbeat."""
_STALE_TICKS: Final = 60
"""A replica that has heard nothing for this long asks the owner whether the event is discharged. A guess: 30 H."""


_encoder: Final = msgspec.msgpack.Encoder()


class HeldEvent:
    """An owed event we hold. `OwedEvents` writes what concerns its copies, `Owner` what concerns its payment."""

    __slots__ = (
        "asked",
        "born_us",
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
        "owed_event",
        "told_by",
    )

    def __init__(self, owed_event: OwedEvent, key: Key, born_us: Micros) -> None:
        self.owed_event = owed_event
        self.key = key
        self.born_us = born_us
        self.owed: dict[SubscriptionId, Obligation] = {o.subscription: o for o in owed_event.owed}
        self.held_by: dict[NodeId, TableVersion | None] = {}
        """The members known to hold it durably, ourselves included, each with the table that it followed then."""
        self.asked: dict[NodeId, None] | None = None
        """The members we asked to hold it, if it was born here; None if it came from another holder."""
        self.told_by: NodeId | None = None
        """The member that asked us to hold it; it need not hold it durably itself yet."""
        self.kept_tick = -1_000
        """When we last asked another member to hold it, or were asked."""
        self.look_tick = 0
        """Until then nothing can be due."""
        self.is_recorded = False
        self.is_acknowledged = False
        self.is_asked = False
        """Whether its publisher waits for an acknowledgement from us."""
        self.dispatches = 0
        self.due_tick = 0
        """When what is owed is paid again."""

    @property
    def outcome(self) -> PublishOutcome:
        """What its publisher is told."""
        return PublishOutcome(self.owed_event.timed.event.id, len(self.held_by), self.owed_event.matched)

    def settle(self, subscription: SubscriptionId) -> bool:
        """A subscription has its outcome; False if it was owed nothing."""
        return self.owed.pop(subscription, None) is not None

    def unite(self, told: OwedEvent, now: Micros) -> None:
        """Another copy of it: an obligation that has ended there has ended here, and the larger age counts."""
        self.born_us = min(self.born_us, Micros(now - told.timed.age_us))
        still = {o.subscription for o in told.owed}
        self.owed = {id_: o for id_, o in self.owed.items() if id_ in still}


class OwedEvents:
    """All undischarged events that this member holds, as owner or for an owner."""

    def __init__(self, step: Step, config: PubSubConfig, arc_lease: ArcLease, election: Election, holders: int) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._holders = holders
        self._table: TableVersion | None = None
        self._released: dict[NodeId, tuple[Contact, list[OwedEventId]]] = {}
        self.held: dict[OwedEventId, HeldEvent] = {}
        self._by_event: dict[EventId, dict[OwedEventId, None]] = {}
        self._finished: Remembered[bytes] = Remembered(config.remembered_us)
        """Owed events that were discharged, by their matches."""
        self._outcomes: Remembered[tuple[int | None, int | None]] = Remembered(config.remembered_us)
        """How many copies and matches the publishers of discharged events were told of."""
        self.recent = Recent(config.recent_events_max)

    def recover(self, stored: Iterable[StoredEvent]) -> None:
        """After a restart: what was durable is still held, and has grown older meanwhile.

        What is too old by now was discharged or given up by others, and they may have forgotten it.
        """
        for row in stored:
            owed_event = row.owed_event.aged(max(0, self._step.wall_us - row.written_us))
            id_ = owed_event.id
            if self.is_too_old(owed_event.timed):
                self._step.erase(OWED_EVENT_NAMESPACE, id_)
                self._step.record(Kind.DROP, event=id_.event, reason=Reason.OLDER_THAN_TTL)
            else:
                self._hold(owed_event).held_by[self._step.me.id] = None
                self._step.record(Kind.COPY, event=id_.event, reason=Reason.RECOVERED)

    def is_too_old(self, timed: Timed) -> bool:
        """Whether an event that no memory here speaks of may have been paid, and forgotten since."""
        return timed.age_us > self._config.too_old_us

    # Taking and keeping

    def take(self, owed_event: OwedEvent) -> HeldEvent:
        """Hold an owed event; once it is durable, `stored` says so."""
        held = self._hold(owed_event)
        self._step.write(OWED_EVENT_NAMESPACE, owed_event.id, StoredEvent(self._step.wall_us, owed_event))
        return held

    def stored(self, held: HeldEvent, kind: Kind) -> None:
        """Our own copy is durable."""
        if kind is Kind.STORE:
            self.record_store(held)
        else:
            self._step.record(kind, event=held.owed_event.id.event)
        held.held_by[self._step.me.id] = None

    def _hold(self, owed_event: OwedEvent) -> HeldEvent:
        event = owed_event.timed.event
        born = Micros(self._step.now - owed_event.timed.age_us)
        held = HeldEvent(owed_event, event.key, born)
        self.held[owed_event.id] = held
        self._by_event.setdefault(owed_event.id.event, {})[owed_event.id] = None
        return held

    def all_of_event(self, event: EventId) -> list[HeldEvent]:
        """The owed events of an event that we hold: usually one."""
        return [self.held[id_] for id_ in self._by_event.get(event, ())]

    def is_known(self, id_: OwedEventId) -> bool:
        """Whether we hold an owed event, or know that it owes nothing any more."""
        return id_ in self.held or self._finished.has(id_.event, id_.matches)

    def outcome_of(self, event: EventId) -> PublishOutcome | None:
        """What became of an event that owes nothing any more, while it is remembered."""
        told = self._outcomes.labels_of(event)
        return PublishOutcome(event, *told[-1]) if told else None

    def record_store(self, held: HeldEvent) -> None:
        """Say in the trace, once, that we are responsible for the event, and for which changes it was matched."""
        if not held.is_recorded:
            held.is_recorded = True
            event, owed_event = held.owed_event.timed.event, held.owed_event
            self._step.record(
                Kind.STORE,
                event=event.id,
                cluster=self._election.cluster,
                vector=owed_event.vector,
                matched=owed_event.matched,
            )

    def replicate(self, held: HeldEvent) -> None:
        """Ask the members after us for the copies that an acknowledgement needs.

        Most events owe nothing any more before a tick has passed. Only what lives longer, or lacks a copy by then, is
        worth the rest of its holders.
        """
        held.kept_tick = self._step.tick + _SPARE_TICKS - self._config.retry_ticks
        held.asked = {}
        needed = self._arc_lease.required_copies(self._config.copies) - 1
        for contact in self._missing_holders(held)[:needed]:
            self._ask(contact, [held])

    def _missing_holders(self, held: HeldEvent) -> list[Contact]:
        table = self._arc_lease.table
        holders = [] if table is None else table.holders_of(held.key, self._holders)
        return [c for c in holders if c.id != self._step.me.id and not self._holds_now(held, c.id)]

    def _holds_now(self, held: HeldEvent, node: NodeId) -> bool:
        """Whether a member said so by our table or a newer one: by an older one it may have let go since."""
        stated, ours = held.held_by.get(node), self._arc_lease.version
        return stated is not None and ours is not None and stated >= ours

    def _ask(self, contact: Contact, several: list[HeldEvent]) -> None:
        cluster = self._election.cluster
        if cluster is not None:
            for held in several:
                if held.asked is not None:
                    held.asked[contact.id] = None
            owed_events = [self._aged(held) for held in several]
            batches = (
                [owed_events] if len(owed_events) == 1 else batches_of(owed_events, _bytes_of, _OWED_EVENTS_PER_MESSAGE)
            )
            for batch in batches:
                self._step.send(contact, StoreCopy(cluster, tuple(batch)))

    def _aged(self, held: HeldEvent) -> OwedEvent:
        """The owed event as it stands: older, and owing only what is still owed."""
        owed_event, age = held.owed_event, Micros(self._step.now - held.born_us)
        timed = Timed(owed_event.timed.event, age)
        return OwedEvent(
            owed_event.id, timed, tuple(held.owed.values()), owed_event.matched, owed_event.vector, owed_event.publisher
        )

    def on_store_copy(self, peer: Contact, asked: StoreCopy) -> tuple[list[HeldEvent], list[OwedEventId]]:
        """Hold what we do not hold yet; returns what is new here, and the ids of all that we hold now.

        What we know to be discharged needs no copy: the asker hears so. So it does of what is too old to be a new debt.
        """
        fresh: list[HeldEvent] = []
        held_now: list[OwedEventId] = []
        finished: list[OwedEventId] = []
        for owed_event in asked.owed_events if asked.cluster == self._election.cluster else ():
            held = self.held.get(owed_event.id)
            if held is None and (self.is_known(owed_event.id) or self._is_too_old_to_own(peer, owed_event.timed)):
                finished.append(owed_event.id)
                continue
            if held is None:
                held = self.take(owed_event)
                fresh.append(held)
            else:
                held.unite(owed_event, self._step.now)
            held.told_by, held.kept_tick, held.look_tick = peer.id, self._step.tick, 0
            held_now.append(owed_event.id)
        if finished:
            self._step.send(peer, Discharged(asked.cluster, tuple(finished)))
        return fresh, held_now

    def _is_too_old_to_own(self, peer: Contact, timed: Timed) -> bool:
        is_refused = self.is_too_old(timed) and self._arc_lease.is_mine(timed.event.key)
        if is_refused:
            self._step.record(Kind.DROP, event=timed.event.id, peer=peer.id, reason=Reason.OLDER_THAN_TTL)
        return is_refused

    def on_copy_stored(self, peer: Contact, stored: CopyStored) -> list[HeldEvent]:
        """Another member holds copies; returns of what."""
        several = [self.held[id_] for id_ in stored.owed_events if id_ in self.held]
        for held in several:
            held.held_by[peer.id] = stored.table
            held.look_tick = 0
        return several

    # Letting go

    def discharge(self, held: HeldEvent) -> None:
        """It owes nothing any more: remember that, retain the event if its class asks for it, let all holders go."""
        id_, table, outcome = held.owed_event.id, self._arc_lease.table, held.outcome
        self._step.record(Kind.DISCHARGE, event=outcome.event, matched=held.owed_event.matched)
        self._finished.note(id_.event, id_.matches, self._step.now)
        self._outcomes.note(id_.event, (outcome.copies, outcome.matched), self._step.now)
        self.recent.retain(held.owed_event.timed.event, held.born_us, self._step.now)
        owners = () if table is None else table.owners
        holders = [] if table is None else table.holders_of(held.key, self._holders)
        may_hold = {c.id for c in holders} if held.asked is None else held.asked
        for contact in owners:
            is_holder = contact.id in may_hold or contact.id in held.held_by
            if is_holder and contact.id != self._step.me.id:
                self._released.setdefault(contact.id, (contact, []))[1].append(id_)
        self._let_go(id_)

    def _let_go(self, id_: OwedEventId) -> None:
        if self.held.pop(id_, None) is not None:
            self._step.erase(OWED_EVENT_NAMESPACE, id_)
            del self._by_event[id_.event][id_]
            if not self._by_event[id_.event]:
                del self._by_event[id_.event]

    def on_discharged(self, _: Contact, discharged: Discharged) -> None:
        """An owner before us discharged it: if it is ours now, others may hold it too and must hear of it."""
        for id_ in discharged.owed_events if discharged.cluster == self._election.cluster else ():
            held = self.held.get(id_)
            if held is not None and self._arc_lease.is_mine(held.key):
                self.discharge(held)
            else:
                self._let_go(id_)

    # Time

    def tick(self) -> None:
        """See that everything held is where it belongs; forget what was discharged long ago."""
        if self._step.tick % 2 == 0:
            self._tell_discharged()
        if self._step.tick % _ERASE_EVERY_TICKS == 0:
            self._step.erase_now()
        if self._arc_lease.version != self._table:
            self._table = self._arc_lease.version
            me = self._step.me.id
            for held in self.held.values():
                held.held_by = {me: None} if me in held.held_by else {}
                held.told_by, held.kept_tick, held.look_tick = None, -1_000, 0
        asks: dict[NodeId, tuple[Contact, list[HeldEvent]]] = {}
        tick = self._step.tick
        for held in [held for held in self.held.values() if held.look_tick <= tick]:
            for contact in self._due(held):
                asks.setdefault(contact.id, (contact, []))[1].append(held)
        for contact, several in asks.values():
            self._ask(contact, several)
        self._finished.forget(self._step.now)
        self._outcomes.forget(self._step.now)

    def _tell_discharged(self) -> None:
        cluster = self._election.cluster
        if cluster is not None:
            for contact, ids in self._released.values():
                for i in range(0, len(ids), _IDS_PER_MESSAGE):
                    self._step.send(contact, Discharged(cluster, tuple(ids[i : i + _IDS_PER_MESSAGE])))
        self._released.clear()

    def _due(self, held: HeldEvent) -> list[Contact]:
        """The members to ask now to hold it; also decides when to look at it again."""
        owner, me = self._arc_lease.owner_of(held.key), self._step.me.id
        if owner is None:
            return []
        tick, is_mine, is_stated = self._step.tick, owner.id == me, owner.id in held.held_by
        patience = self._config.retry_ticks
        if tick < held.kept_tick + patience and (is_mine or not is_stated):
            held.look_tick = held.kept_tick + patience
            return []
        lacking = None if is_mine else self._lacking_to_let_go(held)
        if lacking == 0:
            self._let_go(held.owed_event.id)
            return []
        if lacking is None and not is_mine and (is_stated or owner.id == held.told_by):
            patience = _STALE_TICKS
        if tick < held.kept_tick + patience:
            held.look_tick = held.kept_tick + patience
            return []
        held.kept_tick, held.look_tick = tick, tick + patience
        if lacking is None and not is_mine:
            return [owner]
        return self._missing_holders(held)[:lacking]

    def _lacking_to_let_go(self, held: HeldEvent) -> int | None:
        """How many holders must yet state a copy before ours is not needed; None if we are a holder ourselves."""
        table, me = self._arc_lease.table, self._step.me.id
        holders = [] if table is None else table.holders_of(held.key, self._holders)
        if any(contact.id == me for contact in holders):
            return None
        stated = sum(self._holds_now(held, contact.id) for contact in holders)
        has_owner = bool(holders) and self._holds_now(held, holders[0].id)
        return max(self._arc_lease.required_copies(self._config.copies) - stated, 0 if has_owner else 1)


def _bytes_of(owed_event: OwedEvent) -> int:
    """Its bytes on a link: all that it owes and was matched against travels with it."""
    return len(_encoder.encode(owed_event))
