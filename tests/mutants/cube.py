"""Mutants of the cube: how casts walk, what is repeated, what anti-entropy repairs, when a new cluster may act."""

from __future__ import annotations

import pytest

from p2psub.casts import spread
from p2psub.casts.cast import Casts
from p2psub.casts.half import Half
from p2psub.model.graycode import Prefix, sibling_half
from p2psub.model.ids import CastId, Contact
from p2psub.model.messages.casts import Custody, EventPayload, EventSummary
from p2psub.model.messages.cube import CubeHeartbeat
from p2psub.model.messages.pubsub import OutcomeOf
from p2psub.model.outcomes import Outcome
from p2psub.node.leadership import Leadership
from p2psub.super_node.antientropy import AntiEntropy
from p2psub.super_node.completeness import Completeness
from p2psub.super_node.term import Term
from tests.mutants.hostile import CLUSTER_COMES_LATE, CUBE_BY_NEIGHBOURS, CUBE_IS_UNEVEN, CUBE_UNDER_FIRE
from tests.mutants.mutant import mutant


@mutant("S1", "S11", "conservation", on=CUBE_BY_NEIGHBOURS)
def walks_dimensions_in_the_wrong_order(patch: pytest.MonkeyPatch) -> None:
    """Rule (Hyper 2.1): forward on dimensions above the one it came by. Here on those below."""

    def below(own: Prefix, subcube: Prefix) -> list[tuple[int, Prefix]]:
        dimensions = range(len(subcube) - 1) if subcube else range(len(own))
        return [(d, sibling_half(own, d)) for d in dimensions]

    patch.setattr(spread, "halves", below)


@mutant("S11", on=CUBE_IS_UNEVEN)
def enters_twice(patch: pytest.MonkeyPatch) -> None:
    """Rule: a multicast enters a half at one super-node. Here also at another one of those that could be asked."""
    send_half = Casts._send_half

    def twice(self: Casts, cast: CastId, half: Prefix, slot: Half) -> None:
        send_half(self, cast, half, slot)
        if isinstance(slot.payload, EventPayload) and slot.tries == 1:
            others = [contact for contact in self._directory.contacts_in(half) if contact != slot.holder]
            for other in others[:1]:
                self._step.send(other, slot.payload.request(cast, half, slot.hops))

    patch.setattr(Casts, "_send_half", twice)


@mutant("S1", "conservation", on=CUBE_UNDER_FIRE)
def takes_custody_for_delivery(patch: pytest.MonkeyPatch) -> None:
    """Rule: custody only says who holds a half now. Here it counts as delivered to all subscriptions there."""
    on_custody = Casts.on_custody

    def trusting(self: Casts, peer: Contact, custody: Custody) -> None:
        on_custody(self, peer, custody)
        for cast in [cast for cast in self._open.values() if cast.id == custody.id]:
            slot = cast.halves.get(custody.subcube)
            if slot is not None and slot.summary is None and isinstance(slot.payload, EventPayload):
                wants = [want for _, _, several, _ in slot.payload.targets for want in several]
                slot.summary = EventSummary(
                    tuple(OutcomeOf(want.subscription, Outcome.DELIVERED, want.bitmap) for want in wants)
                )
                self._finish_if_whole(cast)

    patch.setattr(Casts, "on_custody", trusting)


@mutant("S1", "S9", "bound:stable", on=CUBE_UNDER_FIRE)
def never_compares_changes(patch: pytest.MonkeyPatch) -> None:
    """Rule: super-nodes compare what they hold on every beat. Here only one that is filling is given anything."""

    def silent(self: AntiEntropy, peer: Contact, report: CubeHeartbeat) -> None:
        """Differing digests start nothing."""

    patch.setattr(AntiEntropy, "on_cube_heartbeat", silent)


@mutant("S1", on=CLUSTER_COMES_LATE, first=11)
def filling_cluster_serves_at_once(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new cluster acts only when its owners hold every change fixed at the split. Here it acts at once."""

    def hasty(self: Leadership, term: Term) -> None:
        cube, giver = self._cores.cube, self._cores.cube.giver()
        if cube.granted is None or giver is None:
            cube.ask_for_split(term.id.cluster)
        else:
            term.completeness._is_complete = True
            cube.report_filled(giver)

    def at_once(self: Completeness) -> list[Contact]:
        self._is_complete = True
        return []

    patch.setattr(Leadership, "_seek_place", hasty)
    patch.setattr(Completeness, "tick", at_once)
