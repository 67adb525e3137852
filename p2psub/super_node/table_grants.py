"""The super-node's side of arc leases: tables, their transfer, and which owners must confirm a change.

A new table comes into force only when every member whose arc changed holds its part of the match index. While it is
under way, and until every member of an older table obeys the new one or its lease has run out, a change must be
stored by every member that might answer for its key: so no owner acknowledges an event without a subscription that is
called stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from p2psub.config import ClusterConfig, CubeConfig
from p2psub.model.batches import batches_of
from p2psub.model.changes import LogId, Vector
from p2psub.model.ids import ClusterId, Contact, Epoch, Key, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import IndexStored, IndexTransfer
from p2psub.model.places import Table, TableVersion
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.model.vectors import vector_digest, vector_of
from p2psub.model.weights import weight_of_change
from p2psub.overlay.roster import Roster
from p2psub.super_node.change_set import ChangeSet

_RESEND_TICKS: Final = 4
"""How long an index of several messages may be under way. A lost one of a single message is sent again sooner."""


@dataclass(slots=True)
class _Next:
    """A table under way."""

    table: Table
    vector: dict[LogId, int]
    waiting: dict[NodeId, Contact]
    incarnations: dict[NodeId, int]
    attempt: int = 0
    sent: dict[NodeId, Transmission] = field(default_factory=dict)
    """What became of the last message of each owner's index."""
    messages_max: int = 0
    """Of the longest index sent."""

    @property
    def patience_ticks(self) -> int:
        """How long to wait for the answers to an attempt: an owner that fell is not replaced before they are in."""
        return _RESEND_TICKS if self.messages_max > 1 else min(_RESEND_TICKS, (self.attempt + 1) // 2)

    def is_due(self, owner: NodeId, tick: int) -> bool:
        """Whether an owner gets its index now: it got none yet, or that is lost, or unanswered for too long."""
        sent = self.sent.get(owner)
        return sent is None or sent.is_due(tick, self.patience_ticks)


@dataclass(slots=True)
class TableGrants:
    """All tables of one term that may still be obeyed."""

    step: Step
    cluster_config: ClusterConfig
    cube_config: CubeConfig
    tick_us: Micros
    roster: Roster
    changes: ChangeSet
    cluster: ClusterId
    epoch: Epoch
    table: Table | None = None
    vector: dict[LogId, int] = field(default_factory=dict)
    """What every owner of the table is known to hold: the claims."""
    quarantine_until_us: Micros = Micros(0)
    """Until then a member may hold a lease of the term before."""
    may_refuse: bool = False
    """Whether owners may vote against a change: then an index tells that they hold it, but not that they grant it."""
    _next: _Next | None = None
    _n: int = 0
    _older: list[tuple[Table, Micros]] = field(default_factory=list)
    _indexed: dict[NodeId, int] = field(default_factory=dict)
    _digest: bytes | None = None
    _claims: Vector | None = None

    @property
    def digest(self) -> bytes:
        """Short hash of the claims."""
        if self._digest is None:
            self._digest = vector_digest(self.claims)
        return self._digest

    @property
    def claims(self) -> Vector:
        """What every owner of the table holds, as it is told to them."""
        if self._claims is None:
            self._claims = vector_of(self.vector)
        return self._claims

    def claim(self, log: LogId, n: int) -> None:
        """Every owner of the table holds the changes of a log up to `n`."""
        if n > self.vector.get(log, 0):
            self.vector[log] = n
            self._digest = self._claims = None

    @property
    def lease_us(self) -> Micros:
        return Micros(self.cluster_config.lease_ticks * self.tick_us)

    @property
    def next_version(self) -> TableVersion | None:
        """The table under way."""
        return None if self._next is None else self._next.table.version

    def is_entitled(self, member: NodeId, incarnation: int) -> bool:
        """Whether this very process holds its part of the index."""
        return self._indexed.get(member) == incarnation

    def tick(self) -> bool:
        """Follow the roster; True when a new table has just come into force."""
        now = self.step.now
        self._older = [(table, until) for table, until in self._older if now < until]
        standing = self._next.table if self._next is not None else self.table
        owners = tuple(self.roster.owners())
        if (
            standing is None
            or standing.owners != owners
            or standing.seen != self.roster.seen
            or self._has_stranger(owners)
        ):
            self._begin(owners)
        if self._next is not None:
            self._transfer(self._next)
        return self._commit_if_held()

    def _has_stranger(self, owners: tuple[Contact, ...]) -> bool:
        known = self._indexed if self._next is None else {**self._indexed, **self._next.incarnations}
        members = [(c.id, self.roster.members[c.id]) for c in owners if c.id != self.step.me.id]
        return any(known.get(node) != member.heartbeat.incarnation for node, member in members)

    def _begin(self, owners: tuple[Contact, ...]) -> None:
        self._n += 1
        table = Table(TableVersion(self.epoch, self._n), owners, self.roster.seen)
        incarnations = {node: member.heartbeat.incarnation for node, member in self.roster.members.items()}
        incarnations[self.step.me.id] = self.step.incarnation
        waiting = {c.id: c for c in owners if self._needs_index(c.id, incarnations[c.id], table)}
        # Only if every owner gets its index anew does the whole change set count as held by them all.
        is_claimed = len(waiting) == len(owners) and not self.may_refuse
        vector = dict(self.changes.vector) if is_claimed else {}
        self._next = _Next(table, vector, waiting, incarnations)

    def _needs_index(self, node: NodeId, incarnation: int, table: Table) -> bool:
        if self.table is None or self._indexed.get(node) != incarnation:
            return True
        return self.table.arc_start_of(node) != table.arc_start_of(node)

    def _transfer(self, under_way: _Next) -> None:
        """Send the index to those owners that have had the time to say that they hold it."""
        due = [contact for contact in under_way.waiting.values() if under_way.is_due(contact.id, self.step.tick)]
        under_way.attempt += bool(due)
        for contact in due:
            start = under_way.table.arc_start_of(contact.id)
            assert start is not None
            changes = self.changes.active_in_arc(start, contact.id)
            parts = list(batches_of(changes, weight_of_change, self.cube_config.batch_changes_max)) or [[]]
            under_way.messages_max = max(under_way.messages_max, len(parts))
            for index, part in enumerate(parts):
                version, attempt = under_way.table.version, under_way.attempt
                transfer = IndexTransfer(self.cluster, version, start, attempt, index, len(parts), tuple(part))
                under_way.sent[contact.id] = self.step.send_followed(contact, transfer)

    def forget_index(self, member: NodeId) -> None:
        """A member says that it does not hold the index of its arc: it must get it again."""
        self._indexed.pop(member, None)

    def on_index_stored(self, peer: Contact, held: IndexStored) -> bool:
        """A member holds its part; True when that brought the new table into force."""
        if self._next is not None and held.version == self._next.table.version:
            if self._next.waiting.pop(peer.id, None) is not None:
                self._indexed[peer.id] = self._next.incarnations[peer.id]
        return self._commit_if_held()

    def _commit_if_held(self) -> bool:
        done = self._next
        if done is None or done.waiting:
            return False
        if self.table is not None:
            self._older.append((self.table, Micros(self.step.now + self.lease_us)))
        self.table, self._next = done.table, None
        for log, n in done.vector.items():
            self.claim(log, n)
        self._indexed = {c.id: self._indexed[c.id] for c in self.table.owners if c.id in self._indexed}
        return True

    def must_confirm(self, key: Key) -> list[Contact]:
        """The members that may answer for `key` now or soon: its owner by the table, by the next, by older ones."""
        owners: dict[NodeId, Contact] = {}
        for table in [self.table, self._next.table if self._next is not None else None]:
            if table is not None:
                owner = table.owner_of(key)
                owners[owner.id] = owner
        for table, until in self._older:
            owner = table.owner_of(key)
            member = self.roster.members.get(owner.id)
            obeyed = None if member is None else member.heartbeat.table
            obeys_newer = obeyed is not None and obeyed > table.version
            if not obeys_newer and self.step.now < until:
                owners[owner.id] = owner
        return list(owners.values())
