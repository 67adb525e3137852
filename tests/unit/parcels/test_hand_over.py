"""What a subscriber takes of streams, and what is not taken twice."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.effects import ConsumedCommand, NotifyGap, UnsubscribeCommand
from p2psub.model.ids import EventId
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Want
from p2psub.model.messages.shards import ParcelToShard
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from tests.unit.bench import (
    at,
    change_of,
    member_at,
    node_at,
    on_topic,
    place_off_the_shards,
    sent,
    wildcard_in_shard,
)
from tests.unit.notaries import PlainNotary
from tests.unit.parcels.parcels import (
    FIRST_SHARD,
    OWNER,
    PINNED,
    PUBLISHER,
    SUBSCRIBER,
    TOPIC,
    Ring,
    delivery,
    drafts,
    free_event,
    free_events,
    hear,
    stream_of,
    wanted_by,
)

# What came before


def repeat(ring: Ring, kind: type[Message]) -> list[tuple[str | None, int | None]]:
    """Everybody hears each message of a kind once more; what their receivers record of it."""
    said = [(who, to, message) for who, to, message in ring.said if isinstance(message, kind)]
    for place in ring.members:
        ring.records(place, Kind.DUPLICATE)
    for who, to, message in said:
        hear(ring[to], at(who), message)
        assert sent(ring[to].step) == []
    return [record for _, to, _ in said for record in ring.records(to, Kind.DUPLICATE, Kind.DROP)]


@pytest.mark.parametrize("kind", [ParcelToOwner, ParcelToShard, Deliver])
def test_second_copy_of_a_message_is_dropped_and_recorded(kind: type[Message]) -> None:
    """Whatever the network repeats: nothing follows from it, and nobody gets an event twice."""
    pinned, wild = wanted_by(on_topic(TOPIC), 5), wildcard_in_shard(0, SUBSCRIBER)
    ring = Ring(pinned, wild)
    ring.lease(OWNER, 1)
    ring.publish(drafts(3))
    assert ring.handed_over() == {pinned.id: [1, 2, 3], wild.id: [1, 2, 3]}
    repeated = repeat(ring, kind)
    assert repeated == [("parcel_repeated", 3)] * (2 if kind is Deliver else 1)
    assert ring.handed_over() == {}


def test_parcels_may_overtake_each_other() -> None:
    """Each is taken once in whatever order they come."""
    ring = Ring(PINNED)
    ring.lease_shards()
    streams = {number: stream_of([free_event(number)], number) for number in range(1, 6)}
    for number in (3, 1, 5, 2, 4, 1, 3):
        ring.hear(OWNER, PUBLISHER, streams[number])
    assert ring.handed_over() == {PINNED.id: [3, 1, 5, 2, 4]}
    assert ring.records(OWNER, Kind.DUPLICATE) == [("parcel_repeated", 1)] * 2


def test_numbers_are_counted_for_each_start_of_each_publisher() -> None:
    """A publisher that was restarted begins anew, and two publishers do not know of each other."""
    ring = Ring(PINNED)
    ring.lease_shards()
    later = msgspec.structs.replace(free_event(2), id=EventId(node_at(PUBLISHER), 2, 2))
    ring.hear(OWNER, PUBLISHER, stream_of([free_event(1)]))
    ring.hear(OWNER, PUBLISHER, stream_of([later]))
    ring.hear(OWNER, FIRST_SHARD, stream_of([free_event(3, publisher=FIRST_SHARD)], publisher=FIRST_SHARD))
    assert ring.handed_over() == {PINNED.id: [1, 2, 3]}
    assert ring.records(OWNER, Kind.DUPLICATE) == []


def test_two_shards_of_one_owner_get_the_same_parcel_each() -> None:
    """They are two roles of one peer: neither is a copy of the other, and their deliveries are not either."""
    table, topic = place_off_the_shards()
    shards, owner = (contact.id[0] for contact in table.owners)
    first, second = (wildcard_in_shard(shard, owner) for shard in (0, 1))
    changes = [change_of(record, n) for n, record in enumerate((first, second), 1)]
    ring = Ring()
    ring.members = {
        place: member_at(place, table, changes, notary=PlainNotary(node_at(place))) for place in (shards, owner)
    }
    for record in (first, second):
        ring.subscribe(record, 10)
    ring.publish(drafts(2, topic), place=owner)
    assert ring.handed_over(owner) == {first.id: [1, 2], second.id: [1, 2]}


# What becomes of it at the subscriber


def test_full_channel_makes_a_gap() -> None:
    """Of exactly the events that had no room; it is told in the channel as soon as there is some."""
    ring = Ring(PINNED, window=3)
    ring.lease_shards()
    ring.publish(drafts(5))
    assert ring.handed_over() == {PINNED.id: [1, 2, 3]}
    assert ring.drops(SUBSCRIBER) == [("channel_full", 2)]
    ring.publish(drafts(4))
    assert ring.handed_over() == {}
    assert ring.drops(SUBSCRIBER) == [("channel_full", 4)]
    ring[SUBSCRIBER].subscriber.consumed(ConsumedCommand(PINNED.id, 2))
    assert sum(gap.count for gap in ring.gaps()) == 6
    ring.publish(drafts(3))
    assert ring.handed_over() == {PINNED.id: [10, 11]}
    ring[SUBSCRIBER].subscriber.consumed(ConsumedCommand(PINNED.id, 1))
    assert sum(gap.count for gap in ring.gaps()) == 1


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=8), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_events_and_gaps_add_up(rounds: list[tuple[int, int]], window: int) -> None:
    """However the application takes: what it was given and what it was told to have missed is what was published."""
    ring = Ring(PINNED, window=window)
    ring.lease_shards()
    published = given = missed = waiting = 0
    for count, taken in rounds:
        ring.publish(drafts(count))
        published += count
        got = len(ring.handed_over().get(PINNED.id, []))
        assert got == min(count, window - waiting)
        given, waiting = given + got, waiting + got
        ring[SUBSCRIBER].subscriber.consumed(ConsumedCommand(PINNED.id, min(taken, waiting)))
        waiting -= min(taken, waiting)
        missed += sum(gap.count for gap in ring.gaps())
    assert given + missed == published


def test_two_subscriptions_have_channels_of_their_own() -> None:
    """One that is full takes nothing from the other."""
    other = wanted_by(on_topic(TOPIC), 2)
    ring = Ring(PINNED, other)
    ring[SUBSCRIBER].subscriber._wanted[PINNED.id].window = 0
    ring.lease_shards()
    ring.publish(drafts(2))
    assert ring.handed_over() == {other.id: [1, 2]}
    assert ring.gaps() == []
    ring[SUBSCRIBER].subscriber.consumed(ConsumedCommand(PINNED.id, 1))
    assert ring.gaps() == [NotifyGap(PINNED.id, 2, Reason.CHANNEL_FULL)]


def test_events_before_the_verdict_are_held_back() -> None:
    """As far as there is room; with the verdict they are handed over, in their order."""
    ring = Ring()
    ring.subscribe(PINNED, 3, status=None)
    for number in (1, 2):
        stream = stream_of(free_events(2), number)
        ring.hear(SUBSCRIBER, OWNER, delivery(stream.parcel, Want(PINNED.id)))
    assert ring.handed_over() == {}
    ring.verdict(PINNED)
    assert ring.handed_over() == {PINNED.id: [1, 2, 1]}
    assert [gap.count for gap in ring.gaps()] == [1]


@pytest.mark.parametrize("end", ["unknown", "unsubscribed", "refused"])
def test_what_nobody_wants_any_more_is_dropped(end: str) -> None:
    """Unknown here, ended by its application, or refused: counted, and no gap, for nobody misses it."""
    ring = Ring()
    if end != "unknown":
        ring.subscribe(PINNED, 10, VerdictStatus.REFUSED if end == "refused" else VerdictStatus.STABLE)
    if end == "unsubscribed":
        ring[SUBSCRIBER].subscriber.unsubscribe(UnsubscribeCommand(2, PINNED.id))
    ring.hear(SUBSCRIBER, OWNER, delivery(stream_of(free_events(3)).parcel, Want(PINNED.id)))
    assert ring.drops(SUBSCRIBER) == [("refused" if end == "refused" else "unsubscribed", 3)]
    assert (ring.handed_over(), ring.gaps()) == ({}, [])
