"""Parcels at the subscriber: cut in whatever way, each event is handed over once, and each is answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.digests import content_hash
from p2psub.model.effects import (
    ConsumedCommand,
    NotifyGap,
    UnsubscribeCommand,
)
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Deliver, OutcomeOf, Want
from p2psub.model.outcomes import Missed, Outcome, VerdictStatus
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import to_bitmap
from p2psub.model.records import Kind
from tests.unit.bench import (
    CONFIG,
    bits,
    effects_of,
    event_of,
    parcel_of,
    records_of,
    sent,
)
from tests.unit.subscriber.subscribers import (
    ID,
    OWNER,
    RULER,
    SubscribingPeer,
)
from tests.unit.unsound import UNSOUND

LEAVES = {n: content_hash(event_of("x", n)) for n in range(1, 9)}
EIGHT = parcel_of(*(event_of("x", n) for n in range(1, 9)))


def delivered(*places: int) -> OutcomeOf:
    """These events of a parcel are the application's."""
    return OutcomeOf(ID, Outcome.DELIVERED, bits(*places))


def deferred(*places: int) -> OutcomeOf:
    """These must wait."""
    return OutcomeOf(ID, Outcome.DEFERRED, bits(*places))


def subscribed(window: int = 100) -> SubscribingPeer:
    """A peer with one stable subscription."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(window)
    return subscriber


def test_two_differently_cut_deliveries_hand_each_event_over_once() -> None:
    """Two owners after a cut, or a table that cut the parcel: where the parts meet, the second is only answered."""
    subscriber = subscribed()
    assert subscriber.take(EIGHT.part(0b00111011)) == (delivered(0, 1, 3, 4, 5),)
    assert subscriber.take(EIGHT.part(0b01111100), bits(2, 4, 5, 6), sender=RULER) == (delivered(2, 4, 5, 6),)
    assert subscriber.take(EIGHT) == (delivered(*range(8)),)
    assert subscriber.handed_over() == [1, 2, 4, 5, 6, 3, 7, 8]
    repeated = [(r.event.sequence, r.run) for r in records_of(subscriber.step, Kind.DUPLICATE) if r.event is not None]
    assert repeated == [(5, 2), (1, 7)]


def bitmap_of(places: int) -> bytes:
    """What an answer says of some events; of none, nothing."""
    return to_bitmap(places) if places else b""


PARTS = st.lists(st.tuples(st.integers(1, 255), st.integers(1, 255)), max_size=8)


@given(PARTS, st.integers(0, 10), st.lists(st.integers(0, 3), max_size=8))
def test_events_are_handed_over_once_in_whatever_parts_they_come(
    parts: list[tuple[int, int]], window: int, consumed: list[int]
) -> None:
    """Every event that is wanted is answered each time: delivered if the application has it, else deferred."""
    subscriber, given_to = subscribed(window), list[int]()
    room = window
    for index, (part, wanted) in enumerate(parts):
        asked = part & wanted
        ends = {said.outcome: said.bitmap for said in subscriber.take(EIGHT.part(part), to_bitmap(wanted))}
        fresh = [n for n in range(1, 9) if asked >> (n - 1) & 1 and n not in given_to]
        taken = fresh[:room]
        given_to, room = given_to + taken, room - len(taken)
        waiting = sum(1 << n - 1 for n in fresh if n not in taken)
        assert ends.get(Outcome.DEFERRED, b"") == bitmap_of(waiting)
        assert ends.get(Outcome.DELIVERED, b"") == bitmap_of(asked & ~waiting)
        more = consumed[index] if index < len(consumed) else 0
        subscriber.core.consumed(ConsumedCommand(ID, more))
        room += more
    assert subscriber.handed_over() == given_to


def test_channel_that_is_full_in_the_middle_of_a_parcel_defers_the_rest() -> None:
    """The first events are taken, in their order; the owner hears which wait, and brings those alone."""
    subscriber = subscribed(window=3)
    assert subscriber.take(EIGHT, bits(0, 2, 3, 5, 7)) == (delivered(0, 2, 3), deferred(5, 7))
    assert subscriber.take(EIGHT.part(0b10100000)) == (deferred(5, 7),)
    subscriber.core.consumed(ConsumedCommand(ID, 1))
    assert subscriber.take(EIGHT.part(0b10100000)) == (delivered(5), deferred(7))
    assert subscriber.handed_over() == [1, 3, 4, 6]


def test_what_is_held_back_until_the_verdict_takes_room_too() -> None:
    """More than the channel takes is not accepted before there is one."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(3, status=None)
    assert subscriber.take(EIGHT.part(0b11)) == (delivered(0, 1),)
    assert subscriber.take(EIGHT.part(0b1111)) == (delivered(0, 1, 2), deferred(3))
    assert subscriber.handed_over() == []
    subscriber.verdict(VerdictStatus.STABLE)
    assert subscriber.handed_over() == [1, 2, 3]


def test_hand_over_is_recorded_in_runs_with_the_digest_of_each_event() -> None:
    """Events whose numbers are in a row share a record; their digests stand one after the other."""
    subscriber = subscribed()
    subscriber.take(EIGHT, bits(0, 1, 2, 4, 6, 7))
    records = records_of(subscriber.step, Kind.DELIVER)
    assert [(r.event, r.run, r.digest) for r in records] == [
        (EIGHT.first, 3, LEAVES[1] + LEAVES[2] + LEAVES[3]),
        (EIGHT.events[4].id, None, LEAVES[5]),
        (EIGHT.events[6].id, 2, LEAVES[7] + LEAVES[8]),
    ]
    assert {r.subscription for r in records} == {ID}


def test_runs_of_two_publishers_are_recorded_apart() -> None:
    """Though they were held back together and their numbers follow each other."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    subscriber.take(parcel_of(event_of("x", 1), event_of("x", 2)))
    subscriber.take(parcel_of(event_of("x", 3, publisher=10)))
    subscriber.verdict(VerdictStatus.STABLE)
    records = records_of(subscriber.step, Kind.DELIVER)
    assert [(r.event, r.run) for r in records] == [
        (event_of("x", 1).id, 2),
        (event_of("x", 3, publisher=10).id, None),
    ]


def test_parcel_older_than_our_memory_is_not_taken() -> None:
    """Any of it might be a second copy; what nobody wants of it has no outcome."""
    subscriber = subscribed()
    ended = subscriber.take(EIGHT, bits(1, 2), age_us=CONFIG.pubsub.too_old_us + 1)
    assert ended == (OutcomeOf(ID, Outcome.UNREACHABLE, bits(1, 2)),)
    assert subscriber.handed_over() == []
    (drop,) = records_of(subscriber.step, Kind.DROP)
    assert (drop.event, drop.run, drop.reason) == (EIGHT.events[1].id, 2, "older_than_ttl")


def test_ended_subscription_says_which_events_it_has() -> None:
    """What was handed over before stays delivered; only the rest is unsubscribed."""
    subscriber = subscribed()
    subscriber.take(EIGHT.part(0b11))
    subscriber.core.unsubscribe(UnsubscribeCommand(8, ID))
    sent(subscriber.step)
    assert subscriber.take(EIGHT.part(0b1111)) == (delivered(0, 1), OutcomeOf(ID, Outcome.UNSUBSCRIBED, bits(2, 3)))


def test_places_that_a_parcel_does_not_have_are_not_answered() -> None:
    """A liar may name any; nothing is handed over, and nothing is said to have ended."""
    subscriber = subscribed()
    assert subscriber.take(EIGHT.part(0b11), bits(5, 255)) == ()
    assert subscriber.take(EIGHT.part(0b11), bits(1, 200)) == (delivered(1),)
    assert subscriber.handed_over() == [2]


@pytest.mark.parametrize("parcel", UNSOUND.values(), ids=UNSOUND)
def test_unsound_parcel_is_dropped_and_nobody_is_answered(parcel: Parcel) -> None:
    """Were it answered, a liar could discharge what is still owed."""
    subscriber = subscribed()
    assert subscriber.take(parcel, missed=(Missed(ID, OWNER.id, 1, 4),)) == ()
    assert subscriber.handed_over() == []
    assert effects_of(subscriber.step, NotifyGap) == []
    (drop,) = records_of(subscriber.step, Kind.DROP)
    assert (drop.reason, drop.peer, drop.count) == ("bad_signature", OWNER.id, len(parcel.events))


def test_what_a_delivery_makes_a_peer_record_is_bounded_by_its_wants_and_events() -> None:
    """A liar names many subscriptions and every second event: the records are not as many as both multiplied."""
    subscriber, wants, events = subscribed(), 50, 256
    parcel, odd = parcel_of(*(event_of("x", n) for n in range(1, events + 1))), bits(*range(1, events, 2))
    strangers = tuple(Want(SubscriptionId(ID.node, ID.incarnation, 1_000 + n), odd) for n in range(wants))
    for age_us in (0, CONFIG.pubsub.too_old_us + 1):
        subscriber.core.on_deliver(OWNER, Deliver(parcel, Micros(age_us), strangers + strangers))
        assert len(records_of(subscriber.step, Kind.DROP)) <= wants
