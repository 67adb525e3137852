"""The owner's match index: the subscriptions whose keys lie in its arc.

The index is soft: it comes from the super-node, which holds the change set with its candidates, and is built anew under
each table that moves our arc.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from p2psub.admission.votes import Votes
from p2psub.config import PubSubConfig
from p2psub.matching.adaptive_matcher import GrowingMatcher
from p2psub.matching.matcher import Matcher, Wanted
from p2psub.model.bids import bid_or_none
from p2psub.model.changes import Change
from p2psub.model.content import DeclarationState, Event, Order, Subscription, keys_of
from p2psub.model.ids import Contact, Key, NodeId, SubscriptionId, key_of_shard
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import ChangeStored, IndexStored, IndexTransfer, StoreChange
from p2psub.model.messages.pubsub import Obligation
from p2psub.model.parcels import Bitmap
from p2psub.model.places import Table, TableVersion
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease

_STAGED_MAX: Final = 4
"""Tables under way at a time: one, and a few that were overtaken."""


@dataclass(slots=True)
class _Index:
    """Subscriptions by key, each key with a matcher of its own, for the arc from `start` to us."""

    shards: int
    start: NodeId | None = None
    records: dict[SubscriptionId, Subscription] = field(default_factory=dict)
    matchers: dict[Key, Matcher] = field(default_factory=dict)

    def take(self, record: Subscription, keys: Iterable[Key]) -> None:
        """Put a record in under its keys, or take an ended one out; an older version changes nothing."""
        known = self.records.get(record.id)
        if known is not None:
            if known.version >= record.version:
                return
            self._unfile(known)
        self.records[record.id] = record
        if record.state is DeclarationState.ACTIVE:
            for key in keys:
                matcher = self.matchers.get(key)
                if matcher is None:
                    matcher = self.matchers[key] = GrowingMatcher()
                matcher.add(record)

    def _unfile(self, record: Subscription) -> None:
        if record.state is DeclarationState.ACTIVE:
            for key in keys_of(record, self.shards):
                self.matchers[key].remove(record.id)
                if not len(self.matchers[key]):
                    del self.matchers[key]


@dataclass(slots=True)
class _Staged:
    """An index on its way, for a table under way."""

    version: TableVersion
    start: NodeId | None = None
    attempt: int = 0
    parts: dict[int, tuple[Change, ...]] = field(default_factory=dict)
    late: list[Change] = field(default_factory=list)
    is_whole: bool = False


Filed = tuple[Subscription, tuple[Key, ...], bool]
"""A subscription that is in the index now, as active or as ended, its keys, and whether it is new there."""


class MatchIndex:
    """What is wanted in our arc."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        election: Election,
        votes: Votes,
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._votes = votes
        self._index = _Index(config.shards)
        self._staged: dict[TableVersion, _Staged] = {}
        self._shard_keys = [key_of_shard(shard) for shard in range(config.shards)]
        self._empty_until_us: dict[Key, Micros] = {}
        self._obeys_from_us = Micros(0)
        self._delayed: list[tuple[Micros, Contact, StoreChange, int]] = []
        self.started_until_us = Micros(0)
        self.is_lacking = False
        """Whether a table came into force for which we hold no index, and none has arrived since."""

    def match_many(self, key: Key, events: Sequence[Event], indexes: list[int], wanted: Wanted) -> None:
        """Add to `wanted` which subscriptions under `key` want which of the events at these indexes."""
        matcher = self._index.matchers.get(key)
        if matcher is not None:
            matcher.match_many(events, indexes, wanted)

    def obligation(self, subscription: SubscriptionId, bitmap: Bitmap = b"") -> Obligation:
        """What is owed to a subscription that we hold: these events, where it lives, in its order and at its bid."""
        record = self._index.records[subscription]
        is_ordered = record.order is Order.PUBLISHER
        return Obligation(subscription, record.cluster, bitmap, is_ordered, bid_or_none(record.bid))

    def lease_empty(self, shard: int) -> bool:
        """Whether a wildcard shard is empty; if so, the owner that asks may take it for empty for a while."""
        key = self._shard_keys[shard]
        if key in self._index.matchers:
            return False
        self._empty_until_us[key] = Micros(self._step.now + self._config.empty_lease_us)
        return True

    def shard_key(self, shard: int) -> Key:
        return self._shard_keys[shard]

    # From the super-node

    def store(self, peer: Contact, store: StoreChange) -> Filed | None:
        """Put a change into the index, and into those under way; None if it is not for us."""
        if store.epoch != self._election.epoch:
            # Another term than the one we follow would count on an index that we are about to get anew.
            return None
        record = store.change.record
        if not isinstance(record, Subscription):
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.NO_SUBSCRIPTION)
            return None
        if store.next is not None and self._is_ahead(store.next):
            self._staging(store.next)
        for staged in self._staged.values():
            staged.late.append(store.change)
        is_new = record.id not in self._index.records
        keys = keys_of(record, self._config.shards)
        self._index.take(record, keys)
        return record, keys, is_new

    def confirm(self, peer: Contact, store: StoreChange, keys: Iterable[Key], retained: int) -> None:
        """Vote on a stored change; if its shard was leased as empty, only after that lease."""
        empty_until = max([self._empty_until(key) for key in keys])
        if empty_until > self._step.now:
            self._delayed.append((empty_until, peer, store, retained))
        else:
            self._vote(peer, store, retained)

    def _empty_until(self, key: Key) -> Micros:
        """Until when another owner may take a shard for empty on our word, or on that of our last incarnation."""
        if key not in self._shard_keys:
            return Micros(0)
        return max(self._empty_until_us.get(key, Micros(0)), self.started_until_us)

    def _vote(self, peer: Contact, store: StoreChange, retained: int) -> None:
        record = store.change.record
        assert isinstance(record, Subscription)
        granted = self._votes.on(record)
        stored = ChangeStored(store.cluster, store.epoch, store.change.number, granted, retained)
        self._step.send(peer, stored)

    def on_index_transfer(self, peer: Contact, transfer: IndexTransfer) -> None:
        if transfer.version.epoch != self._election.epoch or not self._is_ahead(transfer.version):
            # A late copy of what we adopted long ago lacks every change since.
            return
        staged = self._staging(transfer.version)
        if transfer.attempt > staged.attempt and not staged.is_whole:
            staged.attempt, staged.parts, staged.start = transfer.attempt, {}, transfer.arc_start
        if transfer.attempt == staged.attempt:
            staged.parts[transfer.part] = transfer.changes
            staged.is_whole = len(staged.parts) == transfer.parts
        if staged.is_whole:
            self.is_lacking = False
            self._step.send(peer, IndexStored(transfer.cluster, transfer.version))

    def _is_ahead(self, version: TableVersion) -> bool:
        adopted = self._arc_lease.version
        return adopted is None or version > adopted

    def _staging(self, version: TableVersion) -> _Staged:
        if version not in self._staged:
            self._staged[version] = _Staged(version)
            while len(self._staged) > _STAGED_MAX:
                del self._staged[min(self._staged)]
        return self._staged[version]

    def adopt(self, table: Table) -> bool:
        """Be ready to serve by a table; False if we do not hold the index of the arc it gives us.

        An index that was handed out for a later table serves as well, if it is for the same arc.
        """
        start = self._arc_lease.arc_under(table)
        fitting = [version for version, staged in self._staged.items() if staged.is_whole and staged.start == start]
        if fitting:
            staged = self._staged[max(fitting)]
            index = _Index(self._config.shards, start)
            for change in [*(c for i in sorted(staged.parts) for c in staged.parts[i]), *staged.late]:
                if isinstance(change.record, Subscription):
                    index.take(change.record, keys_of(change.record, self._config.shards))
            self._index = index
        self._staged = {v: staged for v, staged in self._staged.items() if v > table.version}
        self._votes.keep(self._index.records.keys() | self._staged_ids())
        self._obeys_from_us = max(self._empty_until_us.values(), default=Micros(0))
        self.is_lacking = start is None or self._index.start != start
        return not self.is_lacking

    def _staged_ids(self) -> set[SubscriptionId]:
        """What was stored for tables to come."""
        return {change.record.id for staged in self._staged.values() for change in staged.late}

    @property
    def obeyed(self) -> TableVersion | None:
        """The table we obey; None while an owner may still skip a shard that we called empty under an older one."""
        return self._arc_lease.version if self._step.now >= self._obeys_from_us else None

    def start(self) -> None:
        """Our last incarnation may have called a shard empty just before it ended."""
        self.started_until_us = Micros(self._step.now + self._config.empty_lease_us)

    def tick(self) -> None:
        """Vote on what had to wait for an empty lease."""
        if self._delayed:
            due = [d for d in self._delayed if d[0] <= self._step.now]
            self._delayed = [d for d in self._delayed if d[0] > self._step.now]
            for _, peer, store, retained in due:
                self._vote(peer, store, retained)
