"""Streams to the shards of subscriptions that pin no topic: each is asked once."""

from __future__ import annotations

import pytest

from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import ShardRequest
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Want
from p2psub.model.messages.shards import ParcelToShard
from p2psub.model.rights import Rights
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    node_at,
    on_topic,
    wildcard_in_shard,
)
from tests.unit.parcels.parcels import (
    FIRST_SHARD,
    OTHER_TOPIC,
    OWNER,
    PUBLISHER,
    SECOND_SHARD,
    SHARD_OWNERS,
    START_US,
    SUBSCRIBER,
    TOPIC,
    Ring,
    delivery,
    drafts,
    free_event,
    free_events,
    stream_of,
    wanted_by,
)


@pytest.mark.parametrize("shard", [0, 1])
def test_wildcard_subscription_is_served_by_the_owner_of_its_shard(shard: int) -> None:
    """The topics' owner sends it the events, whole or in part, and it sends them on."""
    record = wildcard_in_shard(shard, SUBSCRIBER)
    ring = Ring(record)
    ring.publish(drafts(3))
    shard_owner = SHARD_OWNERS[shard]
    stream = stream_of(free_events(3))
    said = list(ring.said)
    assert (OWNER, shard_owner, ParcelToShard(CLUSTER, shard, stream.parcel, stream.leaves)) in said
    assert (shard_owner, SUBSCRIBER, delivery(stream.parcel, Want(record.id))) in said
    assert ring.handed_over() == {record.id: [1, 2, 3]}
    assert ring.matches(shard_owner) == [1] * 3


def test_shard_gets_only_what_was_taken() -> None:
    """What the publisher may not publish goes nowhere; the rest still leads to the signature."""
    record = wildcard_in_shard(0, SUBSCRIBER)
    ring = Ring(record)
    ring[OWNER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC,)))
    mixed = [free_event(1), free_event(2, "secret"), free_event(3)]
    ring.hear(OWNER, PUBLISHER, stream_of(mixed))
    assert ring.handed_over() == {record.id: [1, 3]}
    assert ring.drops(OWNER) == [("not_authorized", 1)]
    assert ring.drops(SUBSCRIBER) == []


def test_shards_of_the_topics_owner_are_matched_at_once() -> None:
    """Nobody is asked who is known; a peer gets one message for its subscriptions of either kind."""
    wild, pinned = wildcard_in_shard(1, SUBSCRIBER), wanted_by(on_topic(OTHER_TOPIC), 5)
    ring = Ring(wild, pinned)
    ring.lease(SECOND_SHARD, 0)
    ring.publish(drafts(2, OTHER_TOPIC))
    assert [(who, to, type(message)) for who, to, message in ring.said] == [
        (PUBLISHER, SECOND_SHARD, ParcelToOwner),
        (SECOND_SHARD, SUBSCRIBER, Deliver),
    ]
    assert ring.handed_over() == {wild.id: [1, 2], pinned.id: [1, 2]}


def test_empty_shard_is_asked_once_and_then_passed_over() -> None:
    """Until it is known to be empty it gets the events; a shard that is not goes on getting them."""
    record = wildcard_in_shard(1, SUBSCRIBER)
    ring = Ring(record)
    ring.publish(drafts(1))
    said = list(ring.said)
    assert [(to, ask.shard) for _, to, ask in said if isinstance(ask, ShardRequest)] == [
        (FIRST_SHARD, 0),
        (SECOND_SHARD, 1),
    ]
    assert [stream.shard for _, _, stream in ring.said_of(ParcelToShard)] == [0, 1]
    ring.publish(drafts(2))
    assert [stream.shard for _, _, stream in ring.said_of(ParcelToShard)] == [1]
    assert ring.handed_over() == {record.id: [1, 2, 3]}
    for cores in ring.members.values():
        cores.step.now = Micros(START_US + CONFIG.pubsub.empty_lease_us)
    ring.publish(drafts(1))
    assert [stream.shard for _, _, stream in ring.said_of(ParcelToShard)] == [0, 1]


def test_shard_that_cannot_be_reached_is_told() -> None:
    """Whoever is in no cluster has nobody to send it to."""
    ring = Ring()
    ring[OWNER].election.cluster = None
    ring.publish(drafts(3))
    assert ring.drops(OWNER) == [("shard_unreachable", 3)] * 2
