"""Which owners have stored which change. A change is *applied* when all members that may answer for its keys have.

A cast of a change is answered when the change is applied here; when every cluster has answered, the declaration is
stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from p2psub.casts.cast import Casts
from p2psub.model.changes import Change, ChangeNumber, LogId, Vector
from p2psub.model.content import Subscription, pinned_topics
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, Contact, NodeId
from p2psub.model.messages.casts import ChangeSummary
from p2psub.model.messages.cluster import ChangeStored, StoreChange
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.hypercube import Hypercube
from p2psub.super_node.change_log import ChangeLog
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.table_grants import TableGrants

RESEND_TICKS: Final = 2


@dataclass(slots=True)
class _Unapplied:
    """A change that not every owner concerned has stored yet."""

    change: Change
    is_durable: bool = False
    confirmed: dict[NodeId, None] = field(default_factory=dict)
    retained: int = 0
    sent_tick: int = -RESEND_TICKS
    casts: list[tuple[CastId, Prefix]] = field(default_factory=list)


class Confirmations:
    """All changes of one term that are not applied yet. What the claims of the last term do not name begins here."""

    def __init__(
        self, step: Step, changes: ChangeSet, log: ChangeLog, grants: TableGrants, casts: Casts, cube: Hypercube
    ) -> None:
        self._step = step
        self._cube = cube
        self._changes = changes
        self._log = log
        self._grants = grants
        self._casts = casts
        self._ahead: dict[LogId, dict[int, None]] = {}
        self._unapplied: dict[ChangeNumber, _Unapplied] = {
            change.number: _Unapplied(change, is_durable=True) for change in changes.missing_in(grants.vector, 1 << 62)
        }

    def learn(self, change: Change) -> bool:
        """Take a change from wherever it comes; True if it is new. It is stored, replicated and sent to its owners."""
        if not self._changes.learn(change):
            return False
        entry = self._unapplied[change.number] = _Unapplied(change)
        self._step.record(Kind.CHANGE, number=change.number, cluster=self._log.id.cluster, epoch=self._log.id.epoch)
        self._step.when_durable(lambda: self._note_durable(entry))
        self._log.replicate()
        self._store(entry)
        return True

    def _note_durable(self, entry: _Unapplied) -> None:
        entry.is_durable = True
        self._apply_if_stored(entry)

    def answer_when_applied(self, cast: CastId, number: ChangeNumber, part: Prefix) -> None:
        """Our cluster's part of a cast: answered once the change is applied here, or refused."""
        entry = self._unapplied.get(number)
        if entry is None or self._is_refused(number):
            self._vote(cast, part, number, 0)
        else:
            entry.casts.append((cast, part))

    def _store(self, entry: _Unapplied) -> None:
        entry.sent_tick = self._step.tick
        for owner in self._lacking(entry):
            id_, next_version = self._log.id, self._grants.next_version
            self._step.send(owner, StoreChange(id_.cluster, id_.epoch, entry.change, next_version))

    def _lacking(self, entry: _Unapplied) -> list[Contact]:
        record, table = entry.change.record, self._grants.table
        owners: dict[NodeId, Contact] = {}
        for key in self._changes.keys(record.id):
            owners.update({c.id: c for c in self._grants.must_confirm(key)})
        is_wildcard = isinstance(record, Subscription) and record.replay and not pinned_topics(record.filter)
        if is_wildcard and table is not None:
            # What it may want is retained by the owners of all topics, not by the owner of its shard.
            owners.update({c.id: c for c in table.owners})
        return [contact for node, contact in owners.items() if node not in entry.confirmed]

    def on_change_stored(self, peer: Contact, stored: ChangeStored) -> None:
        """An owner has stored a change, and votes on it."""
        entry = self._unapplied.get(stored.number) if stored.epoch == self._log.id.epoch else None
        if entry is not None:
            entry.confirmed[peer.id] = None
            entry.retained += stored.retained
            if not stored.granted and self._cube.entry is not None:
                # A cluster without a place refuses nothing: what it fills up with is decided without it.
                self._changes.refuse(stored.number)
                self._answer(entry)
            self._apply_if_stored(entry)

    def _is_refused(self, number: ChangeNumber) -> bool:
        """Whether an owner of ours voted against a change, which is not claimed and has a cluster to answer for it."""
        is_claimed = self._grants.vector.get(number.log, 0) >= number.n
        return self._changes.is_refused(number) and not is_claimed and self._cube.entry is not None

    def table_changed(self) -> None:
        """A table came into force; its owners hold whatever is claimed of them."""
        grants = self._grants
        assert grants.table is not None
        for entry in list(self._unapplied.values()):
            log, n = entry.change.number
            if grants.vector.get(log, 0) >= n:
                entry.confirmed.update({c.id: None for c in grants.table.owners})
            self._apply_if_stored(entry)

    def forget(self, member: NodeId) -> None:
        """A member is back without what it had confirmed."""
        for entry in self._unapplied.values():
            entry.confirmed.pop(member, None)

    def apply_what_is_stored(self) -> None:
        """A candidate holds more, or time has passed: apply what waited for nothing else."""
        for entry in list(self._unapplied.values()):
            self._apply_if_stored(entry)

    def tick(self) -> None:
        """Ask the owners again that have not answered."""
        for entry in list(self._unapplied.values()):
            if self._step.tick - entry.sent_tick >= RESEND_TICKS:
                self._store(entry)
            self._apply_if_stored(entry)

    def _apply_if_stored(self, entry: _Unapplied) -> None:
        grants, number = self._grants, entry.change.number
        if grants.table is None or number not in self._unapplied or not entry.is_durable:
            return
        if self._step.now < grants.quarantine_until_us or not self._log.is_replicated(number):
            return
        if self._is_refused(number):
            if not self._has_ended(entry.change):
                return
        elif self._lacking(entry):
            return
        del self._unapplied[number]
        self._claim(number)
        self._answer(entry)

    def _has_ended(self, refused: Change) -> bool:
        """Whether the owners hold a later version instead, and no claim of ours tells of the refused one alone."""
        later = self._changes.current(refused.record.id)
        if later is None or later.record.version == refused.record.version or later.number in self._unapplied:
            return False
        log, n = later.number
        return log == refused.number.log or self._grants.vector.get(log, 0) >= n

    def _answer(self, entry: _Unapplied) -> None:
        casts, entry.casts = entry.casts, []
        for cast, part in casts:
            self._vote(cast, part, entry.change.number, entry.retained)

    def _vote(self, cast: CastId, part: Prefix, number: ChangeNumber, retained: int) -> None:
        """Answer a cast of a change that is applied or refused; once refused, a change stays refused."""
        granted, refused = (0, 1) if self._is_refused(number) else (1, 0)
        self._casts.answer_locally(cast, ChangeSummary((part,), granted, refused, retained))

    def _claim(self, number: ChangeNumber) -> None:
        """Extend what is claimed of the table's owners, without gaps."""
        log, n = number
        claimed = self._grants.vector.get(log, 0)
        if n <= claimed:
            return
        ahead = self._ahead.setdefault(log, {})
        ahead[n] = None
        while claimed + 1 in ahead:
            claimed += 1
            del ahead[claimed]
        self._grants.claim(log, claimed)


def claims_on_takeover(heard: Vector, own: dict[LogId, int]) -> dict[LogId, int]:
    """What a new super-node may claim at once: what the last one claimed, as far as it holds it itself."""
    return {log: min(n, own[log]) for log, n in heard if log in own}
