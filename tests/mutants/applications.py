"""Mutants at both ends: the publisher's outbox, the subscriber's memory and its answers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from p2psub.model.ids import CastId, Contact, EventId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.outcomes import Outcome
from p2psub.parcels.remembered import Remembered
from p2psub.publisher.publisher import Publisher, _Waiting
from p2psub.subscriber import subscriber as subscriber_module
from p2psub.subscriber.checked_parcel import CheckedParcel
from p2psub.subscriber.subscriber import Subscriber
from p2psub.super_node.routing import Routing, _Arriving
from tests.mutants.hostile import APPLICATIONS_COME_AND_GO, OWNERS_FALL
from tests.mutants.mutant import mutant


@mutant("S2", on=OWNERS_FALL)
def remembers_nothing_handed_over(patch: pytest.MonkeyPatch) -> None:
    """Rule: receivers remember event ids for the undelivered TTL. Here every copy is new."""

    class Forgetful(Remembered[SubscriptionId]):
        """Notes nothing."""

        def note(self, first: EventId, places: int, label: SubscriptionId, now: Micros) -> None:
            """Forgotten at once."""

    patch.setattr(subscriber_module, "Remembered", Forgetful)


@mutant("bound:outbox", on=OWNERS_FALL)
def publishes_once(patch: pytest.MonkeyPatch) -> None:
    """Rule: an unacknowledged publish is tried again. Here it is sent once."""
    patch.setattr(Publisher, "tick", lambda self: None)


@mutant("S3", "S5", on=OWNERS_FALL)
def retries_under_a_new_id(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event's id is given for good at the first attempt. Here a retry gets another."""
    look_up = Publisher._look_up

    def renamed(self: Publisher, several: list[_Waiting]) -> None:
        for waiting in several:
            if waiting.sent_tick != self._step.tick and waiting.parcel.number in self._outbox:
                events = [replace(event, id=_later(event.id)) for event in waiting.parcel.events]
                waiting.parcel = replace(waiting.parcel, events=tuple(events))
        look_up(self, several)

    patch.setattr(Publisher, "_look_up", renamed)


@mutant("S1", "bound:discharge", on=APPLICATIONS_COME_AND_GO)
def says_nothing_of_what_has_ended(patch: pytest.MonkeyPatch) -> None:
    """Rule: also an ended subscription is answered for, else its events are owed for ever. Here nobody answers."""
    take, answer = Subscriber._take, Routing._answer

    def silent(
        self: Subscriber, peer: Contact, id_: SubscriptionId, checked: CheckedParcel, places: int, deadline_us: int
    ) -> dict[Outcome, int]:
        outcomes = take(self, peer, id_, checked, places, deadline_us)
        return {outcome: of for outcome, of in outcomes.items() if outcome not in (Outcome.ENDED, Outcome.UNSUBSCRIBED)}

    def without_the_ended(self: Routing, cast: CastId, arriving: _Arriving) -> None:
        arriving.outcomes = [said for said in arriving.outcomes if said.outcome is not Outcome.ENDED]
        answer(self, cast, arriving)

    patch.setattr(Subscriber, "_take", silent)
    patch.setattr(Routing, "_answer", without_the_ended)


@mutant("S1", "conservation", on=APPLICATIONS_COME_AND_GO)
def calls_a_full_channel_delivered(patch: pytest.MonkeyPatch) -> None:
    """Rule: hand-over is when the application takes the item. Here an event for a full channel counts as delivered."""
    take = Subscriber._take

    def generous(
        self: Subscriber, peer: Contact, id_: SubscriptionId, checked: CheckedParcel, places: int, deadline_us: int
    ) -> dict[Outcome, int]:
        outcomes = take(self, peer, id_, checked, places, deadline_us)
        deferred = outcomes.pop(Outcome.DEFERRED, 0)
        return outcomes | {Outcome.DELIVERED: outcomes.get(Outcome.DELIVERED, 0) | deferred}

    patch.setattr(Subscriber, "_take", generous)


def _later(id_: EventId) -> EventId:
    return EventId(id_.node, id_.incarnation, id_.sequence + (1 << 20))
