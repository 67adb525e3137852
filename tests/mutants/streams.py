"""Mutants of how owed events reach a subscription: numbers, credit, order."""

from __future__ import annotations

import pytest

from p2psub.model.content import Event
from p2psub.model.ids import Contact, Process
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Publish
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import all_places, places_in
from p2psub.owner.collection import Collection
from p2psub.owner.held_parcel import HeldParcel, HeldTurn
from p2psub.owner.intake import Intake
from p2psub.owner.owed_log import OwedLog
from p2psub.owner.owner import Owner
from p2psub.publisher.publisher import Publisher, _Waiting
from p2psub.subscriber.held_subscription import HeldSubscription
from p2psub.subscriber.inflow import Inflow
from p2psub.subscriber.publisher_order import PublisherOrder
from p2psub.subscriber.subscriber import Subscriber
from tests.mutants.hostile import (
    KEYS_MOVE_IN_ORDER,
    LIGHTS_OUT,
    OWNERS_DIE_IN_ORDER,
    OWNERS_RESTART,
    PARCELS_ARE_LOST,
    RINGS_PART_IN_ORDER,
)
from tests.mutants.mutant import mutant


@mutant("S1", "conservation", on=PARCELS_ARE_LOST)
def acknowledges_the_highest_number(patch: pytest.MonkeyPatch) -> None:
    """Rule: a subscriber acknowledges the highest contiguous number. Here it is the highest that was taken."""

    def take(self: Inflow, number: int) -> None:
        self.contiguous = max(self.contiguous, number)

    patch.setattr(Inflow, "take", take)


@mutant("S1", "conservation", on=OWNERS_RESTART)
def numbers_begin_again_in_a_new_process(patch: pytest.MonkeyPatch) -> None:
    """Rule: a stream belongs to one process of its owner. Here the numbers of a new process are those of the old."""
    inflow_of = HeldSubscription.inflow_of

    def of_node(self: HeldSubscription, owner: Process, tick: int) -> Inflow:
        found = inflow_of(self, Process(owner.contact, 0), tick)
        found.owner = owner
        return found

    patch.setattr(HeldSubscription, "inflow_of", of_node)


@mutant("S6", on=PARCELS_ARE_LOST)
def stores_what_comes_too_early(patch: pytest.MonkeyPatch) -> None:
    """Rule: an owner takes no event before those that were published before it. Here it takes what comes."""

    def nothing(self: Intake, peer: Contact, publish: Publish) -> int:
        return 0

    patch.setattr(Intake, "_places_too_early", nothing)


@mutant("S6", on=KEYS_MOVE_IN_ORDER)
def pays_before_all_is_given_back(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new owner pays ordered subscriptions when all members have given back. Here it asks none of them."""

    def begin(self: Collection) -> bool:
        table = self._arc_lease.table
        if table is not None:
            self._table, self._missing = table.version, {}
        return self.is_over

    patch.setattr(Collection, "begin", begin)


@mutant("S6", on=OWNERS_DIE_IN_ORDER, first=165, seeds=12)
def pays_before_outboxes_are_heard(patch: pytest.MonkeyPatch) -> None:
    """Rule: a new owner waits for what members published before its table, too. Here for what they hold alone."""
    patch.setattr(Publisher, "awaits", lambda self, owner, published_us: False)


@mutant("S6", on=PARCELS_ARE_LOST)
def hands_over_as_it_comes(patch: pytest.MonkeyPatch) -> None:
    """Rule: an ordered subscription takes deliveries by their numbers. Here each is taken when it comes."""
    subscribe = Subscriber._take_by_stream

    def at_once(self: Subscriber, *arguments: object) -> None:
        answer, owner, want, checked, places = arguments
        wanted = self._wanted[want.subscription]  # type: ignore[attr-defined]
        order, wanted.order = wanted.order, None
        subscribe(self, answer, owner, want, checked, places)  # type: ignore[arg-type]
        wanted.order = order

    patch.setattr(Subscriber, "_take_by_stream", at_once)


@mutant("S6", on=RINGS_PART_IN_ORDER, first=9)
def swaps_silently(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event that comes late comes behind a gap. Here no application hears of it."""

    def none_is_late(self: PublisherOrder, events: list[Event], now: Micros) -> int:
        return 0

    patch.setattr(PublisherOrder, "count_late", none_is_late)


@mutant("S1", "conservation", on=LIGHTS_OUT)
def erases_a_pack_that_still_owes(patch: pytest.MonkeyPatch) -> None:
    """Rule: a pack is erased when nothing of it is held any more. Here its first outcome is enough."""
    settle = HeldParcel.settle

    def hasty(self: HeldParcel, subscription: object, places: int) -> int:
        settled = settle(self, subscription, places)  # type: ignore[arg-type]
        if settled:
            self.pack.number = -abs(self.pack.number)
        return settled

    let_go, tick = OwedLog.let_go, Owner.tick

    def erasing(self: Owner) -> None:
        for held in self.owed_parcels.log:
            if held.pack.number < 0:
                held.pack.number = -held.pack.number
                self._step.erase_pack(held.pack.number)
        tick(self)

    def late(self: OwedLog, held: HeldParcel, turn: HeldTurn = HeldTurn.LET_GO) -> None:
        held.pack.number = abs(held.pack.number)
        let_go(self, held, turn)

    patch.setattr(HeldParcel, "settle", hasty)
    patch.setattr(OwedLog, "let_go", late)
    patch.setattr(Owner, "tick", erasing)


@mutant("S1", "S5", "S3", on=OWNERS_RESTART)
def cuts_a_repeated_parcel_differently(patch: pytest.MonkeyPatch) -> None:
    """Rule: a parcel's number means the same events for good. Here a repetition numbers what is left of it anew."""
    look_up = Publisher._look_up

    def cut(self: Publisher, several: list[_Waiting]) -> None:
        for waiting in several:
            left = places_in(waiting.places)
            if 0 < len(left) < waiting.parcel.size:
                events = tuple(waiting.parcel.events_at(waiting.places))
                waiting.commands = [waiting.commands[place] for place in left]
                waiting.parcel = Parcel(waiting.parcel.number, len(events), events)
                waiting.places = all_places(len(events))
        look_up(self, several)

    patch.setattr(Publisher, "_look_up", cut)
