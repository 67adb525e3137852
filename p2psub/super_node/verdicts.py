"""Declarations of the cluster's own peers: numbered, cast to every cluster, and concluded by a verdict."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from p2psub.admission.demand import demand_of
from p2psub.admission.permits import Permits
from p2psub.casts.cast import Casts
from p2psub.config import CubeConfig
from p2psub.model.changes import Change
from p2psub.model.content import Declaration, DeclarationState, Subscription
from p2psub.model.graycode import WHOLE, Prefix, covers
from p2psub.model.ids import CastId, ClusterId, Contact, SubscriptionId
from p2psub.model.messages.casts import ChangePayload, ChangeSummary, Summary
from p2psub.model.messages.declarations import Declare, Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.rates import Demand
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.directory import Directory
from p2psub.super_node.change_log import ChangeLog
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.confirmations import Confirmations


@dataclass(slots=True)
class _Own:
    """A change of our own cluster on its way to every other."""

    change: Change
    peer: Contact
    asked_tick: int
    cast: CastId | None = None
    """The last cast of it; one that did not reach every cluster is followed by another."""
    cast_tick: int = 0
    status: VerdictStatus | None = None
    unreached: tuple[ClusterId, ...] = ()
    turned_down: Declaration | None = None
    """The version that owners refused and that this change ends; its peer is told once the end outlives us."""


class Verdicts:
    """What one term has been asked for, and what it has said."""

    def __init__(
        self,
        step: Step,
        config: CubeConfig,
        changes: ChangeSet,
        directory: Directory,
        permits: Permits,
        log: ChangeLog,
        confirmations: Confirmations,
        casts: Casts,
    ) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._directory = directory
        self._permits = permits
        self._log = log
        self._confirmations = confirmations
        self._casts = casts
        self._own: dict[SubscriptionId, _Own] = {}

    def on_declare(self, peer: Contact, asked: Declare) -> None:
        """Number a new record; of a known one repeat the verdict, or see to it that there will be one."""
        record = asked.record
        if record.id.node != peer.id:
            return
        refusal = self._permits.refusal(peer.id, record)
        if refusal is not None:
            self._step.record(Kind.DROP, subscription=record.id, peer=peer.id, reason=refusal)
            self._refuse(peer, record, refusal)
            return
        known = self._changes.current(record.id)
        if known is None or known.record.version < record.version:
            self._number(record, peer)
        elif self._changes.is_turned_down(record):
            if self._log.is_replicated(known.number):
                self._refuse(peer, record, Reason.VOTED_DOWN)
        elif known.record.version > record.version:
            self._refuse(peer, known.record, Reason.LAPSED)
        else:
            own = self._own.get(record.id)
            if own is None:
                # Numbered in a term before ours: whether every cluster has it must be found out again.
                self._own[record.id] = _Own(known, peer, self._step.tick)
            elif own.status is not None:
                own.peer = peer
                self._say(peer, record, own.status, own.unreached)

    def _say(self, peer: Contact, record: Declaration, status: VerdictStatus, unreached: tuple[ClusterId, ...]) -> None:
        self._step.send(peer, Verdict(record.id, record.version, status, unreached, demand=self._demand_of(record)))

    def _demand_of(self, record: Declaration) -> Demand | None:
        """What the publishers that we know of now advertise of a subscription that stands."""
        if isinstance(record, Subscription) and record.state is DeclarationState.ACTIVE:
            return demand_of(record.filter, self._changes.offers)
        return None

    def _refuse(self, peer: Contact, record: Declaration, reason: Reason) -> None:
        self._step.send(peer, Verdict(record.id, record.version, VerdictStatus.REFUSED, (), reason))

    def _number(self, record: Declaration, peer: Contact, turned_down: Declaration | None = None) -> None:
        change = self._log.number(record)
        self._confirmations.learn(change)
        self._own[record.id] = _Own(change, peer, self._step.tick, turned_down=turned_down)

    def end(self, record: Declaration, peer: Contact) -> None:
        """Number the end of a declaration of our cluster; another cluster ends its own."""
        if record.cluster == self._log.id.cluster:
            self._number(_ended(record), peer)

    def _turn_down(self, own: _Own) -> None:
        """An owner somewhere refused a declaration of ours: it ends."""
        record = own.change.record
        self._changes.turn_down(record)
        self._number(_ended(record), own.peer, turned_down=record)

    # Casts

    def cast_what_is_replicated(self) -> None:
        """Tell every cluster of what outlives us; again, later, if not all of them answered."""
        stable = VerdictStatus.STABLE
        for own in [own for own in self._own.values() if own.status is not stable]:
            if self._is_cast_due(own) and self._log.is_replicated(own.change.number):
                self._cast(own)

    def _is_cast_due(self, own: _Own) -> bool:
        """Not while a cast of it is open: that hands halves on again itself, and what waits for a link is in it."""
        if own.cast is None:
            return True
        is_late = self._step.tick - own.cast_tick >= self._config.recast_after_ticks
        return is_late and not self._casts.is_open(own.cast)

    def _cast(self, own: _Own) -> None:
        if own.turned_down is not None and own.cast is None:
            self._refuse(own.peer, own.turned_down, Reason.VOTED_DOWN)
        own.cast_tick = self._step.tick
        own.cast = self._casts.start(ChangePayload(own.change), lambda summary, _: self._cast_done(own, summary))

    def _cast_done(self, own: _Own, summary: Summary) -> None:
        assert isinstance(summary, ChangeSummary)
        record = own.change.record
        is_overtaken = self._own.get(record.id) is not own
        if is_overtaken and self._changes.is_turned_down(record):
            # Another cast of it was refused: that stands.
            return
        if summary.refused and record.state is DeclarationState.ACTIVE:
            if not is_overtaken and own.status is not VerdictStatus.STABLE:
                self._turn_down(own)
        elif covers(list(summary.covered), WHOLE):
            self._conclude(own, VerdictStatus.STABLE, ())
        else:
            own.unreached = self._unreached(summary.covered)

    def _unreached(self, covered: tuple[Prefix, ...]) -> tuple[ClusterId, ...]:
        reached = list(covered)
        return tuple(entry.cluster for entry in self._directory.present() if not covers(reached, entry.prefix))

    def _conclude(self, own: _Own, status: VerdictStatus, unreached: tuple[ClusterId, ...]) -> None:
        own.status, own.unreached = status, unreached
        self._say(own.peer, own.change.record, status, unreached)

    def tick(self) -> None:
        """Cast again what did not reach every cluster; say `accepted` when the full answer is late."""
        self.cast_what_is_replicated()
        for id_, own in list(self._own.items()):
            self._tend(id_, own)

    def _tend(self, id_: SubscriptionId, own: _Own) -> None:
        waited_ticks = self._step.tick - own.asked_tick
        if own.status is VerdictStatus.STABLE:
            if waited_ticks > self._config.remember_ticks:
                del self._own[id_]
        elif own.status is None and own.cast is not None and waited_ticks >= self._config.accepted_after_ticks:
            progress = self._casts.progress(own.cast)
            covered = progress.covered if isinstance(progress, ChangeSummary) else ()
            self._conclude(own, VerdictStatus.ACCEPTED, self._unreached(covered))


def _ended(record: Declaration) -> Declaration:
    """The version after it, which ends it."""
    return msgspec.structs.replace(record, version=record.version + 1, state=DeclarationState.ENDED)
