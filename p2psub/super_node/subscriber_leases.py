"""Leases of subscribers: what is not renewed runs out, and a peer hears of every end that may not be its own word.

A peer that is silent for a lease is taken for gone, but it may only have been cut off, and so may the term that ended
its records. The peer alone knows what it still means: it is told of the end, and declares anew above it. If it meant
the end, it ignores the word.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from p2psub.config import ClusterConfig
from p2psub.model.changes import Change, LogId
from p2psub.model.content import Declaration, DeclarationState
from p2psub.model.ids import Contact, NodeId, SubscriptionId
from p2psub.model.messages.declarations import Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.step import Step
from p2psub.super_node.change_set import ChangeSet

_TELLINGS_MAX: Final = 16
"""How often a peer is told of one end. A guess: at a third lost, one in a hundred million is missed."""

_TOLD_AT_ONCE_MAX: Final = 64
"""Ends told in answer to one heartbeat. A guess: some kilobytes."""


@dataclass(slots=True)
class _Lapse:
    """An end that its peer may not know of."""

    version: int
    tellings: int = 0


class Lapses:
    """Ends to tell their peers of. An in-sync candidate notes them too, for the term that it may begin."""

    def __init__(self, step: Step, changes: ChangeSet) -> None:
        self._step = step
        self._changes = changes
        self._lapses: dict[NodeId, dict[SubscriptionId, _Lapse]] = {}

    def learn(self, change: Change, log: LogId, table: Table | None = None) -> None:
        """Learn a change as super-node of the term with this log; or as its in-sync candidate, with the term's table.

        Ends that another term numbered are doubted. A candidate doubts its super-node's too if the peer has no keys: a
        peer that is in touch has some, and one that is not did not ask for an end.
        """
        record = change.record
        if record.cluster != log.cluster or record.state is not DeclarationState.ENDED:
            return
        is_away = table is not None and all(owner.id != record.id.node for owner in table.owners)
        if change.number.log != log or is_away:
            self.doubt(record.id)

    def doubt(self, id_: SubscriptionId) -> None:
        """A declaration was ended, perhaps without its peer's word; nothing is done if it stands again."""
        current = self._changes.current(id_)
        assert current is not None
        if current.record.state is DeclarationState.ACTIVE:
            return
        if id_.node == self._step.me.id:
            self._tell(self._step.me, current.record)
        else:
            self._lapses.setdefault(id_.node, {})[id_] = _Lapse(current.record.version)

    def tell(self, peer: Contact, incarnation: int) -> None:
        """Tell a peer of ends that still stand, each in its turn, and of none too often: it answers none of its own."""
        lapses = self._lapses.get(peer.id)
        if lapses is None:
            return
        for id_ in list(islice(lapses, _TOLD_AT_ONCE_MAX)):
            lapse, current = lapses.pop(id_), self._changes.current(id_)
            assert current is not None
            if current.record.version == lapse.version and id_.incarnation >= incarnation:
                self._tell(peer, current.record)
                lapse.tellings += 1
                if lapse.tellings < _TELLINGS_MAX:
                    lapses[id_] = lapse
        if not lapses:
            del self._lapses[peer.id]

    def _tell(self, peer: Contact, ended: Declaration) -> None:
        self._step.send(peer, Verdict(ended.id, ended.version, VerdictStatus.REFUSED, (), Reason.LAPSED))


class SubscriberLeases:
    """The leases of one term; all of them run anew when it begins.

    `last` is the table of the term before, if this node was in it: its owners were heard until the end of that term,
    and told what there was to tell.
    """

    def __init__(
        self, step: Step, config: ClusterConfig, changes: ChangeSet, lapses: Lapses, log: LogId, last: Table | None
    ) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._lapses = lapses
        self._log = log
        self._heard_tick: dict[NodeId, int] = {record.id.node: step.tick for record in changes.active()}
        self._met: dict[NodeId, None] = {} if last is None else {owner.id: None for owner in last.owners}
        # The super-node sends itself no heartbeat.
        for id_ in changes.ended_of(step.me.id, step.incarnation):
            lapses.doubt(id_)

    def run_out(self) -> list[Declaration]:
        """What our cluster's peers declared that were not heard for a lease; the super-node itself needs none."""
        cluster, me, tick = self._log.cluster, self._step.me.id, self._step.tick
        declared = [r for r in self._changes.active() if r.cluster == cluster and r.id.node != me]
        oldest = tick - self._config.subscriber_lease_ticks
        return [record for record in declared if self._heard_tick.setdefault(record.id.node, tick) < oldest]

    def learn(self, change: Change) -> None:
        """Learn a change that our cluster did not number in this term."""
        record = change.record
        self._lapses.learn(change, self._log)
        is_ours = record.cluster == self._log.cluster and record.state is DeclarationState.ACTIVE
        if is_ours and change.number.log != self._log:
            # Its peer was heard where it was numbered, and needs time to find us.
            self._heard_tick[record.id.node] = self._step.tick

    def heard(self, peer: Contact, incarnation: int) -> None:
        """A member is heard: its leases run on, and it hears of what ended without it."""
        self._heard_tick[peer.id] = self._step.tick
        if peer.id not in self._met:
            # Away when our term began: what an earlier one ended meanwhile it may not know.
            self._met[peer.id] = None
            for id_ in self._changes.ended_of(peer.id, incarnation):
                self._lapses.doubt(id_)
        self._lapses.tell(peer, incarnation)
