"""Which keys a member may answer for: a lease on an arc of a table that its super-node granted.

The super-node states two things together: the table, and the vector of changes that every owner of the table holds.
A member acknowledges only while its lease runs and only for keys of its arc; a node that hears no super-node therefore
owns nothing. The lease is counted from when the member asked, so its end comes first at the member.
"""

from __future__ import annotations

from p2psub.config import ClusterConfig
from p2psub.model.changes import Vector
from p2psub.model.circle import is_in_arc
from p2psub.model.ids import Contact, Key, NodeId
from p2psub.model.instants import Micros
from p2psub.model.places import Table, TableVersion
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.vectors import vector_digest


class ArcLease:
    """A member's side of the grant."""

    def __init__(self, step: Step, config: ClusterConfig, tick_us: Micros) -> None:
        self._step = step
        self._lease_us = config.lease_ticks * tick_us
        self._lease_until_us = Micros(-1)
        self._fresh_until_us = Micros(-1)
        self._arc_start: NodeId | None = None
        self._seen = 0
        self.table: Table | None = None
        self.adopted_us = Micros(0)
        """Since when we obey it."""
        self.claims: Vector = ()
        """The changes that every owner of our table holds, as our super-node last told."""
        self.claims_digest = vector_digest(())

    @property
    def version(self) -> TableVersion | None:
        return None if self.table is None else self.table.version

    def adopt(self, table: Table) -> None:
        """Obey a newer table from now on."""
        self.table, self.adopted_us = table, self._step.now
        self._arc_start = table.arc_start_of(self._step.me.id)
        epoch, n = table.version
        self._step.record(Kind.TABLE, epoch=epoch, version=n, owners=len(table.owners))

    def renew(self, asked_us: Micros, claims: Vector | None, seen: int = 0) -> None:
        """The super-node confirmed our table; the lease runs from when we asked.

        `seen` counts the members by now: a newer table that is long under way must not keep the bar down.
        """
        self._seen = seen
        self._lease_until_us = Micros(max(self._lease_until_us, asked_us + self._lease_us))
        self._fresh_until_us = self._lease_until_us
        if claims is not None and claims != self.claims:
            self.claims = claims
            self.claims_digest = vector_digest(claims)

    def give_up(self) -> None:
        """Serve nothing until a super-node grants anew."""
        self._lease_until_us = Micros(-1)

    @property
    def is_fresh(self) -> bool:
        """Whether the term of our table told us less than a lease ago which members there are, lease or no lease.

        Without word for longer a cut may be between us, and members that we do not know of may have joined beyond it.
        """
        return self._step.now < self._fresh_until_us

    @property
    def is_running(self) -> bool:
        """Whether we hold an arc at all."""
        return self._arc_start is not None and self._step.now < self._lease_until_us

    @property
    def is_owner(self) -> bool:
        """Whether our table gives us an arc, lease or no lease."""
        return self._arc_start is not None

    def serves(self, key: Key) -> bool:
        """Whether we may answer for `key` now."""
        return self.is_running and self.is_mine(key)

    def is_mine(self, key: Key) -> bool:
        """Whether `key` is in our arc, lease or no lease."""
        return self._arc_start is not None and is_in_arc(self._arc_start, key, self._step.me.id)

    def owner_of(self, key: Key) -> Contact | None:
        return None if self.table is None or not self.table.owners else self.table.owner_of(key)

    def arc_under(self, table: Table) -> NodeId | None:
        """Where our arc would begin under a table."""
        return table.arc_start_of(self._step.me.id)

    def required_copies(self, copies: int) -> int:
        """How many copies an acknowledgement needs: the bar does not fall because members were cut off.

        A majority of those seen lately goes on with what it has: no other side can have one.
        """
        if self.table is None:
            return 1
        seen, owners = max(self.table.seen, self._seen), len(self.table.owners)
        return min(copies, owners if 2 * owners > seen else seen)
