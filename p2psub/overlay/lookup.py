"""Finding the owner of a key, in O(log n) hops; refreshing fingers; and the probe that merges split rings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from p2psub.config import RingConfig
from p2psub.model.circle import CIRCLE, distance, place_after
from p2psub.model.ids import Contact, Key, NodeId
from p2psub.model.messages.ring import Found, Lookup
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.ring import Ring

_PATIENCE_TICKS: Final = 4
"""A look-up unanswered for this long is forgotten; a core that still wants it asks again. A guess: two heartbeats."""


class Lookups:
    """Recursive look-ups: they walk the ring and are answered straight to the origin."""

    def __init__(self, step: Step, config: RingConfig, ring: Ring) -> None:
        self._step = step
        self._config = config
        self._ring = ring
        self._number = 0
        self._finger = 0
        self._merge = 0
        self._waiting: dict[int, tuple[int, Callable[[Found], None]]] = {}

    def start(self, key: Key | NodeId, then: Callable[[Found], None], via: Contact | None = None) -> None:
        """Find the member before `key`; `then` is called at most once, perhaps never."""
        cluster = self._ring.cluster
        if cluster is None:
            return
        self._number += 1
        self._waiting[self._number] = (self._step.tick, then)
        lookup = Lookup(cluster, self._number, Key(key), self._step.me, 0)
        if via is not None:
            self._step.send(via, lookup)
        else:
            self.on_lookup(self._step.me, lookup)

    def on_lookup(self, _: Contact, lookup: Lookup) -> None:
        ring = self._ring
        if not ring.is_joined or lookup.cluster != ring.cluster:
            return
        if lookup.hops > self._config.lookup_hops_max:
            self._step.record(Kind.DROP, reason=Reason.LOOKUP_HOPS, hops=lookup.hops)
        elif ring.answers_for(lookup.key):
            successors = tuple(ring.successors) or (self._step.me,)
            found = Found(lookup.cluster, lookup.number, self._step.me, successors, lookup.hops)
            if lookup.origin.id == self._step.me.id:
                self.on_found(self._step.me, found)
            else:
                self._step.send(lookup.origin, found)
        else:
            further = Lookup(lookup.cluster, lookup.number, lookup.key, lookup.origin, lookup.hops + 1)
            self._step.send(ring.next_hop(lookup.key), further)

    def on_found(self, _: Contact, found: Found) -> None:
        waiting = self._waiting.pop(found.number, None)
        if waiting is not None and found.cluster == self._ring.cluster and found.successors:
            self._ring.remember(found.predecessor, *found.successors)
            waiting[1](found)

    def tick(self) -> None:
        """Forget old questions, and now and then refresh a finger or probe for another ring."""
        if self._waiting and self._step.tick % 2 == 0:
            self._waiting = {n: w for n, w in self._waiting.items() if self._step.tick - w[0] <= _PATIENCE_TICKS}
        ring = self._ring
        if not ring.is_joined or ring.is_small:
            return
        if self._step.tick % self._config.finger_every_ticks == 0:
            self._refresh_finger()
        if self._step.tick % self._config.merge_every_ticks == 0:
            self._probe_for_other_ring()

    def _refresh_finger(self) -> None:
        self._finger = self._finger % self._config.fingers + 1
        finger = self._finger
        start = place_after(self._step.me.id, CIRCLE >> finger)

        def keep(found: Found) -> None:
            if found.successors[0].id != self._step.me.id:
                self._ring.fingers[finger] = found.successors[0]

        self.start(Key(start), keep)

    def _probe_for_other_ring(self) -> None:
        """Ask a remembered contact, in turn, which member follows us: after a cut, it may name the other ring."""
        remembered = list(self._ring.remembered.values())
        if remembered:
            self._merge = (self._merge + 1) % len(remembered)
            self.start(self._step.me.id, self._join_other_ring, via=remembered[self._merge])

    def _join_other_ring(self, found: Found) -> None:
        me = self._step.me.id
        others = [c for c in (found.predecessor, *found.successors) if c.id != me]
        if others:
            self._ring.consider(min(others, key=lambda contact: distance(me, contact.id)))
