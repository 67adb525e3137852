"""The super-node's book of changes: numbering, holding, settling, verdicts.

A change is *held* when the first candidates have it too, so that it outlives the super-node. It is *settled* here
when it is held and everybody who may answer for its keys has stored it. A cast is answered when the change is
settled; when every cluster has answered, the subscription is stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from p2psub.admission.permits import Permits
from p2psub.casts.cast import Casts, Summary
from p2psub.config import NodeConfig
from p2psub.model.changes import Change, ChangeNumber, LogId, Vector
from p2psub.model.content import Declaration, DeclarationState, Subscription, pinned_topics
from p2psub.model.graycode import WHOLE, Prefix, covers
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId, SubscriptionId
from p2psub.model.messages.casts import ChangePayload, ChangeSummary
from p2psub.model.messages.cluster import ChangesReplicated, ChangeStored, ReplicateChanges, StoreChange
from p2psub.model.messages.pubsub import Declare, Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.directory import Directory
from p2psub.overlay.roster import Roster
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.subscriber_leases import SubscriberLeases
from p2psub.super_node.table_grants import TableGrants

CHANGE_NAMESPACE: Final = "change"
_RESEND_TICKS: Final = 2


@dataclass(slots=True)
class _Settling:
    """A change that not everybody concerned has stored yet."""

    change: Change
    is_durable: bool = False
    confirmed: dict[NodeId, None] = field(default_factory=dict)
    is_refused: bool = False
    retained: int = 0
    sent_tick: int = -_RESEND_TICKS
    casts: list[tuple[CastId, Prefix]] = field(default_factory=list)


@dataclass(slots=True)
class _Own:
    """A change of our own cluster on its way to every other."""

    change: Change
    peer: Contact
    asked_tick: int
    cast: CastId | None = None
    """The last cast of it; one that reached not everybody is followed by another."""
    cast_tick: int = 0
    status: VerdictStatus | None = None
    unreached: tuple[ClusterId, ...] = ()


class Settlement:
    """One term's book; `term` opens a new one."""

    def __init__(
        self,
        step: Step,
        config: NodeConfig,
        changes: ChangeSet,
        roster: Roster,
        directory: Directory,
        permits: Permits,
        leases: SubscriberLeases,
    ) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._roster = roster
        self._directory = directory
        self._permits = permits
        self._leases = leases
        self._settling: dict[ChangeNumber, _Settling] = {}
        self._settled_ahead: dict[LogId, dict[int, None]] = {}
        self._held: dict[NodeId, dict[LogId, int]] = {}
        self._own: dict[SubscriptionId, _Own] = {}
        self._refused: dict[ChangeNumber, None] = {}
        self._turned_down: dict[SubscriptionId, None] = {}
        self.grants: TableGrants | None = None
        self.casts: Casts
        self.is_complete = False

    def term(self, grants: TableGrants, is_complete: bool) -> None:
        """Begin: whatever the last claims do not name must be settled again."""
        self.grants, self.is_complete = grants, is_complete
        self._settling.clear()
        self._settled_ahead.clear()
        self._held.clear()
        self._own.clear()
        for change in self._changes.missing_in(grants.vector, 1 << 62):
            self._settling[change.number] = _Settling(change, is_durable=True)

    def abdicate(self) -> None:
        """End the term."""
        self.grants = None
        self._settling.clear()
        self._own.clear()

    # From our members

    def on_declare(self, peer: Contact, asked: Declare) -> None:
        """Number a new record; of a known one repeat the verdict, or see to it that there will be one."""
        record = asked.record
        if self.grants is None or not self.is_complete or record.id.node != peer.id:
            return
        refusal = self._permits.refusal(peer.id, record)
        if refusal is not None:
            self._step.record(Kind.DROP, subscription=record.id, peer=peer.id, reason=refusal)
            self._say(peer, record, VerdictStatus.REFUSED, ())
            return
        known = self._changes.current(record.id)
        if known is None or known.record.version < record.version:
            self._number(record, peer)
        elif record.id in self._turned_down and record.state is DeclarationState.ACTIVE:
            self._say(peer, record, VerdictStatus.REFUSED, ())
        elif known.record.version > record.version:
            self._say(peer, known.record, VerdictStatus.REFUSED, ())
        else:
            own = self._own.get(record.id)
            if own is None:
                # Numbered in a term before ours: whether every cluster has it must be found out again.
                self._own[record.id] = _Own(known, peer, self._step.tick)
            elif own.status is not None:
                own.peer = peer
                self._say(peer, record, own.status, own.unreached)

    def _say(self, peer: Contact, record: Declaration, status: VerdictStatus, unreached: tuple[ClusterId, ...]) -> None:
        self._step.send(peer, Verdict(record.id, record.version, status, unreached))

    def _number(self, record: Declaration, peer: Contact) -> None:
        assert self.grants is not None
        stream = LogId(self.grants.cluster, self.grants.epoch)
        number = ChangeNumber(stream, self._changes.vector.get(stream, 0) + 1)
        change = Change(number, record)
        if isinstance(record, Subscription):
            self._step.record(Kind.NUMBER, number=number, subscription=record.id, subscribed=record)
        else:
            self._step.record(Kind.NUMBER, number=number, advertised=record)
        self.learn(change)
        self._own[record.id] = _Own(change, peer, self._step.tick)

    def end_older(self, peer: Contact, incarnation: int) -> None:
        """A member is back in a new incarnation: end what the old one declared."""
        for record in self._changes.active_of(peer.id):
            if record.id.incarnation < incarnation:
                self._end(record, peer)

    def _end(self, record: Declaration, peer: Contact) -> None:
        if self.grants is not None and record.cluster == self.grants.cluster and self.is_complete:
            version = record.version + 1
            self._number(msgspec.structs.replace(record, version=version, state=DeclarationState.ENDED), peer)

    # Learning

    def learn(self, change: Change) -> bool:
        """Take a change from wherever it comes; True if it is new. New ones are stored, streamed and settled."""
        if not self._changes.add(change):
            return False
        self._step.write(CHANGE_NAMESPACE, change.number, change)
        if self.grants is not None:
            entry = self._settling[change.number] = _Settling(change)
            self._step.record(Kind.CHANGE, number=change.number, cluster=self.grants.cluster, epoch=self.grants.epoch)
            self._step.when_durable(lambda: self._note_durable(entry))
            self._stream()
            self._store(entry)
            self._leases.learn(change, LogId(self.grants.cluster, self.grants.epoch))
        return True

    def _note_durable(self, entry: _Settling) -> None:
        entry.is_durable = True
        self._settle_if_stored(entry)

    def take(self, cast: CastId, change: Change, part: Prefix) -> None:
        """Our cluster's part of a cast: answered once the change is settled here."""
        self.learn(change)
        entry = self._settling.get(change.number)
        if entry is None:
            self._vote(cast, part, change.number, 0)
        else:
            entry.casts.append((cast, part))

    # Holding: the stream to the candidates

    def _stream(self) -> None:
        grants = self.grants
        assert grants is not None
        for candidate in self._roster.candidates:
            held = self._held.get(candidate.id, {})
            missing = self._changes.batch_for(held, self._config.cube.batch_changes_max)
            if missing:
                self._step.send(candidate, ReplicateChanges(grants.cluster, grants.epoch, missing))

    def on_changes_replicated(self, peer: Contact, held: ChangesReplicated) -> None:
        member = self._roster.members.get(peer.id)
        if self.grants is None or held.epoch != self.grants.epoch or member is None:
            return
        if member.heartbeat.incarnation != held.incarnation:
            return
        self._held[peer.id] = dict(held.vector)
        for entry in list(self._settling.values()):
            self._settle_if_stored(entry)
        self._cast_what_is_held()

    def in_sync_candidates(self) -> tuple[Contact, ...]:
        """The candidates that could take over at once: they hold everything that is claimed of our cluster.

        A term that is not complete itself does not know what that is, and has none.
        """
        assert self.grants is not None
        if not self.is_complete:
            return ()
        claims = self.grants.claims
        return tuple([candidate for candidate in self._roster.candidates if self._holds(candidate.id, claims)])

    def _holds(self, candidate: NodeId, claims: Vector) -> bool:
        held = self._held.get(candidate, {})
        return all(held.get(stream, 0) >= n for stream, n in claims)

    def _is_held(self, number: ChangeNumber) -> bool:
        stream, n = number
        return self._changes.holds(number) and all(
            self._held.get(candidate.id, {}).get(stream, 0) >= n for candidate in self._roster.candidates
        )

    # Settling

    def _store(self, entry: _Settling) -> None:
        grants = self.grants
        assert grants is not None
        entry.sent_tick = self._step.tick
        for owner in self._lacking(entry):
            store = StoreChange(grants.cluster, grants.epoch, entry.change, grants.next_version)
            self._step.send(owner, store)

    def _lacking(self, entry: _Settling) -> list[Contact]:
        assert self.grants is not None
        record = entry.change.record
        owners: dict[NodeId, Contact] = {}
        for key in self._changes.keys(record.id):
            owners.update({c.id: c for c in self.grants.must_confirm(key)})
        if (
            isinstance(record, Subscription)
            and record.replay
            and self.grants.table is not None
            and not pinned_topics(record.filter)
        ):
            # What it may want is retained by the owners of all topics, not by the owner of its shard.
            owners.update({c.id: c for c in self.grants.table.owners})
        return [contact for node, contact in owners.items() if node not in entry.confirmed]

    def on_change_stored(self, peer: Contact, stored: ChangeStored) -> None:
        if self.grants is None or stored.epoch != self.grants.epoch:
            return
        entry = self._settling.get(stored.number)
        if entry is not None:
            entry.confirmed[peer.id] = None
            entry.is_refused |= not stored.granted
            entry.retained += stored.retained
            self._settle_if_stored(entry)

    def table_changed(self) -> None:
        """A table came into force; its owners hold whatever is claimed of them."""
        grants = self.grants
        assert grants is not None and grants.table is not None
        for entry in list(self._settling.values()):
            stream, n = entry.change.number
            if grants.vector.get(stream, 0) >= n:
                entry.confirmed.update({c.id: None for c in grants.table.owners})
            self._settle_if_stored(entry)

    def forget(self, member: NodeId) -> None:
        """A member is back without what it had confirmed."""
        for entry in self._settling.values():
            entry.confirmed.pop(member, None)
        self._held.pop(member, None)

    def _settle_if_stored(self, entry: _Settling) -> None:
        grants, number = self.grants, entry.change.number
        if grants is None or grants.table is None or number not in self._settling or not entry.is_durable:
            return
        if self._step.now < grants.quarantine_until_us or not self._is_held(number) or self._lacking(entry):
            return
        del self._settling[number]
        self._advance(number)
        if entry.is_refused:
            self._refused[number] = None
        for cast, part in entry.casts:
            self._vote(cast, part, number, entry.retained)

    def _vote(self, cast: CastId, part: Prefix, number: ChangeNumber, retained: int) -> None:
        """Answer a cast of a settled change; once refused, a change stays refused."""
        granted, refused = (0, 1) if number in self._refused else (1, 0)
        self.casts.answer_locally(cast, ChangeSummary((part,), granted, refused, retained))

    def _advance(self, number: ChangeNumber) -> None:
        """Extend what is claimed of the table's owners, without gaps."""
        assert self.grants is not None
        stream, n = number
        claimed = self.grants.vector.get(stream, 0)
        if n <= claimed:
            return
        ahead = self._settled_ahead.setdefault(stream, {})
        ahead[n] = None
        while claimed + 1 in ahead:
            claimed += 1
            del ahead[claimed]
        self.grants.claim(stream, claimed)

    # Casting and verdicts

    def _cast_what_is_held(self) -> None:
        for own in [own for own in self._own.values() if own.status is not VerdictStatus.STABLE]:
            is_due = own.cast is None or self._step.tick - own.cast_tick >= self._config.cube.recast_after_ticks
            if is_due and self._is_held(own.change.number):
                self._cast(own)

    def _cast(self, own: _Own) -> None:
        own.cast_tick = self._step.tick
        own.cast = self.casts.start(ChangePayload(own.change), lambda summary, whole: self._cast_done(own, summary))

    def _cast_done(self, own: _Own, summary: Summary) -> None:
        assert isinstance(summary, ChangeSummary)
        if summary.refused and own.change.record.state is DeclarationState.ACTIVE:
            self._turned_down[own.change.record.id] = None
            self._conclude(own, VerdictStatus.REFUSED, ())
            self._end(own.change.record, own.peer)
        elif covers(list(summary.covered), WHOLE):
            self._conclude(own, VerdictStatus.STABLE, ())
        else:
            own.unreached = self._unreached(summary)

    def _unreached(self, summary: ChangeSummary) -> tuple[ClusterId, ...]:
        covered = list(summary.covered)
        return tuple(entry.cluster for entry in self._directory.present() if not covers(covered, entry.prefix))

    def _conclude(self, own: _Own, status: VerdictStatus, unreached: tuple[ClusterId, ...]) -> None:
        own.status, own.unreached = status, unreached
        self._say(own.peer, own.change.record, status, unreached)

    # Time

    def tick(self) -> None:
        """Repeat what was not answered; tell `accepted` when the full answer is late; end what nobody renews."""
        if self.grants is None:
            return
        if self._step.tick % _RESEND_TICKS == 0:
            self._stream()
        for entry in list(self._settling.values()):
            if self._step.tick - entry.sent_tick >= _RESEND_TICKS:
                self._store(entry)
            self._settle_if_stored(entry)
        self._cast_what_is_held()
        for id_, own in list(self._own.items()):
            self._tend(id_, own)
        if self._step.tick % 10 == 0 and self.is_complete:
            self._end_what_nobody_renews()

    def _tend(self, id_: SubscriptionId, own: _Own) -> None:
        cube = self._config.cube
        if own.status is VerdictStatus.STABLE:
            if self._step.tick - own.asked_tick > cube.remember_ticks:
                del self._own[id_]
            return
        if (
            own.status is None
            and own.cast is not None
            and self._step.tick - own.asked_tick >= cube.accepted_after_ticks
        ):
            progress = self.casts.progress(own.cast)
            assert isinstance(progress, ChangeSummary)
            self._conclude(own, VerdictStatus.ACCEPTED, self._unreached(progress))

    def _end_what_nobody_renews(self) -> None:
        assert self.grants is not None
        for record in self._leases.run_out(self.grants.cluster):
            self._end(record, self._step.me)
            self._leases.doubt(record.id)


def claims_on_takeover(heard: Vector, own: dict[LogId, int]) -> dict[LogId, int]:
    """What a new super-node may claim at once: what the last one claimed, as far as it holds it itself."""
    return {stream: min(n, own[stream]) for stream, n in heard if stream in own}
