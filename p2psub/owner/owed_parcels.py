"""Holding events that are owed: copies, hand-over and give-back, all by one rule.

Each holder makes sure that the present owner of the events holds them; the owner makes sure that the members after it
do. `StoreCopy` asks for a copy, `CopyStored` states a durable one. What is owed is let go only when it owes nothing, or
when we are not among its holders and as many of them hold it as an acknowledgement needs: the owner's word alone would
leave one copy. Any table change starts this anew, since a member may have come back without its disk, and members that
follow different tables might rely on each other and both let go. What owes nothing any more is remembered, so that a
late copy is not taken, and retained for late subscribers if its class asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, TypeVar

from p2psub.config import PubSubConfig
from p2psub.model.batches import batches_of
from p2psub.model.changes import Vector
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.base import Message
from p2psub.model.messages.pubsub import (
    CopyLost,
    CopyRefused,
    CopyStored,
    Discharged,
    OwedHead,
    OwedParcel,
    OwedParcelId,
    OwedPlaces,
    StillOwed,
    StoreCopy,
)
from p2psub.model.parcel_parts import first_of, is_sound, places_of
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import event_runs, to_bitmap
from p2psub.model.places import TableVersion
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.discharges import Discharges
from p2psub.owner.due_list import DueList
from p2psub.owner.held_parcel import HeldParcel, HeldStage, HeldTurn, places_of_keys
from p2psub.owner.holders import Holders
from p2psub.owner.owed_log import HeldEvents, OwedLog, age_of, bytes_of_owed
from p2psub.owner.spool import Spool
from p2psub.parcels.shipment import places_by_owner

T = TypeVar("T")

HeldPart = tuple[HeldParcel, Parcel]
"""What we hold, and the parcel that its pack holds."""
_PARCELS_PER_MESSAGE: Final = 64
_IDS_PER_MESSAGE: Final = 4096
_ERASE_EVERY_TICKS: Final = 8
_SPARE_TICKS: Final = 2
"""After this time what is owed gets more copies than its acknowledgement needs. A guess: one heartbeat."""
_STALE_TICKS: Final = 60
"""A replica that has heard nothing for this long asks the owner whether it is discharged. A guess: 30 H."""


class OwedParcels:
    """All undischarged events that this member holds, as owner or for an owner."""

    def __init__(
        self, step: Step, config: PubSubConfig, arc_lease: ArcLease, election: Election, holders: Holders, spool: Spool
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._holders = holders
        self.table: TableVersion | None = None
        """By which we hold what we hold: the one that we obey, from the next tick on."""
        self._released: dict[NodeId, tuple[Contact, list[OwedPlaces]]] = {}
        self._questions: dict[NodeId, tuple[Contact, list[tuple[OwedParcelId, int, bytes]]]] = {}
        """Whom to ask what still owes something."""
        self._spool = spool
        self.log = OwedLog(step, arc_lease, spool)
        self._looks: DueList[HeldParcel] = DueList()
        self.discharges = Discharges(step, config)

    def recover(self, heads: Mapping[int, object]) -> None:
        """After a restart: what was durable is still held, and has grown older meanwhile.

        What is too old by now was discharged or given up by others, and they may have forgotten it.
        """
        for number, head in heads.items():
            assert isinstance(head, OwedHead), "the log has packs of owed events alone"
            age = age_of(head, self._step.wall_us)
            fresh = places_of_keys(head) & ~self.log.places_held(head.id)
            if self.is_too_old(age) or not fresh:
                self._step.erase_pack(number)
                self._record_drop(head.first, fresh, None)
                continue
            for held in self.log.recover(number, head, age, fresh):
                self._look_at(held, self._step.tick + 1)
                held.turn(HeldTurn.DURABLE)
                held.state(self._step.me.id, None, held.places)
                for event, run in held.runs():
                    self._step.record(Kind.COPY, event=event, run=run, reason=Reason.RECOVERED)

    def is_too_old(self, age_us: Micros) -> bool:
        """Whether events that no memory here speaks of may have been paid, and forgotten since."""
        return age_us > self._config.too_old_us

    # Taking and keeping

    def take(self, owed_parcel: OwedParcel, places: int) -> list[HeldParcel]:
        """Hold some events of a parcel that we do not hold yet; once they are durable, `stored` says so."""
        pieces = self.log.append(owed_parcel, places)
        for held in pieces:
            self._look_at(held, self._step.tick + 1)
        return pieces

    def with_parcels(self, several: Iterable[HeldParcel], then: Callable[[list[HeldPart]], None]) -> None:
        """Do something with the events themselves, as soon as they are in memory."""
        self.log.read(several, partial(self._have_read, then))

    def _have_read(self, then: Callable[[list[HeldPart]], None], several: list[HeldEvents]) -> None:
        for held, parcel in several:
            if parcel is None:
                self._lose(held)
        then([(held, parcel) for held, parcel in several if parcel is not None])

    def _lose(self, held: HeldParcel) -> None:
        """The store cannot read it any more: let go of what is left, and ask the other holders for theirs."""
        cluster = self._election.cluster
        for contact in self._holders.of(held):
            if cluster is not None and contact.id != self._step.me.id:
                self._step.send(contact, CopyLost(cluster, ((held.id, to_bitmap(held.places)),)))
        self.log.let_go(held)

    def on_copy_lost(self, peer: Contact, lost: CopyLost) -> None:
        """Another holder lost what we hold: if it is an owner, or we are, it gets it again at the next tick."""
        for held, _ in self.log.pieces_in(lost.lost) if lost.cluster == self._election.cluster else ():
            held.held_by.pop(peer.id, None)
            held.told_by = None if held.told_by == peer.id else held.told_by
            self._look_soon(held)

    def stored(self, held: HeldParcel, kind: Kind) -> None:
        """Our own copy is durable."""
        if kind is Kind.STORE:
            self.record_owned(held)
        else:
            for event, run in held.runs():
                self._step.record(kind, event=event, run=run)
        held.turn(HeldTurn.DURABLE)
        held.state(self._step.me.id, None, held.places)

    def places_known(self, id_: OwedParcelId, first: EventId, places: int) -> int:
        """Those of some events that we hold with these matches, or know to owe nothing any more."""
        return places & (self.log.places_held(id_) | self.discharges.places(first, places, id_.matches))

    def record_owned(self, held: HeldParcel) -> None:
        """Say in the trace, once, that we are responsible for the events."""
        if not held.is_recorded:
            held.is_recorded = True
            for matched, places in held.matched:
                self.record_store(held.first, places, matched, held.vector)

    def record_store(self, first: EventId, places: int, matched: int, vector: Vector) -> None:
        """Say in the trace that events are stored, and for which changes they were matched."""
        cluster = self._election.cluster
        for event, run in event_runs(first, places):
            self._step.record(Kind.STORE, event=event, run=run, cluster=cluster, vector=vector, matched=matched)

    def replicate(self, held: HeldParcel) -> None:
        """Ask the members after us for the copies that an acknowledgement needs.

        Most events owe nothing any more before a tick has passed. Only what lives longer, or lacks a copy by then, is
        worth the rest of its holders.
        """
        held.kept_tick = self._step.tick + _SPARE_TICKS - self._config.retry_ticks
        held.asked, held.requests = {}, []
        self._ask(self._holders.missing(held)[: self._holders.copies_required - 1], [held])

    def note_copies(self, held: HeldParcel) -> bool:
        """Whether it is ours and has its copies; the first time under a table it becomes safe to pay by that."""
        is_ours = held.is_held and self._arc_lease.is_mine(held.key)
        if not is_ours or not self._holders.have_copies_of(held):
            return False
        if held.stage is HeldStage.STORED:
            held.turn(HeldTurn.ENOUGH_COPIES)
            self._spool.add(held)
        return True

    def _ask(self, contacts: list[Contact], several: list[HeldParcel]) -> None:
        for held in several:
            if held.asked is not None:
                held.asked.update(dict.fromkeys([contact.id for contact in contacts]))
        if contacts:
            self.with_parcels(several, partial(self._send_copies, contacts))

    def _send_copies(self, contacts: list[Contact], several: list[HeldPart]) -> None:
        cluster = self._election.cluster
        if cluster is not None:
            owed = [(held, held.as_owed(parcel, self._step.now)) for held, parcel in several]
            for batch in [owed] if len(owed) == 1 else batches_of(owed, bytes_of_owed, _PARCELS_PER_MESSAGE):
                asked = StoreCopy(cluster, tuple([copy for _, copy in batch]))
                requests = [self._step.send_followed(contact, asked) for contact in contacts]
                for held, _ in batch:
                    held.requests += requests

    def on_store_copy(self, peer: Contact, asked: StoreCopy) -> tuple[list[HeldParcel], list[OwedPlaces]]:
        """Hold what we do not hold yet; returns what is new here, and all of it that we hold now.

        What we know to be discharged needs no copy: the asker hears so. So it does of what is too old to be a new debt.
        """
        fresh: list[HeldParcel] = []
        held_now: list[OwedPlaces] = []
        finished: list[OwedPlaces] = []
        refused: list[OwedPlaces] = []
        for owed_parcel in asked.owed_parcels if asked.cluster == self._election.cluster else ():
            if not is_sound(owed_parcel.parcel):
                self._step.record(Kind.DROP, peer=peer.id, reason=Reason.FOREIGN_EVENT)
                continue
            id_, places = owed_parcel.id, places_of(owed_parcel.parcel)
            ended = self._places_ended(peer, owed_parcel, id_, places)
            lacking = places & ~ended & ~self.log.places_held(id_)
            for held in self.log.pieces_at(id_, places):
                held.unite(owed_parcel, self._step.now)
            if lacking and self._step.disk_is_full:
                refused.append((id_, to_bitmap(lacking)))
                places &= ~lacking
            elif lacking:
                fresh += self.take(owed_parcel, lacking)
            for held in self.log.pieces_at(id_, places):
                held.told_by, held.kept_tick = peer.id, self._step.tick
                self._look_at(held, self._step.tick + 1)
            if ended:
                finished.append((id_, to_bitmap(ended)))
            if places & ~ended:
                held_now.append((id_, to_bitmap(places & ~ended)))
        if finished:
            self._step.send(peer, Discharged(asked.cluster, tuple(finished)))
        if refused:
            self._step.send(peer, CopyRefused(asked.cluster, tuple(refused)))
        return fresh, held_now

    def _places_ended(self, peer: Contact, told: OwedParcel, id_: OwedParcelId, places: int) -> int:
        """Those events that we do not hold and that need no copy: discharged, or too old to be a debt of ours."""
        first, unheld = first_of(told.parcel), places & ~self.log.places_held(id_)
        ended = self.discharges.places(first, unheld, id_.matches) if unheld else 0
        if self.is_too_old(told.age_us):
            by_owner = places_by_owner(told.parcel, self._arc_lease.owner_of)
            _, mine = by_owner.get(self._step.me.id, (None, 0))
            too_old = mine & unheld & ~ended
            self._record_drop(first, too_old, peer.id)
            ended |= too_old
        return ended

    def _record_drop(self, first: EventId, places: int, peer: NodeId | None) -> None:
        for event, run in event_runs(first, places):
            self._step.record(Kind.DROP, event=event, run=run, peer=peer, reason=Reason.OLDER_THAN_TTL)

    def on_copy_stored(self, peer: Contact, stored: CopyStored) -> list[HeldParcel]:
        """Another member holds copies; returns of what."""
        several: list[HeldParcel] = []
        for held, places in self.log.pieces_in(stored.held) if stored.cluster == self._election.cluster else ():
            held.state(peer.id, stored.table, places)
            self._look_at(held, self._step.tick + 1)
            several.append(held)
        return several

    def on_copy_refused(self, peer: Contact, refused: CopyRefused) -> None:
        """A member has no room for what we asked it to hold: ask another."""
        for held, _ in self.log.pieces_in(refused.refused) if refused.cluster == self._election.cluster else ():
            held.refused_by[peer.id] = None
            self._ask([c for c in self._holders.missing(held) if c.id not in (held.asked or ())][:1], [held])

    # Letting go

    def discharge(self, held: HeldParcel) -> None:
        """It owes nothing any more: remember that, retain the events whose class asks for it, let all holders go."""
        if held.retained:
            self.with_parcels([held], self._retain)
        else:
            self._discharge(held)

    def _retain(self, several: list[HeldPart]) -> None:
        for held, parcel in several:
            self.discharges.recent.retain(parcel, held.retained, held.born_us, self._step.now)
            self._discharge(held)

    def _discharge(self, held: HeldParcel) -> None:
        table = self._arc_lease.table
        self.discharges.note(held)
        may_hold = {c.id for c in self._holders.of(held)} if held.asked is None else held.asked
        name = (held.id, to_bitmap(held.places))
        for contact in () if table is None else table.owners:
            is_holder = contact.id in may_hold or contact.id in held.held_by
            if is_holder and contact.id != self._step.me.id:
                self._released.setdefault(contact.id, (contact, []))[1].append(name)
        self.log.let_go(held, HeldTurn.PAID)

    def on_discharged(self, _: Contact, discharged: Discharged) -> None:
        """An owner before us discharged it: if it is ours now, others may hold it too and must hear of it."""
        if discharged.cluster != self._election.cluster:
            return
        for held, places in self.log.pieces_in(discharged.discharged):
            ended = held if places == held.places else self.log.split(held, places)
            if self._arc_lease.is_mine(ended.key):
                self.discharge(ended)
            else:
                self.log.let_go(ended)

    # Time

    def tick(self) -> list[HeldParcel]:
        """See that everything held is where it belongs; returns what was looked at and is still held."""
        if self._step.tick % 2 == 0:
            self._tell(self._released, Discharged)
        if self._step.tick % _ERASE_EVERY_TICKS == 0:
            self._step.erase_now()
        looked_at: list[HeldParcel] = []
        if self._arc_lease.version != self.table:
            self.table = self._arc_lease.version
            self._begin_anew()
        asks: dict[NodeId, tuple[Contact, list[HeldParcel]]] = {}
        for tick, held in self._looks.due(self._step.tick):
            if held.is_held and held.look_tick == tick:
                for contact in self._due(held):
                    asks.setdefault(contact.id, (contact, []))[1].append(held)
                self.log.put_away(held)
                looked_at.append(held)
        for contact, several in asks.values():
            self._ask([contact], several)
        self._tell(self._questions, StillOwed)
        self.discharges.tick()
        return [held for held in looked_at if held.is_held]

    def _begin_anew(self) -> None:
        """A new table: no statement of a copy counts any more, and what it gives to several owners is cut apart."""
        me = self._step.me.id
        for held in self.log:
            held.turn(HeldTurn.NEW_TABLE)
            self._spool.release(held)
            held.held_by = {me: held.held_by[me]} if me in held.held_by else {}
            held.told_by, held.kept_tick, held.requests = None, -1_000, []
            for piece in self.log.cut_by_owner(held):
                self._look_at(piece, self._step.tick)

    def _look_soon(self, held: HeldParcel) -> None:
        held.kept_tick, held.requests = -1_000, []
        self._look_at(held, self._step.tick + 1)

    def _look_at(self, held: HeldParcel, tick: int) -> None:
        held.look_tick = self._looks.put(tick, held)

    def _tell(
        self, named: dict[NodeId, tuple[Contact, list[T]]], message: Callable[[ClusterId, tuple[T, ...]], Message]
    ) -> None:
        """Say something of many events to each of some members, and be done with it."""
        cluster = self._election.cluster
        if cluster is not None:
            for contact, ids in named.values():
                for i in range(0, len(ids), _IDS_PER_MESSAGE):
                    self._step.send(contact, message(cluster, tuple(ids[i : i + _IDS_PER_MESSAGE])))
        named.clear()

    def _due(self, held: HeldParcel) -> list[Contact]:
        """The members to ask now to hold it; also decides when to look at it again."""
        owner, me, tick = self._arc_lease.owner_of(held.key), self._step.me.id, self._step.tick
        if owner is None or held.is_asking:
            self._look_at(held, tick + 1)
            return []
        is_mine, is_stated = owner.id == me, held.is_held_by(owner.id)
        patience = self._config.retry_ticks + max([request.late_ticks for request in held.requests], default=0)
        if tick < held.kept_tick + patience and (is_mine or not is_stated):
            self._look_at(held, held.kept_tick + patience)
            return []
        lacking = None if is_mine else self._holders.lacking(held)
        if lacking == 0:
            self.log.let_go(held)
            return []
        is_replica = lacking is None and not is_mine
        has_owner = is_stated or owner.id == held.told_by
        if is_replica and has_owner:
            patience = _STALE_TICKS
        if tick < held.kept_tick + patience:
            self._look_at(held, held.kept_tick + patience)
            return []
        held.kept_tick, held.requests = tick, []
        if is_replica:
            self._look_at(held, tick + patience)
            if not has_owner:
                return [owner]
            question = (held.id, held.first.sequence, to_bitmap(held.places))
            self._questions.setdefault(owner.id, (owner, []))[1].append(question)
            return []
        missing = self._holders.missing(held)[:lacking]
        if missing or lacking is not None or held.refused_by or held.parcel is not None:
            # What lacks nothing, and is in the store alone, is looked at for what is said of it, or for a new table.
            self._look_at(held, tick + patience)
        held.refused_by.clear()
        return missing
