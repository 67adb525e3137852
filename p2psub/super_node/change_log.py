"""One term's log: the super-node numbers the changes of its cluster, and replicates all it knows to its candidates.

A change is *replicated* when the first candidates hold it too, so that it outlives the super-node.
"""

from __future__ import annotations

from p2psub.config import CubeConfig
from p2psub.model.changes import Change, ChangeNumber, LogId, Vector
from p2psub.model.content import Declaration, Subscription
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.cluster import ChangesReplicated, ReplicateChanges
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.roster import Roster
from p2psub.super_node.change_set import ChangeSet


class ChangeLog:
    """The log of one term, and what each candidate is known to hold."""

    def __init__(self, step: Step, config: CubeConfig, changes: ChangeSet, roster: Roster, id_: LogId) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._roster = roster
        self._held: dict[NodeId, dict[LogId, int]] = {}
        self.id = id_

    def number(self, record: Declaration) -> Change:
        """Give a declaration the next number of this log."""
        number = ChangeNumber(self.id, self._changes.vector.get(self.id, 0) + 1)
        if isinstance(record, Subscription):
            self._step.record(Kind.NUMBER, number=number, subscription=record.id, subscribed=record)
        else:
            self._step.record(Kind.NUMBER, number=number, advertised=record)
        return Change(number, record)

    def replicate(self) -> None:
        """Send every candidate the next batch of what it lacks."""
        for candidate in self._roster.candidates:
            held = self._held.get(candidate.id, {})
            missing = self._changes.batch_for(held, self._config.batch_changes_max)
            if missing:
                self._step.send(candidate, ReplicateChanges(self.id.cluster, self.id.epoch, missing))

    def on_changes_replicated(self, peer: Contact, replicated: ChangesReplicated) -> bool:
        """Note what a candidate holds durably; True if it is this very process of a member of ours."""
        member = self._roster.members.get(peer.id)
        if replicated.epoch != self.id.epoch or member is None:
            return False
        if member.heartbeat.incarnation != replicated.incarnation:
            return False
        self._held[peer.id] = dict(replicated.vector)
        return True

    def forget(self, member: NodeId) -> None:
        """A member is back, and may have lost what it held."""
        self._held.pop(member, None)

    def is_replicated(self, number: ChangeNumber) -> bool:
        """Whether this node and every candidate hold a change and all before it."""
        log, n = number
        return self._changes.holds(number) and all(
            self._held.get(candidate.id, {}).get(log, 0) >= n for candidate in self._roster.candidates
        )

    def in_sync(self, claims: Vector) -> tuple[Contact, ...]:
        """The candidates that could take over at once: they hold everything that is claimed of our cluster."""
        return tuple([candidate for candidate in self._roster.candidates if self._holds(candidate.id, claims)])

    def _holds(self, candidate: NodeId, claims: Vector) -> bool:
        held = self._held.get(candidate, {})
        return all(held.get(log, 0) >= n for log, n in claims)
