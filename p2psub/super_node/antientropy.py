"""Super-nodes compare what changes they hold, and give each other what is missing.

A digest rides on every cube heartbeat. Differing digests start an exchange of vectors and batches, which ends when both
hold the same. That is how a healed cut, a lost cast or a new cluster ends with the full set of subscriptions.
"""

from __future__ import annotations

from p2psub.config import CubeConfig
from p2psub.model.changes import Vector
from p2psub.model.ids import Contact
from p2psub.model.messages.cube import ChangeBatch, CubeHeartbeat, VectorOffer
from p2psub.model.step import Step
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.term import Office


class AntiEntropy:
    """Works on any node that holds changes; only an acting super-node applies what it learns."""

    def __init__(self, step: Step, config: CubeConfig, changes: ChangeSet, office: Office) -> None:
        self._step = step
        self._config = config
        self._changes = changes
        self._office = office
        self._has_legacy = False

    def offer(self, peer: Contact) -> None:
        """Show what we hold; the peer answers with what we lack."""
        self._step.send(peer, VectorOffer(self._changes.as_vector()))

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
        changes = self._changes.batch_for(dict(vector), self._config.batch_changes_max)
        self._step.send(peer, ChangeBatch(changes, self._changes.as_vector(), self._office.is_complete))
