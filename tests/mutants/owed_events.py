"""Mutants of what is promised about an event once it is acknowledged: copies, hand-over, discharge."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from p2psub.model.digests import owed_event_id
from p2psub.model.ids import Contact, EventId, SubscriptionId
from p2psub.model.messages.pubsub import (
    CopyStored,
    Discharged,
    Obligation,
    OwedEventId,
    StoreCopy,
    StoredEvent,
)
from p2psub.model.outcomes import Outcome
from p2psub.owner import owner as owner_module
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.owed_events import HeldEvent, OwedEvents
from p2psub.owner.owner import Owner
from tests.mutants.hostile import (
    DEBTS_LAST,
    HOLDERS_RETURN_LATE,
    LIGHTS_OUT,
    OWNERS_FALL,
    RINGS_PART,
    RINGS_PART_AND_FALL,
)
from tests.mutants.mutant import mutant


@mutant("S1", "S5", "conservation", on=OWNERS_FALL)
def acknowledges_before_replication(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event is acknowledged when enough members hold it. Here the owner's own copy is enough."""
    patch.setattr(ArcLease, "required_copies", lambda self, copies: 1)
    patch.setattr(OwedEvents, "replicate", lambda self, held: setattr(held, "kept_tick", self._step.tick))


@mutant("S5", on=OWNERS_FALL)
def says_kept_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    """Rule: `CopyStored` states a durable copy. Here it is said on arrival."""
    on_store_copy = Owner.on_store_copy

    def hasty(self: Owner, peer: Contact, keep: StoreCopy) -> None:
        ids = tuple(owed_event.id for owed_event in keep.owed_events)
        self._step.send(peer, CopyStored(keep.cluster, ids, self._arc_lease.version))
        on_store_copy(self, peer, keep)

    patch.setattr(Owner, "on_store_copy", hasty)


@mutant("S1", "S5", on=RINGS_PART)
def counts_live_members_only(patch: pytest.MonkeyPatch) -> None:
    """Rule: the bar for copies does not fall because a cut took members away. Here the present table sets it."""
    patch.setattr(
        ArcLease,
        "required_copies",
        lambda self, copies: 1 if self.table is None else min(copies, len(self.table.owners)),
    )


@mutant("S1", "S9", "conservation", "bound:discharge", on=OWNERS_FALL)
def nobody_gives_back(patch: pytest.MonkeyPatch) -> None:
    """Rule: each holder of an owed event makes sure that the present owner has it. Here only owners ask for copies."""
    due = OwedEvents._due

    def own_only(self: OwedEvents, held: HeldEvent) -> list[Contact]:
        owner = self._arc_lease.owner_of(held.key)
        return due(self, held) if owner is not None and owner.id == self._step.me.id else []

    patch.setattr(OwedEvents, "_due", own_only)


@mutant("S1", "S9", "conservation", on=OWNERS_FALL)
def replicas_drop_at_a_new_table(patch: pytest.MonkeyPatch) -> None:
    """Rule: an owed event is let go only when the owner holds it. Here a member drops what a table gives to others."""
    tick = OwedEvents.tick

    def dropping(self: OwedEvents) -> None:
        if self._arc_lease.version != self._table:
            for id_, held in list(self.held.items()):
                if not self._arc_lease.is_mine(held.key):
                    self._let_go(id_)
        tick(self)

    patch.setattr(OwedEvents, "tick", dropping)


@mutant("S1", "S9", "conservation", on=DEBTS_LAST, first=3)
def trusts_old_holders_at_a_new_table(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new table starts the copies anew, since a member may be back without its disk. Here they count on."""
    tick = OwedEvents.tick

    def trusting(self: OwedEvents) -> None:
        self._table = self._arc_lease.version
        tick(self)

    patch.setattr(OwedEvents, "tick", trusting)


@mutant("S1", "conservation", "bound:discharge", on=OWNERS_FALL)
def new_owner_pays_nothing(patch: pytest.MonkeyPatch) -> None:
    """Rule: an undischarged event is paid by whoever owns it now. Here only its first owner sends it, once."""
    patch.setattr(Owner, "_tend", lambda self, held: None)


@mutant("S1", "conservation", on=LIGHTS_OUT, first=(3, 1), seeds=3)
def restarts_without_its_owed_events(patch: pytest.MonkeyPatch) -> None:
    """Rule: what was durable is still held after a restart. Here the disk is not read."""

    def nothing(self: OwedEvents, stored: Iterable[StoredEvent]) -> None:
        for row in stored:
            self._step.write("owed_event", row.owed_event.id, None)

    patch.setattr(OwedEvents, "recover", nothing)


@mutant("S1", on=RINGS_PART_AND_FALL, first=(3, 4, 1))
def names_an_owed_event_by_its_event(patch: pytest.MonkeyPatch) -> None:
    """Rule: two owners parted by a cut each pay what they owe. Here the discharge of one is that of both."""

    def by_event(event: EventId, _: Iterable[Obligation]) -> OwedEventId:
        return owed_event_id(event, ())

    patch.setattr(owner_module, "owed_event_id", by_event)


@mutant("S1", "conservation", on=OWNERS_FALL)
def calls_it_delivered_when_sent(patch: pytest.MonkeyPatch) -> None:
    """Rule: an outcome is said by the subscriber. Here the owner takes a message sent for one delivered."""
    pay = Owner._pay

    def hopeful(self: Owner, held: HeldEvent) -> None:
        pay(self, held)
        said: tuple[tuple[SubscriptionId, Outcome], ...] = tuple((id_, Outcome.DELIVERED) for id_ in held.owed)
        if said:
            self._settle(held.owed_event.timed.event.id, said)

    patch.setattr(Owner, "_pay", hopeful)


@mutant("bound:discharge", "S9", on=OWNERS_FALL)
def never_tells_that_it_is_discharged(patch: pytest.MonkeyPatch) -> None:
    """Rule: the holders hear when an owed event owes nothing any more. Here nobody tells them, asked or not."""

    def deaf(self: OwedEvents, peer: Contact, discharged: Discharged) -> None:
        """The message is lost on us."""

    patch.setattr(OwedEvents, "on_discharged", deaf)


@mutant("S2", on=HOLDERS_RETURN_LATE)
def age_starts_anew_at_a_restart(patch: pytest.MonkeyPatch) -> None:
    """Rule: what is durable grows older while its holder is down. Here it is as old as when it was written."""
    recover = OwedEvents.recover

    def rejuvenated(self: OwedEvents, stored: Iterable[StoredEvent]) -> None:
        recover(self, [StoredEvent(self._step.wall_us, row.owed_event) for row in stored])

    patch.setattr(OwedEvents, "recover", rejuvenated)
