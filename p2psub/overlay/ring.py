"""The Chord ring of one cluster, maintained by Zave's corrected rules (2017).

A joiner copies its predecessor's whole successor list. A stabilisation has two steps: adopt the successor's list,
then, if the successor knows a closer member, adopt that one's list. Rectify replaces only a worse or dead
predecessor, and every completed stabilisation notifies. No list is ever padded: a short list says that the ring is
small.

A ring of at most r + 1 members cannot keep these rules' invariant; in that *small ring* the super-node hands out the
lists.
"""

from __future__ import annotations

from collections.abc import Iterable

from p2psub.config import RingConfig
from p2psub.model.circle import distance, is_between, is_in_arc
from p2psub.model.ids import ClusterId, Contact, Key, NodeId, Place
from p2psub.model.messages.ring import Found, Neighbourhood, Stabilise
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.overlay.liveness import Liveness


class Ring:
    """One member's view: successor list, predecessor, fingers and remembered contacts."""

    def __init__(self, step: Step, config: RingConfig, liveness: Liveness, election: Election) -> None:
        self._step = step
        self._config = config
        self._liveness = liveness
        self._election = election
        self.is_joined = False
        self.is_small = False
        self.successors: list[Contact] = []
        self.predecessor: Contact | None = None
        self.fingers: dict[int, Contact] = {}
        self.remembered: dict[NodeId, Contact] = {}
        self._completed_with: NodeId | None = None
        self._asked_closer: NodeId | None = None

    @property
    def cluster(self) -> ClusterId | None:
        """Whose ring it is."""
        return self._election.cluster

    # Joining and leaving

    def found(self) -> None:
        """Become a ring of one."""
        self._enter()
        self.is_small = True

    def join(self, found: Found) -> bool:
        """Copy the successor list of the member before us; one that names only ourselves is of no use."""
        successors = self._without_me([*found.successors])
        if not successors and found.predecessor.id == self._step.me.id:
            return False
        self._enter()
        self.is_small = False
        self._adopt(successors or [found.predecessor])
        return True

    def take_small_list(self, members: Iterable[Contact]) -> None:
        """In a small ring the super-node's list is the ring."""
        others = self._clockwise([m for m in members if m.id != self._step.me.id])
        self._enter()
        self.is_small = True
        # The list is the whole ring; no member refreshes a finger here, or watches where it points.
        self.fingers = {}
        self.predecessor = others[-1] if others else None
        self._adopt(others)

    def outgrow_small(self) -> None:
        """The ring has more than r members: the lists last handed out are ideal, and the rules keep them so."""
        self.is_small = False

    def leave(self) -> None:
        """Forget the ring, but not the contacts."""
        self.is_joined = False
        self.is_small = False
        self.successors, self.predecessor, self.fingers = [], None, {}

    def _enter(self) -> None:
        if not self.is_joined:
            self.is_joined = True
            self._step.record(Kind.RING, cluster=self.cluster)

    # Maintenance

    def stabilise(self) -> None:
        """Once a beat: ask the first successor for its neighbourhood (first step)."""
        if self.is_joined and not self.is_small and self.successors:
            first, cluster = self.successors[0], self.cluster
            assert cluster is not None
            self._step.send(first, Stabilise(cluster, notifies=self._completed_with == first.id))

    def on_stabilise(self, peer: Contact, asked: Stabilise) -> None:
        if not self.is_joined or asked.cluster != self.cluster:
            return
        self.remember(peer)
        if asked.notifies:
            self._rectify(peer)
        self._step.send(peer, Neighbourhood(asked.cluster, self.predecessor, tuple(self.successors)))

    def on_neighbourhood(self, peer: Contact, told: Neighbourhood) -> None:
        if not self.is_joined or told.cluster != self.cluster or self.is_small:
            return
        self.remember(peer, *told.successors)
        if self.successors and peer.id == self.successors[0].id:
            self._adopt([peer, *told.successors])
            closer = told.predecessor
            if closer is not None and self._is_closer(closer):
                self.consider(closer)
            else:
                self._completed_with = peer.id
        elif peer.id == self._asked_closer and self._is_closer(peer):
            self._adopt([peer, *told.successors])
            self._completed_with = peer.id

    def consider(self, closer: Contact) -> None:
        """Second step: ask a possibly closer successor for its list; it is adopted only if it answers."""
        if self.is_joined and not self.is_small and self._is_closer(closer):
            self._asked_closer, cluster = closer.id, self.cluster
            assert cluster is not None
            self._step.send(closer, Stabilise(cluster, notifies=False))

    def _is_closer(self, contact: Contact) -> bool:
        me = self._step.me.id
        if contact.id == me or self._liveness.is_dead(contact.id):
            return False
        return not self.successors or is_between(me, contact.id, self.successors[0].id)

    def _rectify(self, peer: Contact) -> None:
        mine = self.predecessor
        if mine is None or self._liveness.is_dead(mine.id) or is_between(mine.id, peer.id, self._step.me.id):
            self.predecessor = peer

    def _adopt(self, successors: list[Contact]) -> None:
        """Take a list: cut where it comes round to us, without members known to be dead, at most r long."""
        adopted: dict[NodeId, Contact] = {}
        for contact in successors:
            if contact.id == self._step.me.id:
                break
            if not self._liveness.is_dead(contact.id):
                adopted[contact.id] = contact
        self.successors = list(adopted.values())[: self._config.successors]
        self.remember(*self.successors)

    def link_lost(self, peer: NodeId) -> None:
        """Liveness does not watch fingers, and they are for speed only: drop one that cannot be reached."""
        if any(finger.id == peer for finger in self.fingers.values()):
            self.fingers = {i: f for i, f in self.fingers.items() if f.id != peer}

    def forget(self, dead: NodeId) -> None:
        """Close the gap that a dead member leaves."""
        self.successors = [s for s in self.successors if s.id != dead]
        self.fingers = {i: f for i, f in self.fingers.items() if f.id != dead}
        if self.predecessor is not None and self.predecessor.id == dead:
            self.predecessor = None
        if self.is_joined and not self.is_small and not self.successors:
            # Every successor died at once. A remembered contact may bring us back; until then we own nothing.
            self._adopt(self._clockwise(c for c in self.remembered.values() if c.id != dead))

    def watched(self) -> list[Contact]:
        """Whose silence matters: the first successor (all, once it is suspect) and the predecessor."""
        watched = self.successors[:1]
        if self.is_small or (watched and self._liveness.is_suspect(watched[0].id)):
            watched = list(self.successors)
        if self.predecessor is not None:
            watched.append(self.predecessor)
        return watched

    # Routing

    def answers_for(self, key: Key | NodeId) -> bool:
        """Whether we are the member before `key`."""
        return not self.successors or is_in_arc(self._step.me.id, key, self.successors[0].id)

    def next_hop(self, key: Key | NodeId) -> Contact:
        """The known live member closest before `key`."""
        best, me = self.successors[0], self._step.me.id
        for contact in [*self.successors, *self.fingers.values()]:
            if is_between(best.id, contact.id, key) and is_between(me, contact.id, key):
                if not self._liveness.is_dead(contact.id):
                    best = contact
        return best

    # Contacts

    def remember(self, *contacts: Contact) -> None:
        """Keep contacts of this cluster for the merge probe; the oldest are forgotten first."""
        for contact in contacts:
            if contact.id != self._step.me.id:
                self.remembered[contact.id] = contact
        while len(self.remembered) > self._config.contacts_max:
            del self.remembered[next(iter(self.remembered))]

    def _clockwise(self, contacts: Iterable[Contact]) -> list[Contact]:
        me: Place = self._step.me.id
        return sorted(contacts, key=lambda contact: distance(me, contact.id))

    def _without_me(self, contacts: list[Contact]) -> list[Contact]:
        return [contact for contact in contacts if contact.id != self._step.me.id]
