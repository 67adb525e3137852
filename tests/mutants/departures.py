"""Mutants of leaving gracefully: what a leaver holds, who leads meanwhile, and when it may go."""

from __future__ import annotations

import pytest

from p2psub.model.messages.cluster import Left
from p2psub.node.leaver import Leaver
from p2psub.node.life_cycle import Happening
from p2psub.node.membership import Membership
from p2psub.overlay.roster import Roster
from tests.mutants.hostile import SMALL_RINGS_LEAVE, SMALL_RINGS_LEAVE_APART
from tests.mutants.mutant import mutant


@mutant("S1", "S5", "conservation", on=SMALL_RINGS_LEAVE)
def all_leavers_give_up_their_keys_at_once(patch: pytest.MonkeyPatch) -> None:
    """Rule: leavers hold keys while the others are too few for the copies. Here each goes as soon as it asks."""
    patch.setattr(Roster, "_kept", lambda self: [])


@mutant("S1", "conservation", on=SMALL_RINGS_LEAVE_APART, first=7)
def last_super_node_goes_with_what_it_holds(patch: pytest.MonkeyPatch) -> None:
    """Rule: the last member waits until it holds nothing. Here it goes as soon as no member is there that stays."""
    leave_if_free = Leaver.leave_if_free

    def hasty(self: Leaver) -> None:
        term, cluster = self._cores.office.term, self._cores.election.cluster
        if term is None or term.roster.staying() or cluster is None:
            leave_if_free(self)
            return
        self._life.note(Happening.RELEASED)
        for contact in self._cores.known_members():
            if contact.id != self._step.me.id:
                self._step.send(contact, Left(cluster))

    patch.setattr(Leaver, "leave_if_free", hasty)


@mutant("bound:failover", on=SMALL_RINGS_LEAVE)
def leavers_never_lead(patch: pytest.MonkeyPatch) -> None:
    """Rule: leavers lead if no other can. Here a ring whose other members are down has no super-node."""
    is_my_turn = Membership.is_my_turn
    patch.setattr(Membership, "is_my_turn", lambda self: not self._life.is_leaving and is_my_turn(self))
