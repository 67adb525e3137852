"""Mutants of the ring and of the term over it: joins, lists, merging, epochs."""

from __future__ import annotations

import pytest

from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.messages.ring import Found, Neighbourhood
from p2psub.node.leadership import Leadership
from p2psub.overlay.election import Election
from p2psub.overlay.lookup import Lookups
from p2psub.overlay.ring import Ring
from p2psub.super_node.antientropy import AntiEntropy
from p2psub.super_node.term import Office
from tests.mutants.hostile import (
    LONE_RING_ADVERTISES,
    LONE_RING_ASKS_A_FORMER_SUPER_NODE,
    LONE_RING_PARTS,
    LONE_RING_WITH_ONE_BEHIND,
    OWNERS_FALL,
    RINGS_PART,
    SMALL_RINGS,
)
from tests.mutants.mutant import mutant

RING = ("S8", "bound:ring_ideal")


@mutant(*RING, on=SMALL_RINGS)
def pads_short_lists(patch: pytest.MonkeyPatch) -> None:
    """Rule: no list is ever padded. Here a short one is filled up with remembered contacts, dead or alive, and us."""
    adopt = Ring._adopt

    def padded(self: Ring, successors: list[Contact]) -> None:
        adopt(self, successors)
        known = [c for c in self._clockwise(self.remembered.values()) if c not in self.successors]
        padding = [*known, *[self._step.me] * self._config.successors]
        self.successors += padding[: self._config.successors - len(self.successors)]

    patch.setattr(Ring, "_adopt", padded)


@mutant(*RING, on=OWNERS_FALL)
def joins_as_in_2001(patch: pytest.MonkeyPatch) -> None:
    """Rule (Zave): a joiner copies the whole list, stabilising has two steps, rectifying keeps the better one.

    Here, as in the paper of 2001, a joiner knows one successor, a closer one is adopted unasked, and any notifier
    becomes the predecessor.
    """

    def join(self: Ring, found: Found) -> bool:
        self._enter()
        self.is_small = False
        self.successors = self._without_me([*found.successors])[:1]
        return True

    def on_neighbourhood(self: Ring, peer: Contact, told: Neighbourhood) -> None:
        if self.is_joined and told.cluster == self.cluster and not self.is_small and self.successors:
            if peer.id == self.successors[0].id:
                closer = told.predecessor
                known = [peer, *told.successors]
                self._adopt([closer, *known] if closer is not None and self._is_closer(closer) else known)
                self._completed_with = self.successors[0].id if self.successors else None

    def notified(self: Ring, peer: Contact) -> None:
        self.predecessor = peer

    patch.setattr(Ring, "join", join)
    patch.setattr(Ring, "on_neighbourhood", on_neighbourhood)
    patch.setattr(Ring, "_rectify", notified)


@mutant("S1", "S9", *RING, "S10", "bound:outbox", on=LONE_RING_PARTS, first=5)
def never_probes_for_the_other_side(patch: pytest.MonkeyPatch) -> None:
    """Rule: a split ring and a split term find each other through remembered contacts. Here nobody looks."""
    patch.setattr(Lookups, "_probe_for_other_ring", lambda self: None)
    patch.setattr(Leadership, "_probe_for_other_term", lambda self, term: None)


@mutant("S9", on=LONE_RING_ADVERTISES, first=(12, 14, 16))
def offers_its_legacy_once(patch: pytest.MonkeyPatch) -> None:
    """Rule: a deposed super-node shows what it numbered until its successor has it. Here once, seen or not."""
    patch.setattr(AntiEntropy, "beat", lambda self, super_node: None)


@mutant(*RING, "S1", "S10", on=RINGS_PART)
def deposed_goes_on(patch: pytest.MonkeyPatch) -> None:
    """Rule: a super-node that hears of a higher epoch steps down. Here it stays."""
    follow = Election.follow

    def stays(self: Election, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> bool:
        return False if self.is_super_node else follow(self, cluster, epoch, super_node)

    patch.setattr(Election, "follow", stays)


@mutant("S1", on=LONE_RING_WITH_ONE_BEHIND)
def leads_on_an_old_word(patch: pytest.MonkeyPatch) -> None:
    """Rule: a candidate is in sync for a lease after it was named. Here it is for ever, whatever went on without it."""
    patch.setattr(Election, "is_fresh", property(lambda self: True))


@mutant("S1", on=LONE_RING_ASKS_A_FORMER_SUPER_NODE)
def holds_everything_ever_after(patch: pytest.MonkeyPatch) -> None:
    """Rule: a former super-node holds everything until the next term answers. Here it says so for ever."""
    end = Office.end

    def lasting(self: Office) -> None:
        was_complete = self.term is not None and self.term.completeness.is_complete
        end(self)
        self._complete_until_tick = max(self._complete_until_tick, 1_000_000 if was_complete else 0)

    patch.setattr(Office, "end", lasting)
    patch.setattr(Office, "be_succeeded", lambda self: None)
