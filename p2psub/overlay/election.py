"""Which member leads the cluster: epochs, ranked candidates, takeover, deposition.

Epochs are totally ordered. A member follows the highest it has heard of; a super-node that hears of a higher one steps
down. Nothing is fetched at the moment of failure: the first candidates were given the state beforehand.
"""

from __future__ import annotations

from typing import Final

from p2psub.config import ClusterConfig
from p2psub.model.ids import ID_BYTES, ClusterId, Contact, Epoch, NodeId, Place
from p2psub.model.messages.cluster import Takeover
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step

NO_EPOCH: Final = Epoch(0, NodeId(Place(bytes(ID_BYTES))), 0)
"""Below every term."""

_ALONE_PATIENCE_TICKS: Final = 60
"""A node that hears no other was probably cut off; it waits this much longer before it leads alone."""


class Election:
    """One member's opinion on which node is its super-node."""

    def __init__(self, step: Step, config: ClusterConfig) -> None:
        self._step = step
        self._config = config
        self.cluster: ClusterId | None = None
        self.wanted: ClusterId | None = None
        """The cluster to join, while we are in none."""
        self.epoch = NO_EPOCH
        self.super_node: Contact | None = None
        self.candidates: tuple[Contact, ...] = ()
        self._named_tick = 0
        self._vacant_ticks: int | None = None

    @property
    def is_super_node(self) -> bool:
        """Whether we are the super-node."""
        return self.super_node is not None and self.super_node.id == self._step.me.id

    def recover(self, cluster: ClusterId, epoch: Epoch) -> None:
        """After a restart: the highest epoch we knew; the super-node must be heard anew."""
        self.cluster, self.epoch = cluster, epoch

    def lead(self, cluster: ClusterId) -> None:
        """Begin a term of our own, above every epoch heard of."""
        self._set(cluster, Epoch(self.epoch.counter + 1, self._step.me.id, self._step.incarnation), self._step.me)
        self.candidates = ()
        self._step.record(Kind.ROLE, cluster=cluster, epoch=self.epoch, reason=Reason.SUPER_NODE)

    def follow(self, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> bool:
        """Accept a term that is not below ours; True if we follow another super-node now."""
        if (self.cluster is not None and cluster != self.cluster) or epoch < self.epoch:
            return False
        self._vacant_ticks = None
        if self.super_node is not None and epoch == self.epoch:
            return False
        if self.is_super_node:
            self._step.record(Kind.ROLE, cluster=cluster, epoch=epoch, peer=super_node.id, reason=Reason.DEPOSED)
        self._set(cluster, epoch, super_node)
        return True

    def _set(self, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> None:
        self.cluster, self.epoch, self.super_node = cluster, epoch, super_node
        self._vacant_ticks = None
        self._step.write("membership", ("cluster",), (cluster, epoch))

    def resign(self) -> None:
        """What we founded exists already: forget that we ever led, so that its true term is not below ours."""
        self._step.record(Kind.ROLE, cluster=self.cluster, epoch=self.epoch, reason=Reason.RESIGNED)
        self.cluster, self.epoch, self.super_node, self.candidates = None, NO_EPOCH, None, ()
        self._vacant_ticks = None
        self._step.erase("membership", ("cluster",))

    def outlive(self, epoch: Epoch) -> None:
        """The highest term was an earlier process of ours: the succession after it begins."""
        self.epoch, self.super_node, self._vacant_ticks = epoch, None, 0

    def abdicate(self) -> None:
        """Lead no more; the succession begins."""
        self._step.record(Kind.ROLE, cluster=self.cluster, epoch=self.epoch, reason=Reason.ABDICATED)
        self.super_node, self._vacant_ticks = None, 0

    def vacate(self, lost: NodeId) -> bool:
        """A node is dead, or says it leads no more; True if it was our super-node: the succession begins."""
        if self.super_node is None or self.super_node.id != lost or self.is_super_node:
            return False
        self.super_node, self._vacant_ticks = None, 0
        return True

    @property
    def is_vacant(self) -> bool:
        """Whether the cluster, as far as we know, has no super-node."""
        return self.cluster is not None and self.super_node is None

    def name(self, candidates: tuple[Contact, ...]) -> None:
        """Our super-node's word: these are its in-sync candidates."""
        self.candidates, self._named_tick = candidates, self._step.tick

    @property
    def is_fresh(self) -> bool:
        """Whether the candidates are still in sync: without word for longer than a lease, a cut may be between us.

        Beyond it our super-node may go on, and call stable what its candidates on this side never heard of.
        """
        return self._step.tick - self._named_tick <= self._config.lease_ticks

    def begin_succession(self) -> None:
        """All members that could know of a super-node say that there is none: the succession begins here."""
        self._vacant_ticks = 0

    def is_my_turn(self, members: list[Contact], hears_anybody: bool) -> bool:
        """Count one tick of the vacancy; True when it is ours to take over.

        The first candidate acts at once and each rank below waits longer, so that usually one takes over; if two do,
        epochs decide. Behind the candidates the members follow as they are given.
        """
        if self._vacant_ticks is None:
            self._vacant_ticks = 0
        self._vacant_ticks += 1
        wait = self._rank(members) * self._config.succession_ticks
        return self._vacant_ticks > wait + (0 if hears_anybody else _ALONE_PATIENCE_TICKS)

    def _rank(self, members: list[Contact]) -> int:
        line = list(dict.fromkeys(contact.id for contact in (*self.candidates, *members)))
        me = self._step.me.id
        return line.index(me) if me in line else len(line)

    def announcement(self) -> Takeover:
        """The super-node and its epoch, for peers that believe otherwise."""
        assert self.cluster is not None and self.super_node is not None
        return Takeover(self.cluster, self.epoch, self.super_node)
