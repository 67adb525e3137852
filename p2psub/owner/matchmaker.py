"""The owner of topics gathers the matches of events: from its own index, and from the wildcard shards' owners.

Events are stored only with their matches, so they are never matched again: what is owed travels with them. Those of one
publisher are stored in the order in which they came: an answer that is late holds up what came after.
"""

from __future__ import annotations

from typing import Final

from p2psub.config import PubSubConfig
from p2psub.matching.matcher import Wanted
from p2psub.model.bids import Bid
from p2psub.model.changes import Vector
from p2psub.model.content import Event
from p2psub.model.ids import ClusterId, Contact, EventId, Key, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Obligation
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.model.parcel_parts import first_of, places_of
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import all_places, bitmap_within, from_bitmap, places_at, places_in, union_of
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.model.vectors import lowest_common
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.match_index import MatchIndex
from p2psub.parcels.shipment import by_topic, places_of_indexes

_PATIENCE: Final = 2
"""Ticks after which a silent shard is asked again. A guess: a heartbeat."""


class Gathering:
    """Events of a parcel whose matches are not all in yet."""

    __slots__ = (
        "age_us",
        "asked_tick",
        "bids",
        "claims",
        "first",
        "keys",
        "matches",
        "number",
        "ordered",
        "parcel",
        "places",
        "publisher",
        "shards",
        "started_us",
    )

    def __init__(
        self,
        number: int,
        parcel: Parcel,
        keys: tuple[Key, ...],
        publisher: Contact,
        age_us: Micros,
        started_us: Micros,
        asked_tick: int,
        shards: dict[int, Transmission | None],
    ) -> None:
        self.number = number
        self.parcel = parcel
        self.first = first_of(parcel)
        self.places = places_of(parcel)
        self.keys = keys
        self.publisher = publisher
        self.age_us = age_us
        self.started_us = started_us
        self.asked_tick = asked_tick
        self.shards = shards
        """Those without an answer, and what became of the last request, if their owner is known."""
        self.matches: dict[SubscriptionId, tuple[ClusterId, int]] = {}
        """The places of the events that a subscription wants."""
        self.ordered: dict[SubscriptionId, None] = {}
        """The subscriptions that get events in the order of their publishers."""
        self.bids: dict[SubscriptionId, Bid] = {}
        """Of the subscriptions that do not bid what all bid."""
        self.claims: list[Vector] = []

    def vector(self) -> Vector:
        """The changes that every index asked is known to hold."""
        return lowest_common(self.claims)

    def places_by_matches(self) -> dict[int, int]:
        """By the number of subscriptions that want an event, the places of such events.

        All places are counted at once: the counters stand upright, a plane of bits for each power of two.
        """
        planes: list[int] = []
        for _, carry in self.matches.values():
            for power, plane in enumerate(planes):
                planes[power], carry = plane ^ carry, plane & carry  # noqa: PLW2901, as in a ripple-carry adder
            if carry:
                planes.append(carry)
        by_count = {0: self.places}
        for power, plane in enumerate(planes):
            split = {count + (1 << power): places & plane for count, places in by_count.items() if places & plane}
            by_count = {count: places & ~plane for count, places in by_count.items() if places & ~plane} | split
        return by_count

    def add(self, owed: Obligation, places: int) -> None:
        subscription = owed.subscription
        known = self.matches.get(subscription)
        self.matches[subscription] = (owed.cluster, places if known is None else places | known[1])
        if owed.is_ordered:
            self.ordered[subscription] = None
        if owed.bid is not None:
            self.bids[subscription] = owed.bid

    def owed(self, whole: int) -> tuple[Obligation, ...]:
        """To whom which of some events are owed."""
        return tuple(
            [
                Obligation(id_, cluster, bitmap_within(places, whole), id_ in self.ordered, self.bids.get(id_))
                for id_, (cluster, places) in self.matches.items()
            ]
        )


class Matchmaker:
    """Events on their way from `publish` to the store."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        election: Election,
        match_index: MatchIndex,
        shards: EmptyShards,
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._match_index = match_index
        self._shards = shards
        self._number = 0
        self._gathering: dict[int, Gathering] = {}
        self._by_publisher: dict[NodeId, dict[int, Gathering]] = {}

    def places_of(self, parcel: ParcelId) -> int:
        """The events of a parcel whose matches are being gathered."""
        of_publisher = self._by_publisher.get(parcel.node)
        if of_publisher is None:
            return 0
        return union_of([one.places for one in of_publisher.values() if one.parcel.id == parcel])

    def has(self, event: EventId) -> bool:
        """Whether the matches of an event are being gathered."""
        for gathering in self._by_publisher.get(event.node, {}).values():
            first = gathering.first
            place = event.sequence - first.sequence
            if first.incarnation == event.incarnation and place >= 0 and gathering.places >> place & 1:
                return True
        return False

    def gather(self, parcel: Parcel, age_us: Micros, publisher: Contact) -> list[Gathering]:
        """Find the subscriptions that want the events; returns all events of their publisher that can be stored now."""
        topics, events = by_topic(parcel.events), parcel.events
        keys = tuple([events[indexes[0]].key for indexes in topics.values()])
        silent = [shard for shard in range(self._config.shards) if not self._shards.has(shard)]
        shards: dict[int, Transmission | None] = dict.fromkeys(silent)
        self._number += 1
        now, tick = self._step.now, self._step.tick
        gathering = Gathering(self._number, parcel, keys, publisher, age_us, now, tick, shards)
        self._gathering[self._number] = gathering
        self._by_publisher.setdefault(publisher.id, {})[self._number] = gathering
        gathering.claims.append(self._arc_lease.claims)
        wanted = Wanted()
        for key, indexes in zip(keys, topics.values(), strict=True):
            self._match_index.match_many(key, events, indexes, wanted)
        self._add(gathering, wanted)
        for shard in list(shards):
            self._ask(gathering, shard)
        return self._finished(gathering)

    def _add(self, gathering: Gathering, wanted: Wanted) -> None:
        for id_, indexes in wanted.items():
            gathering.add(self._match_index.obligation(id_), places_of_indexes(indexes, gathering.parcel))

    def _ask(self, gathering: Gathering, shard: int) -> None:
        key, events = self._match_index.shard_key(shard), gathering.parcel.events
        owner, cluster = self._arc_lease.owner_of(key), self._election.cluster
        if self._arc_lease.serves(key):
            wanted = Wanted()
            self._match_index.match_many(key, events, list(range(len(events))), wanted)
            self._add(gathering, wanted)
            self._close_shard(gathering, shard, self._arc_lease.claims)
        elif owner is not None and cluster is not None:
            request = MatchRequest(cluster, shard, gathering.number, tuple([_without_body(e) for e in events]))
            gathering.shards[shard] = self._step.send_followed(owner, request)

    def _close_shard(self, gathering: Gathering, shard: int, claims: Vector) -> None:
        gathering.shards.pop(shard, None)
        gathering.claims.append(claims)

    def _finished(self, gathering: Gathering) -> list[Gathering]:
        """What is over: no shard is left to ask for it, nor for anything before it of the same publisher.

        Without a lease nothing is: the indexes that were asked may lack subscriptions by now that others count on.
        """
        over: list[Gathering] = []
        if gathering.number in self._gathering and self._arc_lease.is_running:
            for earliest in self._by_publisher[gathering.publisher.id].values():
                if earliest.shards:
                    break
                over.append(earliest)
        for one in over:
            self._forget(one)
        return over

    def _forget(self, gathering: Gathering) -> None:
        del self._gathering[gathering.number]
        of_publisher = self._by_publisher[gathering.publisher.id]
        del of_publisher[gathering.number]
        if not of_publisher:
            del self._by_publisher[gathering.publisher.id]

    def on_match_request(self, peer: Contact, request: MatchRequest) -> None:
        """Answer for a wildcard shard, if it is ours; an owner that hears nothing asks again."""
        if not 0 <= request.shard < self._config.shards:
            return
        key, events = self._match_index.shard_key(request.shard), request.events
        if request.cluster != self._election.cluster or not self._arc_lease.serves(key):
            return
        wanted, whole = Wanted(), all_places(len(events))
        self._match_index.match_many(key, events, list(range(len(events))), wanted)
        owed = self._match_index.obligation
        matches = tuple([owed(id_, bitmap_within(places_at(indexes), whole)) for id_, indexes in wanted.items()])
        is_empty = not matches and self._match_index.lease_empty(request.shard)
        response = MatchResponse(
            request.cluster, request.shard, request.number, matches, self._arc_lease.claims, is_empty
        )
        self._step.send(peer, response)

    def on_match_response(self, peer: Contact, response: MatchResponse) -> list[Gathering]:
        """Take a shard's matches; returns what can be stored by that."""
        gathering = self._gathering.get(response.number)
        if gathering is None or response.shard not in gathering.shards:
            return []
        if response.empty:
            self._shards.lease(peer, response.shard, gathering.started_us)
        whole, parcel = all_places(len(gathering.parcel.events)), gathering.parcel
        for match in response.matches:
            places = places_of_indexes(places_in(from_bitmap(match.bitmap, whole)), parcel)
            if places:
                gathering.add(match, places)
        self._close_shard(gathering, response.shard, response.vector)
        return self._finished(gathering)

    def ask_again(self, gathering: Gathering) -> list[Gathering]:
        """Ask the shards that are silent; returns what can be stored by that."""
        gathering.asked_tick = self._step.tick
        for shard in self._due(gathering):
            self._ask(gathering, shard)
        return self._finished(gathering)

    def _due(self, gathering: Gathering) -> list[int]:
        """The shards whose answers are late: a request that waits for its link is not asked again."""
        tick = self._step.tick
        return [shard for shard, asked in gathering.shards.items() if asked is None or asked.is_due(tick, _PATIENCE)]

    def tick(self) -> list[Gathering]:
        """Give up what is no longer ours: its publisher will find the new owner. Returns what must be asked again.

        What came after it from the same publisher goes with it: it must not be stored before it.
        """
        for of_publisher in list(self._by_publisher.values()):
            is_given_up = False
            for gathering in list(of_publisher.values()):
                is_given_up = is_given_up or not all(self._arc_lease.serves(key) for key in gathering.keys)
                if is_given_up:
                    self._forget(gathering)
        return [g for g in self._gathering.values() if self._step.tick - g.asked_tick >= _PATIENCE]


def _without_body(event: Event) -> Event:
    return Event(event.id, event.topic, event.attributes, b"", 0, event.guarantee)
