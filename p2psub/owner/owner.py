"""The owner of an arc: files the subscriptions of its keys, takes publishes, acknowledges copies, pays what is owed.

Events are acknowledged when enough members hold them with everything they owe. From then on they are undischarged until
every matched subscription has an outcome, whichever member is their owner by then. What is owed to no subscription and
kept for none is acknowledged at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import msgspec

from p2psub.admission.permits import Permits
from p2psub.admission.policy import Policy
from p2psub.admission.votes import Votes
from p2psub.config import PubSubConfig
from p2psub.matching.linear import matches
from p2psub.model.ages import older
from p2psub.model.bids import bid_or_none
from p2psub.model.content import DeclarationState, Order, Subscription
from p2psub.model.digests import digest_of_matches
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId, Process
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import StoreChange
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    CopyStored,
    Delivered,
    GivenBack,
    Obligation,
    OutcomeOf,
    OwedParcel,
    OwedPlaces,
    Publish,
    Routed,
    StoreCopy,
    StreamAck,
    WindowUpdate,
)
from p2psub.model.messages.shards import MatchResponse
from p2psub.model.outcomes import Outcome
from p2psub.model.parcel_parts import places_of
from p2psub.model.parcels import ParcelId
from p2psub.model.place_sets import bitmap_within, event_runs, from_bitmap, places_in, to_bitmap
from p2psub.model.places import Table
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.ways import PartBytes
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.collection import Collection
from p2psub.owner.dispatch import Dispatch
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.held_parcel import HeldParcel, HeldStage
from p2psub.owner.holders import Holders
from p2psub.owner.inquiries import Inquiries
from p2psub.owner.intake import Intake
from p2psub.owner.match_index import MatchIndex
from p2psub.owner.matchmaker import Gathering, Matchmaker
from p2psub.owner.owed_parcels import OwedParcels
from p2psub.owner.parcel_sorter import ParcelSorter
from p2psub.owner.payments import Payments
from p2psub.owner.retention import places_where
from p2psub.owner.settlements import Settlements
from p2psub.owner.spool import Spool
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler


@dataclass(frozen=True, slots=True)
class OwnerStatus:
    """What an owner shows of itself."""

    undischarged: int
    kept: tuple[EventId, ...]
    """The events that it holds, each once."""


class Owner:
    """What this member does for the subscriptions and events of its arc, and holds for other owners."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        tick_us: Micros,
        arc_lease: ArcLease,
        election: Election,
        holders: int,
        permits: Permits,
        policy: Policy,
        sealer: Sealer,
        sampler: TraceSampler,
        contact_of: Callable[[NodeId], Contact | None],
        has_in_outbox: Callable[[NodeId], bool],
        part_bytes: PartBytes,
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._spool = Spool(step.me.id, step.incarnation, config.spool_bytes_max)
        dispatch = Dispatch(step, election, contact_of, self._spool, part_bytes)
        self.match_index = MatchIndex(step, config, arc_lease, election, Votes(policy))
        self.shards = EmptyShards(step, config, arc_lease, election, self.match_index)
        self.matchmaker = Matchmaker(step, config, arc_lease, election, self.match_index, self.shards)
        by_table = Holders(step.me.id, config, arc_lease, holders)
        self.owed_parcels = OwedParcels(step, config, arc_lease, election, by_table, self._spool)
        self.inquiries = Inquiries(step, arc_lease, election, by_table, self.owed_parcels, has_in_outbox)
        self._collection = Collection(step, arc_lease, election, has_in_outbox)
        self._payments = Payments(step, config, tick_us, arc_lease, self.owed_parcels, dispatch, self._collection)
        self.settlements = Settlements(step, self._payments)
        self._intake = Intake(step, config, arc_lease, permits, sealer, self.matchmaker, self.owed_parcels)
        self.parcels = ParcelSorter(
            step, config, arc_lease, election, permits, self.match_index, self.shards, dispatch, sampler
        )

    def recover(self, heads: Mapping[int, object]) -> None:
        """Begin where our last incarnation ended: with what was durable."""
        self.owed_parcels.recover(heads)
        self.match_index.start()

    def status(self) -> OwnerStatus:
        events = [
            EventId(held.first.node, held.first.incarnation, held.first.sequence + place)
            for held in self.owed_parcels.log
            for place in places_in(held.places)
        ]
        return OwnerStatus(self.owed_parcels.log.count, tuple(dict.fromkeys(events)))

    # Subscriptions

    def adopt(self, table: Table) -> bool:
        """Obey a newer table from now on; False if we do not hold the index of the arc it gives us."""
        if not self.match_index.adopt(table):
            return False
        self._arc_lease.adopt(table)
        self.shards.forget()
        return True

    def on_store_change(self, peer: Contact, asked: StoreChange) -> None:
        """File a subscription, owe it what is retained if it is new and wants that, then vote."""
        filed = self.match_index.store(peer, asked)
        if filed is not None:
            record, keys, is_new = filed
            retained = self.replay(record) if is_new and record.replay else 0
            self.match_index.confirm(peer, asked, keys, retained)

    def replay(self, record: Subscription) -> int:
        """Owe a new subscription the retained events it matches (Hyper 3.1.1); returns how many."""
        if record.state is not DeclarationState.ACTIVE:
            return 0
        count, digest = 0, digest_of_matches([record.id])
        # It came later than they did: no deadline holds for them. A timeout does.
        bid = bid_or_none(msgspec.structs.replace(record.bid, deadline_us=0, penalty=0))
        owed = (Obligation(record.id, record.cluster, is_ordered=record.order is Order.PUBLISHER, bid=bid),)
        retained = self.owed_parcels.discharges.recent.wanted(
            lambda event: matches(record.filter, event), self._step.now
        )
        # They are retained as they were discharged, which may be in any order.
        for parcel, age in sorted(retained, key=lambda one: one[0].first):
            count += len(parcel.events)
            owed_parcel = OwedParcel(digest, parcel, age, owed, ((1, b""),), (), self._step.me)
            known = self.owed_parcels.places_known(owed_parcel.id, parcel.first, parcel.places)
            if known != parcel.places:
                for held in self.hold(owed_parcel, parcel.places & ~known, Kind.COPY):
                    self.owed_parcels.replicate(held)
        return count

    # Publish

    def on_publish(self, peer: Contact, publish: Publish) -> None:
        """Take what is ours and new; acknowledge again what is not new."""
        fresh, again = self._intake.sort(peer, publish)
        for held in again:
            self._note_copies(held)
        if fresh:
            self._store_all(self.matchmaker.gather(publish.parcel.part(fresh), publish.age_us, peer))

    def on_match_response(self, peer: Contact, said: MatchResponse) -> None:
        self._store_all(self.matchmaker.on_match_response(peer, said))

    def _store_all(self, matched: list[Gathering]) -> None:
        """Their matches are in: store what is owed or retained."""
        for gathering in matched:
            self._store(gathering)

    def _store(self, gathering: Gathering) -> None:
        parcel, vector = gathering.parcel, gathering.vector()
        age = older(gathering.age_us, self._step.now - gathering.started_us)
        by_count = gathering.places_by_matches()
        first, whole = gathering.first, gathering.places
        for count, places in by_count.items():
            for event, run in event_runs(first, places):
                self._step.record(Kind.MATCH, event=event, run=run, matched=count, guarantee=parcel.guarantee)
        unowed = by_count.pop(0, 0)
        retained = places_where(parcel, unowed, lambda event: event.retain_us > 0) if unowed else 0
        if retained:
            by_count[0] = retained
        gone = unowed & ~retained
        kept = None if not by_count else parcel.part(whole & ~gone) if gone else parcel
        if kept is not None:
            of_kept = places_of(kept)
            owed = gathering.owed(of_kept)
            matched = tuple([(count, bitmap_within(places, of_kept)) for count, places in by_count.items()])
            digest = digest_of_matches(gathering.matches)
            self._own(OwedParcel(digest, kept, age, owed, matched, vector, gathering.publisher))
        if gone:
            self._acknowledge_unowed(gathering, gone)

    def _own(self, owed_parcel: OwedParcel) -> None:
        for held in self.hold(owed_parcel, places_of(owed_parcel.parcel), Kind.STORE):
            held.asked_places = held.places
            self.owed_parcels.replicate(held)

    def _acknowledge_unowed(self, gathering: Gathering, places: int) -> None:
        """No subscription wants these events, and none will get them later: nothing needs a copy."""
        parcel = gathering.parcel
        self.owed_parcels.record_store(parcel.first, places, 0, gathering.vector())
        self.owed_parcels.discharges.conclude(parcel.first, places, 0, 0)
        self._step.send(gathering.publisher, Acknowledge(parcel.id, (Acknowledged(to_bitmap(places), 0, 0),)))

    # Copies

    def hold(self, owed_parcel: OwedParcel, places: int, kind: Kind) -> list[HeldParcel]:
        """Hold events that are owed; as soon as they are durable they count as a copy."""
        pieces = self.owed_parcels.take(owed_parcel, places)
        for held in pieces:
            self._payments.expect(held)
        self._step.when_durable(partial(self._stored, pieces, kind))
        return pieces

    def _stored(self, pieces: list[HeldParcel], kind: Kind) -> None:
        for held in self.owed_parcels.log.in_packs_of(pieces):
            self.owed_parcels.stored(held, kind)
            self._note_copies(held)

    def on_store_copy(self, peer: Contact, asked: StoreCopy) -> None:
        """Hold what another holder asks us to hold, and say so when it is durable."""
        fresh, held_now = self.owed_parcels.on_store_copy(peer, asked)
        if fresh:
            self._step.when_durable(partial(self._stored, fresh, Kind.COPY))
        if held_now:
            self._step.when_durable(partial(self._state_copies, peer, asked.cluster, held_now))

    def _state_copies(self, peer: Contact, cluster: ClusterId, held_now: list[OwedPlaces]) -> None:
        still: list[OwedPlaces] = []
        for id_, bitmap in held_now:
            places = from_bitmap(bitmap, self.owed_parcels.log.places_held(id_))
            if places:
                still.append((id_, to_bitmap(places)))
        if still:
            self._step.send(peer, CopyStored(cluster, tuple(still), self._arc_lease.version))

    def on_copy_stored(self, peer: Contact, stored: CopyStored) -> None:
        for held in self.owed_parcels.on_copy_stored(peer, stored):
            self._note_copies(held)

    def _note_copies(self, held: HeldParcel) -> None:
        """If it has its copies, its publisher is told, and what it owes is paid."""
        was_safe = held.stage is HeldStage.COPIED
        if self.owed_parcels.note_copies(held):
            self._acknowledge(held)
            if not held.owed:
                # Its publisher is answered from memory now, should the owner before us have died before it said so.
                self.owed_parcels.record_owned(held)
                self.owed_parcels.discharge(held)
            elif not was_safe:
                self.owed_parcels.record_owned(held)
                self._settle_in_vain(held)
                if held.owed:
                    self._payments.owe(held)
                    self._settle_late()

    def _acknowledge(self, held: HeldParcel) -> None:
        """Answer the publisher that waits for a word on it.

        Not without a lease: there may be more members by now than our table knows, and the bar for copies be higher.
        """
        asked = held.asked_places
        if asked and self._arc_lease.is_running:
            held.asked_places = 0
            self.owed_parcels.record_owned(held)
            self._step.send(held.publisher, Acknowledge(held.id.parcel, tuple(held.acknowledged(asked))))

    # What became of it

    def on_delivered(self, peer: Contact, delivered: Delivered) -> None:
        """A peer speaks for its own subscriptions alone."""
        own = [outcome for outcome in delivered.outcomes if outcome.subscription.node == peer.id]
        self._settle(delivered.parcel, own)
        self._take_acks(delivered.owner, [ack for ack in delivered.acks if ack.subscription.node == peer.id])

    def on_routed(self, peer: Contact, routed: Routed) -> None:
        """Our super-node speaks for all subscriptions; any other member could end what it does not like."""
        super_node = self._election.super_node
        if super_node is not None and super_node.id == peer.id:
            self._settle(routed.parcel, routed.outcomes)
            if self._is_us(routed.owner):
                self._payments.under_way(routed.under_way)
            self._take_acks(routed.owner, routed.acks)

    def on_window_update(self, peer: Contact, update: WindowUpdate) -> None:
        self._take_acks(update.owner, [ack for ack in update.acks if ack.subscription.node == peer.id])

    def _take_acks(self, owner: Process | None, acks: Iterable[StreamAck]) -> None:
        if self._is_us(owner):
            for id_, subscription, places in self._payments.on_acks(acks):
                taken = (OutcomeOf(subscription, Outcome.DELIVERED, to_bitmap(places)),)
                for held in self.owed_parcels.log.pieces_at(id_, places):
                    self._settle_piece(held, taken)
        self._flush()

    def _flush(self) -> None:
        self._payments.flush()
        self._settle_late()

    def _settle_late(self) -> None:
        """What was to leave, but too late."""
        for id_, subscription, places in self._payments.take_late():
            expired = (OutcomeOf(subscription, Outcome.EXPIRED, to_bitmap(places)),)
            for held in self.owed_parcels.log.pieces_at(id_, places):
                self._settle_piece(held, expired)

    def _is_us(self, owner: Process | None) -> bool:
        """The streams of an earlier start of ours had the same names and other numbers."""
        step = self._step
        return owner is not None and owner.contact.id == step.me.id and owner.incarnation == step.incarnation

    def _settle(self, parcel: ParcelId, outcomes: Iterable[OutcomeOf]) -> None:
        for held in list(self.owed_parcels.log.pieces_of(parcel)):
            self._settle_piece(held, outcomes)

    def _settle_piece(self, held: HeldParcel, outcomes: Iterable[OutcomeOf]) -> None:
        for said in outcomes:
            places, subscription = from_bitmap(said.bitmap, held.places), said.subscription
            if said.outcome is Outcome.DEFERRED:
                self._payments.refused(held.id, subscription, places)
                continue
            cluster, _ = held.owed.get(subscription, ("", 0))
            settled = held.settle(subscription, places)
            if settled:
                self.settlements.note(held, subscription, settled, said.outcome)
                self._spool.settle(held, ClusterId(cluster))
        if not held.owed and self.owed_parcels.note_copies(held):
            self.owed_parcels.discharge(held)

    def _settle_in_vain(self, held: HeldParcel) -> None:
        """End what is too old to be paid, and what is too late for those to whom it is owed."""
        if self._payments.is_overdue(held):
            gone = [OutcomeOf(id_, Outcome.UNREACHABLE, to_bitmap(held.places)) for id_ in held.owed]
        else:
            late = self._payments.late(held)
            gone = [OutcomeOf(id_, Outcome.EXPIRED, to_bitmap(places)) for id_, places in late]
        if gone:
            self._settle_piece(held, gone)

    def on_given_back(self, peer: Contact, given: GivenBack) -> None:
        if self._collection.on_given_back(peer, given):
            self._payments.collected()

    # Time

    def tick(self) -> None:
        """Repeat what was not answered, pay again what is still owed, give up what is older than its time."""
        self.match_index.tick()
        self.shards.tick()
        self._intake.tick()
        for gathering in self.matchmaker.tick():
            self._store_all(self.matchmaker.ask_again(gathering))
        self._payments.follow_table()
        for held in self.owed_parcels.tick():
            self._note_copies(held)
        self._collection.tick()
        for held in self._payments.overdue():
            if self.owed_parcels.note_copies(held):
                self._settle_in_vain(held)
        self._payments.tick()
        self._settle_late()
        for held, id_, places in self._spool.overflow():
            self._settle_piece(held, (OutcomeOf(id_, Outcome.SPOOL_FULL, to_bitmap(places)),))
        self._flush()
        self.settlements.books.tick()
