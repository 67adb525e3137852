"""Super-nodes compare what changes they hold, and give each other what is missing.

A digest rides on every cube heartbeat. Differing digests start an exchange of vectors and batches, which ends when both
hold the same. That is how a healed cut, a lost cast or a new cluster ends with the full set of subscriptions. What is
still on its way is neither offered nor given again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2psub.config import CubeConfig
from p2psub.model.changes import LogId, Vector
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.cube import ChangeBatch, CubeHeartbeat, VectorOffer
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.term import Office

_OFFER_TICKS_MAX: Final = 16
"""An offer that no batch answers is made again after a tick, then after two, four, up to this. A guess."""
_GIVE_TICKS: Final = 2
"""A batch that has left is given again after this time, if its receiver lacks it still."""


@dataclass(slots=True)
class _Offered:
    """The last offer to a peer that it has not answered."""

    transmission: Transmission
    patience_ticks: int


@dataclass(slots=True)
class _Given:
    """The last batch for a peer, and what it holds once that is there."""

    transmission: Transmission
    holds: dict[LogId, int]

    def is_under_way(self, vector: Vector, tick: int) -> bool:
        """Whether a peer that shows this vector only has to wait for it."""
        if self.transmission.is_waiting:
            return True
        held = dict(vector)
        return any(held.get(log, 0) < n for log, n in self.holds.items()) and not self.transmission.is_due(
            tick, _GIVE_TICKS
        )


class AntiEntropy:
    """Works on any node that holds changes; only an acting super-node applies what it learns."""

    def __init__(self, step: Step, config: CubeConfig, changes: ChangeSet, office: Office) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._office = office
        self._has_legacy = False
        self._offered: dict[NodeId, _Offered] = {}
        self._given: dict[NodeId, _Given] = {}

    def offer(self, peer: Contact) -> None:
        """Show what we hold, unless it was shown just now; the peer answers with what we lack."""
        before, patience_ticks = self._offered.get(peer.id), 1
        if before is not None:
            if not before.transmission.is_due(self._step.tick, before.patience_ticks):
                return
            patience_ticks = min(2 * before.patience_ticks, _OFFER_TICKS_MAX)
        transmission = self._step.send_followed(peer, VectorOffer(self._changes.as_vector()))
        self._offered[peer.id] = _Offered(transmission, patience_ticks)

    def link_lost(self, peer: NodeId) -> None:
        """What was on its way is lost."""
        self._offered.pop(peer, None)
        self._given.pop(peer, None)

    def bequeath(self, successor: Contact) -> None:
        """What we numbered must not be lost with our term, and the successor may be out of sight when it ends."""
        self._has_legacy = True
        self.offer(successor)

    def inherit(self) -> None:
        """We lead again: there is no other super-node to give it to."""
        self._has_legacy = False

    def beat(self, super_node: Contact) -> None:
        """Show what is left of our term again, until the present super-node has all of it."""
        if self._has_legacy:
            self.offer(super_node)

    def on_cube_heartbeat(self, peer: Contact, heartbeat: CubeHeartbeat) -> None:
        """A neighbour super-node shows what it holds."""
        if heartbeat.vector != self._changes.digest:
            self.offer(peer)

    def on_vector_offer(self, peer: Contact, offer: VectorOffer) -> None:
        """Answer in any case: a super-node that fills up must know that we have nothing more."""
        self._give(peer, offer.vector)

    def on_change_batch(self, peer: Contact, batch: ChangeBatch) -> None:
        """A peer gives us what we lack, or has nothing more."""
        self._offered.pop(peer.id, None)
        for change in batch.changes:
            self._office.learn(change)
        if batch.changes and not self._changes.contains(batch.vector):
            self.offer(peer)
        if self._office.term is not None:
            self._office.term.completeness.on_change_batch(peer, batch)
        if self._changes.missing_in(dict(batch.vector), 1):
            self._give(peer, batch.vector)
        else:
            self._has_legacy = False

    def _give(self, peer: Contact, vector: Vector) -> None:
        before = self._given.get(peer.id)
        if before is not None and before.is_under_way(vector, self._step.tick):
            return
        changes = self._changes.batch_for(dict(vector), self._config.batch_changes_max)
        batch = ChangeBatch(changes, self._changes.as_vector(), self._office.is_complete)
        holds = {change.number.log: change.number.n for change in changes}
        self._given[peer.id] = _Given(self._step.send_followed(peer, batch), holds)
