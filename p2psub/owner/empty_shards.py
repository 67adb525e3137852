"""Wildcard shards that are known to be empty, so that their owners need not be asked.

A shard's owner that has no subscription there leases the right to pass it over. The lease is counted from when we
asked, so that it ends here before it ends there; a busy owner asks again before that.
"""

from __future__ import annotations

from typing import Final

from p2psub.config import PubSubConfig
from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import ShardEmpty, ShardRequest
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.match_index import MatchIndex

_BUSY: Final = 16
"""Looks at a shard in one tick from which on its lease is renewed before it ends. A guess."""


class EmptyShards:
    """Leases on empty shards, ours and others'."""

    def __init__(
        self, step: Step, config: PubSubConfig, arc_lease: ArcLease, election: Election, match_index: MatchIndex
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._match_index = match_index
        self._until_us: dict[int, Micros] = {}
        self._looks: dict[int, int] = {}
        self._asked: set[int] = set()
        self._forgotten_us = Micros(-1)

    def has(self, shard: int) -> bool:
        """Whether a shard may be passed over now."""
        self._looks[shard] = self._looks.get(shard, 0) + 1
        return self._until_us.get(shard, 0) > self._step.now

    def lease(self, peer: Contact, shard: int, asked_us: Micros) -> None:
        """A peer called a shard empty when we asked; under the table of now it must own it."""
        owner = self._arc_lease.owner_of(self._match_index.shard_key(shard))
        if owner is not None and owner.id == peer.id and self._forgotten_us < asked_us <= self._step.now:
            self._until_us[shard] = Micros(asked_us + self._config.empty_lease_us)

    def forget(self) -> None:
        """A new table: what is claimed of its owners may have come to a shard that was called empty before."""
        self._until_us.clear()
        self._forgotten_us = self._step.now

    def ask(self, shard: int) -> None:
        """Ask whether a shard is empty, once a tick."""
        owner, cluster = self._arc_lease.owner_of(self._match_index.shard_key(shard)), self._election.cluster
        if shard not in self._asked and owner is not None and cluster is not None:
            self._asked.add(shard)
            self._step.send(owner, ShardRequest(cluster, shard, self._step.now))

    def on_shard_request(self, peer: Contact, request: ShardRequest) -> None:
        is_ours = request.cluster == self._election.cluster and 0 <= request.shard < self._config.shards
        if is_ours and self._arc_lease.serves(self._match_index.shard_key(request.shard)):
            if self._match_index.lease_empty(request.shard):
                self._step.send(peer, ShardEmpty(request.cluster, request.shard, request.asked_us))

    def on_shard_empty(self, peer: Contact, response: ShardEmpty) -> None:
        if response.cluster == self._election.cluster and 0 <= response.shard < self._config.shards:
            self.lease(peer, response.shard, response.asked_us)

    def tick(self) -> None:
        """Renew the leases that are much used."""
        self._asked.clear()
        busy = [shard for shard, looks in self._looks.items() if looks >= _BUSY and shard in self._until_us]
        self._looks.clear()
        for shard in busy:
            if self._until_us[shard] - self._step.now < self._config.empty_lease_us // 2:
                self.ask(shard)
