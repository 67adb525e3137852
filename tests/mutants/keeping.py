"""Mutants of what is promised about an event once it is acknowledged: copies, hand-over, discharge."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from p2psub.model.digests import deed_id
from p2psub.model.ids import Contact, EventId, SubscriptionId
from p2psub.model.messages.pubsub import Deed, DeedId, Discharged, Keep, Kept, Obligation
from p2psub.model.outcomes import Outcome
from p2psub.pubsub import owning
from p2psub.pubsub.deeds import Deeds, Held
from p2psub.pubsub.owning import Owning
from p2psub.pubsub.tenure import Tenure
from tests.mutants.hostile import DEBTS_LAST, LIGHTS_OUT, OWNERS_FALL, RINGS_PART, RINGS_PART_AND_FALL
from tests.mutants.mutant import mutant


@mutant("S1", "S5", "conservation", on=OWNERS_FALL)
def acknowledges_before_replication(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event is acknowledged when enough members hold it. Here the owner's own copy is enough."""
    patch.setattr(Tenure, "required_copies", lambda self, copies: 1)
    patch.setattr(Deeds, "replicate", lambda self, held: setattr(held, "kept_tick", self._tick))


@mutant("S5", on=OWNERS_FALL)
def says_kept_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    """Rule: `Kept` states a durable copy. Here it is said on arrival."""
    on_keep = Deeds.on_keep

    def hasty(self: Deeds, peer: Contact, keep: Keep) -> None:
        self._step.send(peer, Kept(keep.cluster, tuple(deed.id for deed in keep.deeds)))
        on_keep(self, peer, keep)

    patch.setattr(Deeds, "on_keep", hasty)


@mutant("S1", "S5", on=RINGS_PART)
def counts_live_members_only(patch: pytest.MonkeyPatch) -> None:
    """Rule: the bar for copies does not fall because a cut took members away. Here the present table sets it."""
    patch.setattr(
        Tenure, "required_copies", lambda self, copies: 1 if self.table is None else min(copies, len(self.table.owners))
    )


@mutant("S1", "S9", "conservation", "bound:discharge", on=OWNERS_FALL)
def nobody_gives_back(patch: pytest.MonkeyPatch) -> None:
    """Rule: whoever holds a deed makes sure that the present owner has it. Here only an owner asks for copies."""
    due = Deeds._due

    def own_only(self: Deeds, held: Held) -> list[Contact]:
        owner = self._tenure.owner_of(held.key)
        return due(self, held) if owner is not None and owner.id == self._step.me.id else []

    patch.setattr(Deeds, "_due", own_only)


@mutant("S1", "S9", "conservation", on=OWNERS_FALL)
def replicas_drop_at_a_new_table(patch: pytest.MonkeyPatch) -> None:
    """Rule: a deed is let go only when the owner holds it. Here a member drops what a new table gives to others."""
    tick = Deeds.tick

    def dropping(self: Deeds) -> None:
        if self._tenure.version != self._table:
            for id_, held in list(self.held.items()):
                if not self._tenure.is_mine(held.key):
                    self._let_go(id_)
        tick(self)

    patch.setattr(Deeds, "tick", dropping)


@mutant("S1", "S9", "conservation", on=DEBTS_LAST, first=3)
def trusts_old_holders_at_a_new_table(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new table starts the copies anew, since a member may be back without its disk. Here they count on."""
    tick = Deeds.tick

    def trusting(self: Deeds) -> None:
        self._table = self._tenure.version
        tick(self)

    patch.setattr(Deeds, "tick", trusting)


@mutant("S1", "conservation", "bound:discharge", on=OWNERS_FALL)
def new_owner_pays_nothing(patch: pytest.MonkeyPatch) -> None:
    """Rule: an undischarged event is paid by whoever owns it now. Here only its first owner sends it, once."""
    patch.setattr(Owning, "_tend", lambda self, held: None)


@mutant("S1", "conservation", on=LIGHTS_OUT, first=(3, 1), seeds=3)
def restarts_without_its_deeds(patch: pytest.MonkeyPatch) -> None:
    """Rule: what was durable is still held after a restart. Here the disk is not read."""

    def nothing(self: Deeds, deeds: Iterable[Deed]) -> None:
        for deed in deeds:
            self._step.write("deed", deed.id, None)

    patch.setattr(Deeds, "recover", nothing)


@mutant("S1", on=RINGS_PART_AND_FALL, first=(3, 1))
def names_a_deed_by_its_event(patch: pytest.MonkeyPatch) -> None:
    """Rule: two owners parted by a cut each pay what they owe. Here the discharge of one is that of both."""

    def by_event(event: EventId, _: Iterable[Obligation]) -> DeedId:
        return deed_id(event, ())

    patch.setattr(owning, "deed_id", by_event)


@mutant("S1", "conservation", on=OWNERS_FALL)
def calls_it_delivered_when_sent(patch: pytest.MonkeyPatch) -> None:
    """Rule: an outcome is said by the subscriber. Here the owner takes a message sent for one delivered."""
    pay = Owning._pay

    def hopeful(self: Owning, held: Held) -> None:
        pay(self, held)
        said: tuple[tuple[SubscriptionId, Outcome], ...] = tuple((id_, Outcome.DELIVERED) for id_ in held.owed)
        if said:
            self._settle(held.deed.timed.event.id, said)

    patch.setattr(Owning, "_pay", hopeful)


@mutant("bound:discharge", "S9", on=OWNERS_FALL)
def never_tells_that_it_is_discharged(patch: pytest.MonkeyPatch) -> None:
    """Rule: the holders hear when a deed owes nothing any more. Here nobody tells them, asked or not."""

    def deaf(self: Deeds, peer: Contact, discharged: Discharged) -> None:
        """The message is lost on us."""

    patch.setattr(Deeds, "on_discharged", deaf)
