"""The owner's side of parcels: the owner of the topics, and of a wildcard shard, pass events on to their subscribers.

Each hop is made once. An owner keeps no parcel; what it cannot pass on it says in the trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.matching.matcher import Wanted
from p2psub.model.bids import is_late
from p2psub.model.content import Event, Guarantee
from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import ParcelToOwner
from p2psub.model.messages.shards import ParcelToShard
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.seals import Leaf
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.dispatch import Debt, Dispatch
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.match_index import MatchIndex
from p2psub.parcels.replay_window import ReplayWindows
from p2psub.parcels.shipment import Shipment, by_topic, places_of_indexes
from p2psub.parcels.trace_sampler import TraceSampler


class ParcelSorter:
    """Parcels between their publisher and their subscribers."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        election: Election,
        permits: Permits,
        match_index: MatchIndex,
        shards: EmptyShards,
        dispatch: Dispatch,
        sampler: TraceSampler,
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._permits = permits
        self._match_index = match_index
        self._shards = shards
        self._dispatch = dispatch
        self._sampler = sampler
        self._windows = ReplayWindows(step)

    # The topics' owner

    def on_parcel_to_owner(self, peer: Contact, sent: ParcelToOwner) -> None:
        """Pass a publisher's own events on to the subscribers that want them."""
        shipment = Shipment(sent.parcel, sent.leaves)
        parcel, events = sent.parcel, sent.parcel.events
        if parcel.bitmap or not self._is_ours_to_sort(shipment) or events[0].id.node != peer.id:
            self._drop(Reason.FOREIGN_EVENT, len(events), peer)
            return
        if not self._windows.is_new(parcel, peer, peer.id, None):
            return
        rights, wanted, taken = self._permits.of(peer.id), Wanted(), list[int]()
        for topic, indexes in by_topic(events).items():
            key = events[indexes[0]].key
            if not rights.may_publish(topic):
                self._drop(Reason.NOT_AUTHORIZED, len(indexes), peer)
            elif not self._arc_lease.serves(key):
                self._drop(Reason.NOT_OWNER, len(indexes), peer)
            else:
                self._match_index.match_many(key, events, indexes, wanted)
                taken += indexes
        if taken:
            self._try_shards(shipment, sorted(taken), wanted, sent.age_us)
            self._record_matches(events, taken, wanted)
            self._hand_out(shipment, wanted, sent.age_us)

    def _is_ours_to_sort(self, shipment: Shipment) -> bool:
        return shipment.is_sound() and shipment.parcel.guarantee is Guarantee.AT_MOST_ONCE

    def _try_shards(self, shipment: Shipment, taken: list[int], wanted: Wanted, age_us: Micros) -> None:
        """Subscriptions that want these events whatever their topic: match them here, or have them matched."""
        for shard in range(self._config.shards):
            key = self._match_index.shard_key(shard)
            if self._arc_lease.serves(key):
                self._match_index.match_many(key, shipment.parcel.events, taken, wanted)
            elif not self._shards.has(shard):
                part = shipment.part(places_of_indexes(taken, shipment.parcel))
                self._send_to_shard(shard, part, shipment.leaves, age_us)

    def _send_to_shard(self, shard: int, parcel: Parcel, leaves: tuple[Leaf, ...], age_us: Micros) -> None:
        owner, cluster = self._arc_lease.owner_of(self._match_index.shard_key(shard)), self._election.cluster
        if owner is None or owner.id == self._step.me.id or cluster is None:
            self._drop(Reason.SHARD_UNREACHABLE, len(parcel.events))
            return
        self._shards.ask(shard)
        self._step.send(owner, ParcelToShard(cluster, shard, parcel, leaves, age_us))

    # A shard's owner

    def on_parcel_to_shard(self, peer: Contact, sent: ParcelToShard) -> None:
        """Pass events on to the subscribers that want them in a shard of ours."""
        shipment, shard = Shipment(sent.parcel, sent.leaves), sent.shard
        parcel, events = sent.parcel, sent.parcel.events
        if not 0 <= shard < self._config.shards or not self._is_ours_to_sort(shipment):
            self._drop(Reason.FOREIGN_EVENT, len(events), peer)
            return
        key = self._match_index.shard_key(shard)
        if sent.cluster != self._election.cluster or not self._arc_lease.serves(key):
            self._drop(Reason.NOT_OWNER, len(events), peer)
        elif self._windows.is_new(parcel, peer, peer.id, shard):
            wanted, indexes = Wanted(), list(range(len(events)))
            self._match_index.match_many(key, events, indexes, wanted)
            self._record_matches(events, indexes, wanted)
            self._hand_out(shipment, wanted, sent.age_us)

    # Both of them

    def _record_matches(self, events: Sequence[Event], taken: list[int], wanted: Wanted) -> None:
        for number in self._sampler.sample(Kind.MATCH, [events[index] for index in taken]):
            index = taken[number]
            count = sum(indexes.count(index) for indexes in wanted.values())
            self._step.record(Kind.MATCH, event=events[index].id, matched=count, guarantee=Guarantee.AT_MOST_ONCE)

    def _hand_out(self, shipment: Shipment, wanted: Wanted, age_us: Micros) -> None:
        parcel = shipment.parcel
        debts: list[Debt] = []
        for id_, indexes in wanted.items():
            owed, places = self._match_index.obligation(id_), places_of_indexes(indexes, parcel)
            if is_late(age_us, parcel.timeout_us, 0 if owed.bid is None else owed.bid.deadline_us):
                self._step.record(Kind.DROP, subscription=id_, reason=Reason.EXPIRED, count=places.bit_count())
            else:
                debts.append((owed.cluster, (id_, places, 0, 0, owed.bid)))
        self._dispatch.send(shipment, age_us, debts)

    def _drop(self, reason: Reason, count: int, peer: Contact | None = None) -> None:
        self._step.record(Kind.DROP, peer=None if peer is None else peer.id, reason=reason, count=count)
