"""Mutants of what is promised about an event once it is acknowledged: copies, hand-over, discharge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from msgspec.structs import replace

from p2psub.model.ids import Contact, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    CopyStored,
    Discharged,
    OutcomeOf,
    OwedHead,
    OwedParcel,
    StoreCopy,
)
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import to_bitmap
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.overlay.census import Census
from p2psub.owner import owner as owner_module
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.held_parcel import HeldParcel, HeldStage
from p2psub.owner.intake import Intake
from p2psub.owner.owed_parcels import OwedParcels
from p2psub.owner.owner import Owner
from p2psub.owner.payments import Payments
from tests.mutants.hostile import (
    DEBTS_LAST,
    DISKS_ARE_FULL,
    HOLDERS_RETURN_LATE,
    HOLDERS_RETURN_TOO_YOUNG,
    KEYS_MOVE_IN_BURSTS,
    LIGHTS_OUT,
    LONE_RING_GOES_ON_WITHOUT_ITS_SUPER_NODE,
    NEWCOMERS_UNSEEN,
    OWNERS_FALL,
    RINGS_PART,
    RINGS_PART_AND_FALL,
)
from tests.mutants.mutant import mutant


@mutant("S1", "S5", "conservation", on=OWNERS_FALL)
def acknowledges_before_replication(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event is acknowledged when enough members hold it. Here the owner's own copy is enough."""
    patch.setattr(ArcLease, "required_copies", lambda self, copies: 1)
    patch.setattr(OwedParcels, "replicate", lambda self, held: setattr(held, "kept_tick", self._step.tick))


@mutant("S1", "S5", on=KEYS_MOVE_IN_BURSTS, first=6)
def takes_foreign_keys_of_a_parcel(patch: pytest.MonkeyPatch) -> None:
    """Rule: an owner takes the part of a parcel whose keys it serves. Here it takes all if any is its own."""
    of_ours = Intake._places_of_ours

    def greedy(self: Intake, peer: Contact, parcel: Parcel) -> int:
        return parcel.places if of_ours(self, peer, parcel) else 0

    patch.setattr(Intake, "_places_of_ours", greedy)


@mutant("S5", on=OWNERS_FALL)
def says_kept_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    """Rule: `CopyStored` states a durable copy. Here it is said on arrival."""
    on_store_copy = Owner.on_store_copy

    def hasty(self: Owner, peer: Contact, keep: StoreCopy) -> None:
        held = tuple((owed.id, to_bitmap(owed.parcel.places)) for owed in keep.owed_parcels)
        self._step.send(peer, CopyStored(keep.cluster, held, self._arc_lease.version))
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


@mutant("S5", on=NEWCOMERS_UNSEEN)
def counts_only_whom_it_met_itself(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new super-node counts members that others met in the term before. Here it only hears that they know."""

    def deaf(self: Census, peer: Contact, met: Table, is_fresh: bool) -> None:
        self.assumed_min = 0

    patch.setattr(Census, "_learn", deaf)


@mutant("S5", on=NEWCOMERS_UNSEEN)
def counts_by_an_old_word(patch: pytest.MonkeyPatch) -> None:
    """Rule: a word of the members is worth a lease. Here it is for ever, whoever joined beyond a cut."""
    patch.setattr(ArcLease, "is_fresh", property(lambda self: self.table is not None))


@mutant("S5", on=LONE_RING_GOES_ON_WITHOUT_ITS_SUPER_NODE)
def never_doubts_its_count(patch: pytest.MonkeyPatch) -> None:
    """Rule: a super-node that hears no majority doubts its count. Here it goes on with those that come to it."""
    patch.setattr(Census, "review", lambda self, heard, assumed_min: None)


@mutant("S1", "S9", "conservation", "bound:discharge", on=OWNERS_FALL)
def nobody_gives_back(patch: pytest.MonkeyPatch) -> None:
    """Rule: each holder of what is owed makes sure that the present owner has it. Here only owners ask for copies."""
    due = OwedParcels._due

    def own_only(self: OwedParcels, held: HeldParcel) -> list[Contact]:
        owner = self._arc_lease.owner_of(held.key)
        return due(self, held) if owner is not None and owner.id == self._step.me.id else []

    patch.setattr(OwedParcels, "_due", own_only)


@mutant("S1", "S9", "conservation", on=OWNERS_FALL)
def replicas_drop_at_a_new_table(patch: pytest.MonkeyPatch) -> None:
    """Rule: what is owed is let go only when the owner holds it. Here a member drops what a table gives to others."""
    tick = OwedParcels.tick

    def dropping(self: OwedParcels) -> list[HeldParcel]:
        if self._arc_lease.version != self.table:
            for held in self.log:
                if not self._arc_lease.is_mine(held.key):
                    self.log.let_go(held)
        return tick(self)

    patch.setattr(OwedParcels, "tick", dropping)


@mutant("S1", "S9", "conservation", on=DEBTS_LAST, first=3)
def trusts_old_holders_at_a_new_table(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new table starts the copies anew, since a member may be back without its disk. Here they count on."""
    tick = OwedParcels.tick

    def trusting(self: OwedParcels) -> list[HeldParcel]:
        self.table = self._arc_lease.version
        return tick(self)

    patch.setattr(OwedParcels, "tick", trusting)


@mutant("S1", "conservation", "bound:discharge", on=OWNERS_FALL)
def new_owner_pays_nothing(patch: pytest.MonkeyPatch) -> None:
    """Rule: an undischarged event is paid by whoever owns it now. Here only its first owner sends it, once."""
    owe = Payments.owe

    def as_first_owner(self: Payments, held: HeldParcel) -> None:
        if held.asked is not None:
            owe(self, held)

    patch.setattr(Payments, "owe", as_first_owner)
    patch.setattr(Payments, "tick", lambda self: None)


@mutant("S1", "conservation", on=LIGHTS_OUT, first=(3, 1), seeds=3)
def restarts_without_its_owed_events(patch: pytest.MonkeyPatch) -> None:
    """Rule: what was durable is still held after a restart. Here the disk is not read."""

    def nothing(self: OwedParcels, heads: Mapping[int, object]) -> None:
        for number in heads:
            self._step.erase_pack(number)

    patch.setattr(OwedParcels, "recover", nothing)


@mutant("S1", on=RINGS_PART_AND_FALL, first=(9, 6, 10))
def names_what_is_owed_by_its_events(patch: pytest.MonkeyPatch) -> None:
    """Rule: two owners parted by a cut each pay what they owe. Here the discharge of one is that of both."""

    def by_events(_: Iterable[SubscriptionId]) -> bytes:
        return bytes(8)

    patch.setattr(owner_module, "digest_of_matches", by_events)


@mutant("S1", "conservation", on=OWNERS_FALL)
def calls_it_delivered_when_sent(patch: pytest.MonkeyPatch) -> None:
    """Rule: an outcome is said by the subscriber. Here the owner takes a message sent for one delivered."""
    note_copies = Owner._note_copies

    def hopeful(self: Owner, held: HeldParcel) -> None:
        note_copies(self, held)
        said = [OutcomeOf(id_, Outcome.DELIVERED, to_bitmap(places)) for id_, (_, places) in held.owed.items()]
        if said and held.stage is HeldStage.COPIED:
            self._settle_piece(held, said)

    patch.setattr(Owner, "_note_copies", hopeful)


@mutant("S1", "bound:discharge", "S9", on=OWNERS_FALL)
def never_tells_that_it_is_discharged(patch: pytest.MonkeyPatch) -> None:
    """Rule: the holders hear when an owed event owes nothing any more. Here nobody tells them, asked or not."""

    def deaf(self: OwedParcels, peer: Contact, discharged: Discharged) -> None:
        """The message is lost on us."""

    patch.setattr(OwedParcels, "on_discharged", deaf)


@mutant("S2", on=HOLDERS_RETURN_LATE, first=1)
def age_starts_anew_at_a_restart(patch: pytest.MonkeyPatch) -> None:
    """Rule: what is durable grows older while its holder is down. Here it is as old as when it was written."""
    recover = OwedParcels.recover

    def rejuvenated(self: OwedParcels, heads: Mapping[int, object]) -> None:
        now = self._step.wall_us
        recover(self, {n: replace(head, written_us=now) for n, head in heads.items() if isinstance(head, OwedHead)})

    patch.setattr(OwedParcels, "recover", rejuvenated)


@mutant("S2", on=HOLDERS_RETURN_TOO_YOUNG)
def believes_the_smaller_age(patch: pytest.MonkeyPatch) -> None:
    """Rule: where two copies meet, the larger age counts. Here it is the smaller one."""
    unite = HeldParcel.unite

    def rejuvenated(self: HeldParcel, told: OwedParcel, now: Micros) -> None:
        born = self.born_us
        unite(self, told, now)
        self.born_us = max(born, Micros(now - told.age_us))

    patch.setattr(HeldParcel, "unite", rejuvenated)


@mutant("S12", on=DISKS_ARE_FULL)
def refuses_after_it_asked_for_copies(patch: pytest.MonkeyPatch) -> None:
    """Rule: an owner refuses before any member was asked for a copy. Here it asks first, and holders give back."""
    own = Owner._own

    def too_late(self: Owner, owed_parcel: OwedParcel) -> None:
        own(self, owed_parcel)
        if self._step.disk_is_full:
            said = Acknowledged(to_bitmap(owed_parcel.parcel.places), refused=Reason.DISK_FULL)
            self._step.send(owed_parcel.publisher, Acknowledge(owed_parcel.parcel.id, (said,)))

    patch.setattr(Intake, "_reason_against", lambda self, publish: None)
    patch.setattr(Owner, "_own", too_late)
