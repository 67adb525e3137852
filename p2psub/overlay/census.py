"""How many members a cluster had lately, as far as its super-node can know: this sets the bar for copies.

A new super-node counts the members that it knows of and those that others met in the term before. If its own word of
that term is old, members may have joined beyond a cut, so it assumes more than it knows, until it is told better. So
does a super-node that has not heard a majority of its members for longer than a lease: the others may go on without it.
"""

from __future__ import annotations

from collections.abc import Iterable

from p2psub.config import ClusterConfig
from p2psub.model.ids import Contact, Epoch, NodeId
from p2psub.model.messages.cluster import Heartbeat
from p2psub.model.places import Table
from p2psub.model.step import Step


class Census:
    """The members seen in one term, and lately before it.

    Members `known` at its beginning count as seen, and there were `met.seen` of them by the last table that we know of.
    `assumed_min` is for a node without a fresh word of the term before: it must assume that there were so many.
    """

    def __init__(
        self,
        step: Step,
        config: ClusterConfig,
        epoch: Epoch,
        known: Iterable[Contact] = (),
        met: Table | None = None,
        assumed_min: int = 0,
    ) -> None:
        self._step = step
        self._config = config
        self._epoch = epoch
        self._began_tick = self._doubted_tick = self._majority_tick = step.tick
        self._seen: dict[NodeId, int] = {contact.id: step.tick for contact in known}
        self._counted = set(self._seen)
        self._named = set(self._seen)
        self._told: set[NodeId] = set() if met is None else {step.me.id}
        self._incarnations: dict[NodeId, int] = {}
        self._doubted: dict[NodeId, int] = {}
        self._seen_min = 1 if met is None else met.seen
        self.assumed_min = assumed_min
        """How many members there may have been, whatever we know; 0 once we know enough."""

    def note(self, peer: Contact, heartbeat: Heartbeat) -> None:
        """A member is there; it may tell whom it met in another term."""
        met = heartbeat.met
        if met is not None and met.version.epoch != self._epoch:
            self._learn(peer, met, heartbeat.met_lately)
        elif met is not None or self._doubted.get(peer.id) == heartbeat.incarnation:
            self._hear_nothing_new(peer)
        self._incarnations[peer.id] = heartbeat.incarnation
        self._seen[peer.id] = self._step.tick

    def _learn(self, peer: Contact, met: Table, is_fresh: bool) -> None:
        self._told.add(peer.id)
        self._seen_min = max(self._seen_min, met.seen)
        for contact in met.owners:
            self._seen.setdefault(contact.id, self._step.tick)
            self._counted.add(contact.id)
            self._named.add(contact.id)
        self._settle(is_fresh)

    def _hear_nothing_new(self, peer: Contact) -> None:
        """It remembers our own term and no other: it has met no member that we have not."""
        self._told.add(peer.id)
        self._settle(is_fresh=False)

    def _settle(self, is_fresh: bool) -> None:
        """Newcomers were let in by members: if all that were ever named remember whom they met, none is missing."""
        if self.assumed_min and (is_fresh or self._named <= self._told):
            self.assumed_min, self._majority_tick = 0, self._step.tick

    def review(self, heard: Iterable[NodeId], assumed_min: int) -> None:
        """Once a tick: assume so many if we may be a side that was cut off, for others may have let in more members."""
        sure = {*heard, self._step.me.id}
        # Of two none may fail (docs/promises.md), so none has forgotten whom it met, and there is nothing to assume.
        if 2 * len(sure) > self._known_count or self._known_count == 2:
            self._majority_tick = self._step.tick
        elif self._step.tick - self._majority_tick > self._config.lease_ticks and not self.assumed_min:
            self.assumed_min, self._doubted_tick = assumed_min, self._step.tick
            self._doubted, self._told = dict(self._incarnations), sure
            self._named |= self._seen.keys()

    def dismiss(self, member: NodeId) -> None:
        """A member has left and given away what it held: no copy is expected of it."""
        self._seen.pop(member, None)
        if member in self._counted:
            self._counted.discard(member)
            self._seen_min -= 1
            self.assumed_min = max(0, self.assumed_min - 1)

    def forget(self) -> None:
        """Members that were not heard for long count no more."""
        oldest = self._step.tick - self._config.seen_ticks
        self._seen = {node: tick for node, tick in self._seen.items() if tick >= oldest}
        if self._doubted_tick < oldest:
            self.assumed_min = 0

    @property
    def count(self) -> int:
        """Members seen lately, alive or not, ourselves included."""
        return max(self._known_count, self.assumed_min)

    @property
    def _known_count(self) -> int:
        seen = len(self._seen) + (self._step.me.id not in self._seen)
        is_recent = self._step.tick - self._began_tick < self._config.seen_ticks
        return max(seen, self._seen_min) if is_recent else seen
