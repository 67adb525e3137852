"""The owner of an arc: files the subscriptions of its keys, takes publishes, acknowledges copies, pays what is owed.

Events are acknowledged when enough members hold them with everything they owe. From then on they are undischarged until
every matched subscription has an outcome, whichever member is their owner by then. What is owed to no subscription and
kept for none is acknowledged at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.admission.policy import Policy
from p2psub.config import PubSubConfig
from p2psub.matching.linear import matches
from p2psub.model.content import DeclarationState, Subscription, older
from p2psub.model.digests import digest_of_matches
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import StoreChange
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    CopyStored,
    Delivered,
    MatchResponse,
    Obligation,
    OutcomeOf,
    OwedParcel,
    OwedPlaces,
    Publish,
    Routed,
    StoreCopy,
)
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import ParcelId, bitmap_within, event_runs, from_bitmap, places_in, to_bitmap
from p2psub.model.places import Table
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.dispatch import Dispatch
from p2psub.owner.due_list import DueList
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.held_parcel import HeldParcel
from p2psub.owner.intake import Intake
from p2psub.owner.match_index import MatchIndex
from p2psub.owner.matchmaker import Gathering, Matchmaker
from p2psub.owner.owed_parcels import HeldPart, OwedParcels
from p2psub.owner.parcel_sorter import ParcelSorter
from p2psub.owner.retention import places_where
from p2psub.owner.spool import Spool
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from p2psub.parcels.trace_sampler import TraceSampler

_BACKOFF_MAX: Final = 5
_SPOOL_EVERY_TICKS: Final = 10


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
    ) -> None:
        self._step = step
        self._config = config
        self._tick_us = tick_us
        self._arc_lease = arc_lease
        self._spool = Spool(step.me.id, step.incarnation, config.spool_bytes_max)
        self._dispatch = Dispatch(step, election, contact_of, self._spool)
        self._payments: DueList[HeldParcel] = DueList()
        self.match_index = MatchIndex(step, config, arc_lease, election, policy)
        self.shards = EmptyShards(step, config, arc_lease, election, self.match_index)
        self.matchmaker = Matchmaker(step, config, arc_lease, election, self.match_index, self.shards)
        self.owed_parcels = OwedParcels(step, config, arc_lease, election, holders)
        self._intake = Intake(step, arc_lease, permits, sealer, self.matchmaker, self.owed_parcels)
        self.parcels = ParcelSorter(
            step, config, arc_lease, election, permits, self.match_index, self.shards, self._dispatch, sampler
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
            retained = self.replay(filed.record) if filed.is_new and filed.record.replay else 0
            self.match_index.confirm(peer, asked, retained)

    def replay(self, record: Subscription) -> int:
        """Owe a new subscription the retained events it matches (Hyper 3.1.1); returns how many."""
        if record.state is not DeclarationState.ACTIVE:
            return 0
        count, digest = 0, digest_of_matches([record.id])
        owed = (Obligation(record.id, record.cluster),)
        retained = self.owed_parcels.discharges.recent.wanted(
            lambda event: matches(record.filter, event), self._step.now
        )
        for parcel, age in retained:
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
            self._acknowledge_if_copied(held, again=True)
        if fresh:
            part = publish.parcel.part(fresh)
            self._store_if_matched(self.matchmaker.gather(part, publish.age_us, peer))

    def on_match_response(self, peer: Contact, said: MatchResponse) -> None:
        self._store_if_matched(self.matchmaker.on_match_response(peer, said))

    def _store_if_matched(self, gathering: Gathering | None) -> None:
        """If all matches are in, store the events that are owed or retained with what they owe."""
        if gathering is None:
            return
        parcel, vector = gathering.parcel, gathering.vector()
        age = older(gathering.age_us, self._step.now - gathering.started_us)
        by_count = _by_count(gathering)
        for count, places in by_count.items():
            for event, run in event_runs(parcel.first, places):
                self._step.record(Kind.MATCH, event=event, run=run, matched=count, guarantee=parcel.guarantee)
        unowed = by_count.pop(0, 0)
        retained = places_where(parcel, unowed, lambda event: event.retain_us > 0) if unowed else 0
        if retained:
            by_count[0] = retained
        kept = parcel.part(parcel.places & ~(unowed & ~retained)) if by_count else None
        if kept is not None:
            whole = kept.places
            owed = [Obligation(id_, c, bitmap_within(p, whole)) for id_, (c, p) in gathering.matches.items()]
            matched = tuple([(count, bitmap_within(places, whole)) for count, places in by_count.items()])
            digest = digest_of_matches(gathering.matches)
            self._own(OwedParcel(digest, kept, age, tuple(owed), matched, vector, gathering.publisher))
        if unowed & ~retained:
            self._acknowledge_unowed(gathering, unowed & ~retained)

    def _own(self, owed_parcel: OwedParcel) -> None:
        for held in self.hold(owed_parcel, owed_parcel.parcel.places, Kind.STORE):
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
        self._step.when_durable(partial(self._stored, pieces, kind))
        return pieces

    def _stored(self, pieces: list[HeldParcel], kind: Kind) -> None:
        for held in self.owed_parcels.log.in_packs_of(pieces):
            self.owed_parcels.stored(held, kind)
            held.due_tick = self._payments.put(self._step.tick + 1, held)
            self._copied(held)

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
            self._copied(held)

    def _copied(self, held: HeldParcel) -> None:
        """One more durable copy."""
        if not self._arc_lease.is_mine(held.key):
            return
        self._acknowledge_if_copied(held)
        is_due = not held.dispatches or held.due_tick <= self._step.tick
        if is_due and self.owed_parcels.has_copies(held):
            self._tend(held)

    def _acknowledge_if_copied(self, held: HeldParcel, again: bool = False) -> None:
        asked = held.asked_places
        if asked and (again or not held.is_acknowledged) and self.owed_parcels.has_copies(held):
            held.is_acknowledged = True
            self.owed_parcels.record_owned(held)
            self._step.send(held.publisher, Acknowledge(held.id.parcel, tuple(held.acknowledged(asked))))

    # Paying what is owed

    def _tend(self, held: HeldParcel) -> None:
        """Pay what is due, if it is ours to pay and safe."""
        if not held.is_held or not self._arc_lease.is_mine(held.key):
            return
        if not self.owed_parcels.has_copies(held):
            held.due_tick = self._payments.put(self._step.tick + 1, held)
        elif self._is_overdue(held):
            places = held.places
            outcomes = [OutcomeOf(id_, Outcome.UNREACHABLE, to_bitmap(places)) for id_ in held.owed]
            self._settle_piece(held, outcomes)
        else:
            self._pay(held)

    def _pay(self, held: HeldParcel) -> None:
        self.owed_parcels.record_owned(held)
        if not held.owed:
            self.owed_parcels.discharge(held)
            return
        held.dispatches += 1
        patience = self._config.redeliver_ticks * min(held.dispatches, _BACKOFF_MAX)
        self._pay_at(held, self._step.tick + patience)
        self.owed_parcels.with_parcels([held], self._send_what_is_owed)

    def _send_what_is_owed(self, several: list[HeldPart]) -> None:
        for held, parcel in several:
            debts = [(id_, cluster, places) for id_, (cluster, places) in held.owed.items()]
            self._dispatch.send(Shipment(parcel), held.age_us(self._step.now), debts, held.dispatches > 1)

    def _pay_at(self, held: HeldParcel, tick: int) -> None:
        """Pay again at that tick, or when it is time to give up."""
        left_us = self._config.undelivered_ttl_us - held.age_us(self._step.now)
        tick = min(tick, self._step.tick + max(0, left_us) // self._tick_us + 1)
        held.due_tick = self._payments.put(tick, held)

    def _is_overdue(self, held: HeldParcel) -> bool:
        return held.age_us(self._step.now) > self._config.undelivered_ttl_us

    def on_delivered(self, peer: Contact, delivered: Delivered) -> None:
        """A peer speaks for its own subscriptions alone."""
        own = [outcome for outcome in delivered.outcomes if outcome.subscription.node == peer.id]
        self._settle(delivered.parcel, own)

    def on_routed(self, _: Contact, routed: Routed) -> None:
        self._settle(routed.parcel, routed.outcomes)

    def _settle(self, parcel: ParcelId, outcomes: Iterable[OutcomeOf]) -> None:
        for held in list(self.owed_parcels.log.pieces_of(parcel)):
            self._settle_piece(held, outcomes)

    def _settle_piece(self, held: HeldParcel, outcomes: Iterable[OutcomeOf]) -> None:
        for said in outcomes:
            places = from_bitmap(said.bitmap, held.places)
            if said.outcome is Outcome.DEFERRED:
                if places and held.due_tick > self._step.tick + self._config.retry_ticks:
                    self._pay_at(held, self._step.tick + self._config.retry_ticks)
                continue
            for event, run in held.runs(held.settle(said.subscription, places)):
                self._step.record(
                    Kind.OUTCOME, event=event, run=run, subscription=said.subscription, outcome=said.outcome
                )
        if not held.owed and self._arc_lease.is_mine(held.key) and self.owed_parcels.has_copies(held):
            self.owed_parcels.discharge(held)

    # Time

    def tick(self) -> None:
        """Repeat what was not answered, pay again what is still owed, give up what is older than its time."""
        self.match_index.tick()
        self.shards.tick()
        for gathering in self.matchmaker.tick():
            self._store_if_matched(self.matchmaker.ask_again(gathering))
        for held in self.owed_parcels.tick():
            held.due_tick = self._payments.put(max(held.due_tick, self._step.tick), held)
        for tick, held in self._payments.due(self._step.tick):
            if held.due_tick == tick:
                self._tend(held)
        if self._step.tick % _SPOOL_EVERY_TICKS == 0:
            mine = [held for held in self.owed_parcels.log if self._arc_lease.is_mine(held.key)]
            for held, id_, places in self._spool.overflow(mine):
                self._settle_piece(held, (OutcomeOf(id_, Outcome.SPOOL_FULL, to_bitmap(places)),))


def _by_count(gathering: Gathering) -> dict[int, int]:
    """By the number of subscriptions that want an event, the places of such events.

    All places are counted at once: the counters stand upright, a plane of bits for each power of two.
    """
    planes: list[int] = []
    for _, carry in gathering.matches.values():
        for power, plane in enumerate(planes):
            planes[power], carry = plane ^ carry, plane & carry  # noqa: PLW2901, as in a ripple-carry adder
        if carry:
            planes.append(carry)
    by_count = {0: gathering.parcel.places}
    for power, plane in enumerate(planes):
        split = {count + (1 << power): places & plane for count, places in by_count.items() if places & plane}
        by_count = {count: places & ~plane for count, places in by_count.items() if places & ~plane} | split
    return by_count
