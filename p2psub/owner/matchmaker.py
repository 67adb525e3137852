"""The owner of a topic gathers the matches of an event: from its own index, and from the wildcard shards' owners.

An event is stored only with its matches, so it is never matched again: what is owed travels with the event.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from p2psub.config import PubSubConfig
from p2psub.model.changes import Vector
from p2psub.model.content import Timed
from p2psub.model.ids import Contact, EventId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import MatchRequest, MatchResponse, Obligation
from p2psub.model.step import Step
from p2psub.model.vectors import lowest_common
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.match_index import MatchIndex


@dataclass(slots=True)
class Gathering:
    """An event whose matches are not all in yet."""

    timed: Timed
    publisher: Contact
    started_us: Micros
    asked_tick: int
    shards: dict[int, None]
    matches: dict[Obligation, None] = field(default_factory=dict)
    claims: list[Vector] = field(default_factory=list)

    def vector(self) -> Vector:
        """The changes that every index asked is known to hold."""
        return lowest_common(self.claims)


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
        self._gathering: dict[EventId, Gathering] = {}

    def __contains__(self, event: EventId) -> bool:
        return event in self._gathering

    def gather(self, timed: Timed, publisher: Contact) -> Gathering | None:
        """Find the subscriptions that want the event; returns the matches if they are all in at once."""
        event = timed.event
        shards = {shard: None for shard in range(self._config.shards) if not self._shards.has(shard)}
        gathering = Gathering(timed, publisher, self._step.now, self._step.tick, shards)
        self._gathering[event.id] = gathering
        gathering.claims.append(self._arc_lease.claims)
        gathering.matches.update(dict.fromkeys(self._match_index.match(event.key, event)))
        for shard in list(shards):
            self._ask(gathering, shard)
        return self._finished(gathering)

    def _ask(self, gathering: Gathering, shard: int) -> None:
        key, event = self._match_index.shard_key(shard), gathering.timed.event
        owner, cluster = self._arc_lease.owner_of(key), self._election.cluster
        if self._arc_lease.serves(key):
            self._take(gathering, shard, self._match_index.match(key, event), self._arc_lease.claims)
        elif owner is not None and cluster is not None:
            self._step.send(owner, MatchRequest(cluster, shard, event))

    def _take(self, gathering: Gathering, shard: int, matches: list[Obligation], claims: Vector) -> None:
        gathering.shards.pop(shard, None)
        gathering.matches.update(dict.fromkeys(matches))
        gathering.claims.append(claims)

    def _finished(self, gathering: Gathering) -> Gathering | None:
        """It is over when no shard is left to ask."""
        return None if gathering.shards else self._gathering.pop(gathering.timed.event.id, None)

    def on_match_request(self, peer: Contact, request: MatchRequest) -> None:
        """Answer for a wildcard shard, if it is ours; an owner that hears nothing asks again."""
        if not 0 <= request.shard < self._config.shards:
            return
        key = self._match_index.shard_key(request.shard)
        if request.cluster != self._election.cluster or not self._arc_lease.serves(key):
            return
        matches = tuple(self._match_index.match(key, request.event))
        is_empty = not matches and self._match_index.lease_empty(request.shard)
        self._step.send(
            peer,
            MatchResponse(request.cluster, request.shard, request.event.id, matches, self._arc_lease.claims, is_empty),
        )

    def on_match_response(self, peer: Contact, response: MatchResponse) -> Gathering | None:
        """Take a shard's matches; returns all of them if they were the last."""
        gathering = self._gathering.get(response.event)
        if gathering is None or response.shard not in gathering.shards:
            return None
        if response.empty:
            self._shards.lease(peer, response.shard, gathering.started_us)
        self._take(gathering, response.shard, list(response.matches), response.vector)
        return self._finished(gathering)

    def ask_again(self, gathering: Gathering) -> Gathering | None:
        """Ask the shards that are silent; returns the matches if they are all in by that."""
        gathering.asked_tick = self._step.tick
        for shard in list(gathering.shards):
            self._ask(gathering, shard)
        return self._finished(gathering)

    def tick(self) -> list[Gathering]:
        """Give up what is no longer ours: its publisher will find the new owner. Returns what must be asked again."""
        lost = [id_ for id_, g in self._gathering.items() if not self._arc_lease.serves(g.timed.event.key)]
        for id_ in lost:
            del self._gathering[id_]
        return [g for g in self._gathering.values() if self._step.tick - g.asked_tick >= 2]
