"""Leaving gracefully: a node gives away its term, its keys and its events, and then tells its members that it goes.

Its super-node decides when it may give its keys away (`Roster.owners`): never more members go at once than those that
stay can answer for. What was acknowledged is not lost by leaving, however many leave.
"""

from __future__ import annotations

from p2psub.model.ids import Contact
from p2psub.model.messages.cluster import Left
from p2psub.node.cores import Cores
from p2psub.node.leadership import Leadership
from p2psub.node.life_cycle import Happening, LifeCycle
from p2psub.node.membership import Membership


class Leaver:
    """What a node does to leave, and when another has left."""

    def __init__(self, cores: Cores, life: LifeCycle, membership: Membership, leadership: Leadership) -> None:
        self._cores = cores
        self._step = cores.step
        self._life = life
        self._membership = membership
        self._leadership = leadership

    def leave(self) -> None:
        """Give keys and term to those that stay, and go once everything we hold is held by others."""
        self._life.note(Happening.ASKED_TO_LEAVE)
        election = self._cores.election
        if election.super_node is not None and not election.is_super_node:
            self._membership.send_heartbeat(election.super_node)

    def leave_if_free(self) -> None:
        """Hand over our term to an in-sync candidate that stays; go when we hold nothing.

        Without one that stays we lead on, until the last of the others has gone.
        """
        cores, term = self._cores, self._cores.office.term
        if term is not None and term.roster.staying():
            staying = {contact.id for contact in term.roster.staying()}
            if any(candidate.id in staying for candidate in term.in_sync_candidates()):
                self._leadership.hand_over()
            return
        holds_events = cores.owner.status().undischarged or cores.publisher.status().outbox
        holds_keys = cores.arc_lease.is_owner if term is None else not term.roster.is_last
        if not holds_events and not holds_keys:
            self._go()

    def _go(self) -> None:
        cores, election = self._cores, self._cores.election
        self._life.note(Happening.RELEASED)
        known = {contact.id: contact for contact in cores.known_members()}
        if election.super_node is not None:
            known[election.super_node.id] = election.super_node
        for node, contact in known.items():
            if node != self._step.me.id and election.cluster is not None:
                self._step.send(contact, Left(election.cluster))

    def on_left(self, peer: Contact, left: Left) -> None:
        """A member has left gracefully: its death need not be waited for, and no copy is expected of it."""
        if left.cluster == self._cores.election.cluster:
            self._cores.ring.forget(peer.id)
            self._cores.ring.remembered.pop(peer.id, None)
            if self._cores.office.term is not None:
                self._cores.office.term.dismiss(peer)
