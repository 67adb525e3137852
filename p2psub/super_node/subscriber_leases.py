"""Leases of subscribers: what is not renewed runs out, and a peer hears of every end that may not be its own word.

A peer that is silent for a lease is taken for gone, but it may have been cut off only, and so may the term that ended
its records. It alone knows what it still means: it is told, and goes above the end. If it meant the end, it ignores it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from p2psub.config import ClusterConfig
from p2psub.model.changes import Change, LogId
from p2psub.model.content import Declaration, DeclarationState
from p2psub.model.ids import ClusterId, Contact, NodeId, SubscriptionId
from p2psub.model.messages.pubsub import Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.places import Table
from p2psub.model.step import Step
from p2psub.super_node.change_set import ChangeSet

_TELLINGS_MAX: Final = 16
"""How often a peer is told of one end. A guess: at a third lost, one in a hundred million is missed."""

_TOLD_AT_ONCE_MAX: Final = 64
"""Ends told in answer to one report. A guess: some kilobytes."""


@dataclass(slots=True)
class _Lapse:
    """An end that its peer may not know of."""

    version: int
    tellings: int = 0


class SubscriberLeases:
    """The leases that a super-node keeps; an heir notes what it would have to tell."""

    def __init__(self, step: Step, config: ClusterConfig, changes: ChangeSet) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._heard_tick: dict[NodeId, int] = {}
        self._met: dict[NodeId, None] = {}
        self._lapses: dict[NodeId, dict[SubscriptionId, _Lapse]] = {}

    def restart(self, last: Table | None) -> None:
        """Begin a term: every lease runs anew. `last` is the table of the term before, if we were in that one.

        Whoever is in that table was heard until the end of it, and told what there was to tell.
        """
        self._heard_tick = {record.id.node: self._step.tick for record in self._changes.active()}
        self._met = {} if last is None else {owner.id: None for owner in last.owners}
        # We report to nobody.
        for id_ in self._changes.ended_of(self._step.me.id, self._step.incarnation):
            self.doubt(id_)

    def run_out(self, cluster: ClusterId) -> list[Declaration]:
        """What is declared in a cluster by peers that were not heard for a lease; we ourselves need none."""
        declared = [r for r in self._changes.active() if r.cluster == cluster and r.id.node != self._step.me.id]
        oldest = self._step.tick - self._config.subscriber_lease_ticks
        return [record for record in declared if self._heard_tick.setdefault(record.id.node, self._step.tick) < oldest]

    def learn(self, change: Change, term: LogId, table: Table | None = None) -> None:
        """Learn a change as super-node of `term`; or as its heir, who is given the table of it.

        Ends that another term numbered are doubted. An heir doubts its super-node's too if the peer has no keys: who
        is in touch has some, and whoever is not did not ask for an end.
        """
        record = change.record
        if record.cluster != term.cluster:
            return
        is_foreign = change.number.stream != term
        is_away = table is not None and all(owner.id != record.id.node for owner in table.owners)
        if record.state is DeclarationState.ENDED:
            if is_foreign or is_away:
                self.doubt(record.id)
        elif is_foreign:
            # Its peer was heard where it was numbered, and needs time to find us.
            self._heard_tick[record.id.node] = self._step.tick

    def doubt(self, id_: SubscriptionId) -> None:
        """A declaration was ended, perhaps without its peer's word; unless that is an old story."""
        current = self._changes.current(id_)
        assert current is not None
        if current.record.state is DeclarationState.ACTIVE:
            return
        if id_.node == self._step.me.id:
            self._tell(self._step.me, current.record)
        else:
            self._lapses.setdefault(id_.node, {})[id_] = _Lapse(current.record.version)

    def heard(self, peer: Contact, incarnation: int) -> None:
        """A member reported: its leases run on, and it hears of what ended without it."""
        self._heard_tick[peer.id] = self._step.tick
        if peer.id not in self._met:
            # Away when our term began: what an earlier one ended meanwhile it may not know.
            self._met[peer.id] = None
            for id_ in self._changes.ended_of(peer.id, incarnation):
                self.doubt(id_)
        if peer.id in self._lapses:
            self._tell_some(peer, incarnation, self._lapses[peer.id])

    def _tell_some(self, peer: Contact, incarnation: int, lapses: dict[SubscriptionId, _Lapse]) -> None:
        """Tell a peer of ends that still stand, each in its turn, and of none too often: it answers none of its own."""
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
        self._step.send(peer, Verdict(ended.id, ended.version, VerdictStatus.REFUSED, ()))
