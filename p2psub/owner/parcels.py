"""Events that promise nothing, straight through: publisher, owner, subscriber, each hop once and in parcels.

What many events share is done once for all of them: the signature, the look at rights and table, the message. Nobody
keeps, acknowledges or repeats a parcel; whoever cannot pass it on says so in the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.matching.matcher import Wanted
from p2psub.model.batches import batches_of
from p2psub.model.content import Event, Guarantee, Timed
from p2psub.model.digests import content_bytes, content_hash
from p2psub.model.ids import Contact, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Obligation, Parcel, ParcelToOwner, ParcelToShard, ParcelToSubscriber
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.seals import BATCH_MAX, Leaf
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.match_index import MatchIndex
from p2psub.owner.topic_owner import TopicOwner
from p2psub.parcels.replay_window import ReplayWindow
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements
from p2psub.subscriber.subscriber import Subscriber

PARCEL_BYTES_MAX: Final = 128 * 1024
"""With one more event, the largest, it is well below what a frame takes."""

_WANTS_MAX: Final = 1 << 12
"""Subscriptions of one peer that share a message."""

_WINDOWS_MAX: Final = 1 << 14
"""Streams whose numbers are remembered. Links repeat nothing, so it is a second guard that forgets here."""


class Parcels:
    """All three ends of a stream."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        election: Election,
        permits: Permits,
        match_index: MatchIndex,
        shards: EmptyShards,
        topic_owner: TopicOwner,
        subscriber: Subscriber,
        advertisements: Advertisements,
        sealer: Sealer,
        sampler: TraceSampler,
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._permits = permits
        self._match_index = match_index
        self._shards = shards
        self._topic_owner = topic_owner
        self._subscriber = subscriber
        self._advertisements = advertisements
        self._sealer = sealer
        self._sampler = sampler
        self._number = 0
        self._fresh: list[Event] = []
        self._windows: dict[tuple[object, ...], ReplayWindow] = {}

    # The publisher

    def publish(self, events: list[Event]) -> tuple[PublishOutcome, ...]:
        """Take events of our own; they leave at the end of the step."""
        rights = self._permits.of(self._step.me.id)
        topics = dict.fromkeys(event.topic for event in events)
        unauthorized = {topic for topic in topics if not rights.may_publish(topic)}
        for event in self._sampler.sample(Kind.PUBLISH, events):
            self._step.record(Kind.PUBLISH, event=event.id, digest=content_hash(event), published=event)
        if not unauthorized and self._advertisements.is_free:
            self._fresh += events
            return tuple([PublishOutcome(event.id) for event in events])
        outcomes = tuple([PublishOutcome(event.id, refused=self._refusal(event, unauthorized)) for event in events])
        self._fresh += [event for event, outcome in zip(events, outcomes, strict=True) if outcome.refused is None]
        for reason, count in Counter([outcome.refused for outcome in outcomes if outcome.refused]).items():
            self._drop(reason, count)
        return outcomes

    def _refusal(self, event: Event, unauthorized: set[str]) -> Reason | None:
        if event.topic in unauthorized:
            return Reason.NOT_AUTHORIZED
        return None if self._advertisements.keeps_rate(event) else Reason.ABOVE_RATE

    def flush(self) -> None:
        """Send what was published in this step: to every owner its parcels."""
        if not self._fresh:
            return
        events, self._fresh = self._fresh, []
        by_owner: dict[NodeId, tuple[Contact, list[Event]]] = {}
        for indexes in _by_topic(events).values():
            owner = self._arc_lease.owner_of(events[indexes[0]].key)
            if owner is None:
                self._drop(Reason.NO_OWNER, len(indexes))
                continue
            by_owner.setdefault(owner.id, (owner, []))[1].extend([events[index] for index in indexes])
        for owner, owned in by_owner.values():
            contents = [content_bytes(event) for event in owned]
            for some in _cut(contents):
                self._send_parcel(owner, owned[some], contents[some])

    def _send_parcel(self, owner: Contact, events: list[Event], contents: list[bytes]) -> None:
        self._number += 1
        tree = self._sealer.tree(contents)
        parcel = Parcel(self._number, tuple(events), len(events), signature=self._sealer.sign(tree, self._number))
        self._step.send(owner, ParcelToOwner(parcel, () if tree is None else tree.leaves))

    # The owner

    def on_parcel_to_owner(self, peer: Contact, stream: ParcelToOwner) -> None:
        """Pass a publisher's own events on to whoever wants them."""
        shipment = Shipment(stream.parcel, stream.leaves)
        parcel, events = stream.parcel, stream.parcel.events
        if parcel.places or not shipment.is_sound() or events[0].id.node != peer.id:
            self._drop(Reason.FOREIGN_EVENT, len(events), peer)
            return
        if not self._is_new(parcel, peer, None):
            return
        rights, wanted, taken = self._permits.of(peer.id), Wanted(), list[int]()
        for topic, indexes in _by_topic(events).items():
            key = events[indexes[0]].key
            if not rights.may_publish(topic):
                self._drop(Reason.NOT_AUTHORIZED, len(indexes), peer)
            elif not self._arc_lease.serves(key):
                self._drop(Reason.NOT_OWNER, len(indexes), peer)
            else:
                self._match_index.match_many(key, events, indexes, wanted)
                taken += indexes
        if taken:
            self._try_shards(shipment, sorted(taken), wanted)
            self._record_matches(events, taken, wanted)
            self._hand_out(shipment, wanted)

    def _try_shards(self, shipment: Shipment, taken: list[int], wanted: Wanted) -> None:
        """Whoever wants these events whatever their topic: match them here, or have them matched."""
        for shard in range(self._config.shards):
            key = self._match_index.shard_key(shard)
            if self._arc_lease.serves(key):
                self._match_index.match_many(key, shipment.parcel.events, taken, wanted)
            elif not self._shards.has(shard):
                self._send_to_shard(shard, shipment.part(taken), shipment.leaves)

    def _send_to_shard(self, shard: int, parcel: Parcel, leaves: tuple[Leaf, ...]) -> None:
        owner, cluster = self._arc_lease.owner_of(self._match_index.shard_key(shard)), self._election.cluster
        if owner is None or owner.id == self._step.me.id or cluster is None:
            self._drop(Reason.SHARD_UNREACHABLE, len(parcel.events))
            return
        self._shards.ask(shard)
        self._step.send(owner, ParcelToShard(cluster, shard, parcel, leaves))

    def on_parcel_to_shard(self, peer: Contact, stream: ParcelToShard) -> None:
        """Pass events on to whoever wants them in a shard of ours."""
        shipment, shard = Shipment(stream.parcel, stream.leaves), stream.shard
        parcel, events = stream.parcel, stream.parcel.events
        if not 0 <= shard < self._config.shards or not shipment.is_sound():
            self._drop(Reason.FOREIGN_EVENT, len(events), peer)
            return
        key = self._match_index.shard_key(shard)
        if stream.cluster != self._election.cluster or not self._arc_lease.serves(key):
            self._drop(Reason.NOT_OWNER, len(events), peer)
        elif self._is_new(parcel, peer, shard):
            wanted, indexes = Wanted(), list(range(len(events)))
            self._match_index.match_many(key, events, indexes, wanted)
            self._record_matches(events, indexes, wanted)
            self._hand_out(shipment, wanted)

    def _record_matches(self, events: Sequence[Event], taken: list[int], wanted: Wanted) -> None:
        for event in self._sampler.sample(Kind.MATCH, [events[index] for index in taken]):
            count = sum(events[index] is event for indexes in wanted.values() for index in indexes)
            self._step.record(Kind.MATCH, event=event.id, matched=count, guarantee=Guarantee.AT_MOST_ONCE)

    def _hand_out(self, shipment: Shipment, wanted: Wanted) -> None:
        """One message to every peer of our cluster that wants some of it; what others want, by our super-node."""
        by_peer: dict[NodeId, tuple[Contact, list[tuple[SubscriptionId, list[int]]]]] = {}
        afar: dict[int, list[Obligation]] = {}
        for id_, indexes in wanted.items():
            cluster = self._match_index.cluster_of(id_)
            contact = self._topic_owner.contact_in(cluster, id_.node)
            if contact is not None:
                by_peer.setdefault(contact.id, (contact, []))[1].append((id_, indexes))
                continue
            for index in indexes:
                afar.setdefault(index, []).append(Obligation(id_, cluster))
        for contact, wants in by_peer.values():
            for some in batches_of(wants, weight_of_want, _WANTS_MAX):
                self._step.send(contact, shipment.delivery(some))
        for index, owed in sorted(afar.items()):
            self._topic_owner.route(Timed(shipment.event(index), Micros(0)), owed)

    # The subscriber

    def on_parcel_to_subscriber(self, peer: Contact, deliver: ParcelToSubscriber) -> None:
        """Hand over what is new and genuine."""
        parcel = deliver.parcel
        if not Shipment(parcel, ()).is_sound() or not self._sealer.is_genuine_parcel(parcel):
            self._drop(Reason.BAD_SIGNATURE, len(parcel.events), peer)
            return
        for id_, indexes in deliver.wanted:
            if indexes and (max(indexes) >= len(parcel.events) or len(set(indexes)) < len(indexes)):
                self._drop(Reason.NO_SUCH_EVENT, len(indexes), peer)
            elif self._is_new(parcel, peer, id_):
                events = [parcel.events[index] for index in indexes] if indexes else list(parcel.events)
                self._subscriber.take_parcel(id_, events)

    # All of them

    def _is_new(self, parcel: Parcel, peer: Contact, what_for: SubscriptionId | int | None) -> bool:
        """Whether a parcel comes for the first time: for a subscription from anybody, else from this peer."""
        first = parcel.events[0].id
        sender = None if isinstance(what_for, SubscriptionId) else peer.id
        name = (first.node, first.incarnation, sender, what_for)
        window = self._windows.pop(name, None) or ReplayWindow()
        # Last in the order of use, so the first is who was silent for longest.
        self._windows[name] = window
        if len(self._windows) > _WINDOWS_MAX:
            del self._windows[next(iter(self._windows))]
        if window.takes(parcel.number):
            return True
        self._step.record(Kind.DUPLICATE, peer=peer.id, reason=Reason.PARCEL_REPEATED, count=len(parcel.events))
        return False

    def _drop(self, reason: Reason, count: int, peer: Contact | None = None) -> None:
        self._step.record(Kind.DROP, peer=None if peer is None else peer.id, reason=reason, count=count)


def weight_of_want(want: tuple[SubscriptionId, list[int]]) -> int:
    """Bytes on a link of who wants which events of a parcel, or a few more."""
    return 64 + 3 * len(want[1])


def _by_topic(events: Iterable[Event]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        by_topic.setdefault(event.topic, []).append(index)
    return by_topic


def _cut(contents: list[bytes]) -> list[slice]:
    """Into parcels, by count and by size."""
    parcels: list[slice] = []
    first = size = 0
    for index, content in enumerate(contents):
        if size >= PARCEL_BYTES_MAX or index - first == BATCH_MAX:
            parcels.append(slice(first, index))
            first, size = index, 0
        size += len(content)
    return [*parcels, slice(first, len(contents))]
