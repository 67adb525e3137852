"""Parcels that are not what they should be: dropped with a reason, by everybody, at no harm to others."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.errors import MalformedMessage
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Want
from p2psub.model.messages.shards import ParcelToShard
from p2psub.model.parcels import Parcel
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.model.seals import BATCH_MAX, Signature
from tests.oracles.instances import instances_of
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    bits,
    node_at,
    on_topic,
    records_of,
    sent,
    wildcard_in_shard,
)
from tests.unit.parcels.parcels import (
    ELSEWHERE,
    FIRST_SHARD,
    OTHER_TOPIC,
    OWNER,
    PINNED,
    PUBLISHER,
    SECOND_SHARD,
    SUBSCRIBER,
    TOPIC,
    Ring,
    delivery,
    free_event,
    free_events,
    hear,
    stream_of,
    through_the_wire,
    up_to,
    wanted_by,
)
from tests.unit.unsound import unsound_parcels


def altered(**changes: object) -> Parcel:
    """A sound parcel of three events with some fields changed."""
    return msgspec.structs.replace(stream_of(free_events(3)).parcel, **changes)


UNSOUND = unsound_parcels(free_event)


@pytest.mark.parametrize("parcel", UNSOUND.values(), ids=UNSOUND)
def test_unsound_parcel_is_dropped_by_everybody(parcel: Parcel) -> None:
    """Owner, shard's owner and subscriber: each records how many events it brought, and stands."""
    ring = Ring(PINNED, wildcard_in_shard(0, SUBSCRIBER))
    leaves = stream_of(free_events(3)).leaves
    for place, peer, message, reason in (
        (OWNER, PUBLISHER, ParcelToOwner(parcel), "foreign_event"),
        (OWNER, PUBLISHER, ParcelToOwner(parcel, leaves), "foreign_event"),
        (FIRST_SHARD, OWNER, ParcelToShard(CLUSTER, 0, parcel), "foreign_event"),
        (FIRST_SHARD, OWNER, ParcelToShard(CLUSTER, 0, parcel, leaves), "foreign_event"),
        (SUBSCRIBER, OWNER, delivery(parcel, Want(PINNED.id)), "bad_signature"),
    ):
        ring.hear(place, peer, through_the_wire(message))
        assert ring.drops(place) == [(reason, len(parcel.events))]
    assert ring.said == []
    assert ring.handed_over() == {}


@pytest.mark.parametrize("count", [1, 2, 4, 64, 1000])
def test_leaves_are_none_or_all(count: int) -> None:
    """Any other number of them is no batch."""
    ring = Ring(PINNED)
    parcel, leaves = stream_of(free_events(3)).parcel, stream_of(free_events(1)).leaves * count
    ring.hear(OWNER, PUBLISHER, ParcelToOwner(parcel, leaves))
    ring.hear(FIRST_SHARD, OWNER, ParcelToShard(CLUSTER, 0, parcel, leaves))
    assert ring.drops(OWNER) == ring.drops(FIRST_SHARD) == [("foreign_event", 3)]
    assert ring.said == []


def test_what_is_out_of_bounds_does_not_come_through_the_wire() -> None:
    """Neither sizes nor numbers, nor what is beyond all bounds: the link of whoever sends them ends."""
    parcels = [altered(size=-1), altered(number=-1), altered(events=()), altered(size=0)]
    parcels += [altered(size=BATCH_MAX + 1), altered(size=2**63 - 1), altered(bitmap=bytes(33))]
    parcels += [altered(events=free_events(BATCH_MAX + 1), size=BATCH_MAX + 1), altered(number=2**63)]
    messages: list[Message] = [ParcelToOwner(parcel) for parcel in parcels]
    messages += [delivery(altered(), Want(PINNED.id, bytes(33)))]
    for message in messages:
        with pytest.raises(MalformedMessage):
            through_the_wire(message)


def test_leaves_that_are_wrong_harm_nobody_but_their_publisher() -> None:
    """Who gets a part refuses it; who gets the whole needs no leaves."""
    part, whole = wanted_by(up_to(2)), wanted_by(on_topic(TOPIC), 1, FIRST_SHARD)
    ring = Ring(part, whole)
    ring.lease_shards()
    stream = stream_of(free_events(3))
    ring.hear(OWNER, PUBLISHER, ParcelToOwner(stream.parcel, stream.leaves[::-1]))
    assert (ring.handed_over(), ring.handed_over(FIRST_SHARD)) == ({}, {whole.id: [1, 2, 3]})
    assert ring.drops(SUBSCRIBER) == [("bad_signature", 2)]


def test_nobody_streams_events_of_another() -> None:
    """Though they are genuine: an owner takes them from their publisher alone."""
    ring = Ring(PINNED)
    ring.hear(OWNER, FIRST_SHARD, stream_of(free_events(2)))
    assert ring.drops(OWNER) == [("foreign_event", 2)]
    assert ring.said == []


def test_publisher_does_not_stream_parts() -> None:
    """It has all that it signed."""
    ring = Ring(PINNED)
    ring.hear(OWNER, PUBLISHER, ParcelToOwner(altered(events=free_events(2), bitmap=bits(0, 1))))
    assert ring.drops(OWNER) == [("foreign_event", 2)]
    assert ring.said == []


def test_owner_passes_on_only_what_may_be_published_there() -> None:
    """Of one parcel some may go and others not: no right, not our key, and the rest."""
    ring = Ring(PINNED)
    ring.lease_shards()
    ring[OWNER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC, OTHER_TOPIC)))
    ring.hear(
        OWNER, PUBLISHER, stream_of([free_event(1), free_event(2, OTHER_TOPIC), free_event(3, "secret"), free_event(4)])
    )
    assert ring.handed_over() == {PINNED.id: [1, 4]}
    assert ring.drops(OWNER) == [("not_owner", 1), ("not_authorized", 1)]


def test_owner_whose_lease_is_over_passes_nothing_on() -> None:
    """Somebody else may own the key by now."""
    ring = Ring(PINNED, wildcard_in_shard(0, SUBSCRIBER))
    for cores in ring.members.values():
        cores.step.now = Micros(CONFIG.cluster.lease_ticks * TICK_US)
    ring.hear(OWNER, PUBLISHER, stream_of(free_events(2)))
    stream = stream_of(free_events(2))
    ring.hear(FIRST_SHARD, OWNER, ParcelToShard(CLUSTER, 0, stream.parcel, stream.leaves))
    assert ring.drops(OWNER) == ring.drops(FIRST_SHARD) == [("not_owner", 2)]
    assert ring.said == []


def test_shard_is_served_by_its_owner_in_its_cluster() -> None:
    """Not by another member, not for another cluster, and not if it does not exist."""
    ring = Ring(wildcard_in_shard(0, SUBSCRIBER))
    stream = stream_of(free_events(2))
    for place, cluster, shard in ((SECOND_SHARD, CLUSTER, 0), (FIRST_SHARD, ELSEWHERE, 0)):
        ring.hear(place, OWNER, ParcelToShard(cluster, shard, stream.parcel, stream.leaves))
        assert ring.drops(place) == [("not_owner", 2)]
    for shard in (-1, CONFIG.pubsub.shards, 2**63 - 1, -(2**63)):
        ring.hear(FIRST_SHARD, OWNER, ParcelToShard(CLUSTER, shard, stream.parcel, stream.leaves))
        assert ring.drops(FIRST_SHARD) == [("foreign_event", 2)]
    assert ring.said == []


def test_copy_of_a_stranger_does_not_keep_the_publisher_out() -> None:
    """Numbers are counted by who brings them: nobody can use up another's."""
    ring = Ring(PINNED)
    ring.lease_shards()
    ring.hear(OWNER, FIRST_SHARD, stream_of(free_events(1)))
    ring.hear(SUBSCRIBER, FIRST_SHARD, delivery(altered(signature=None), Want(PINNED.id)))
    ring.hear(OWNER, PUBLISHER, stream_of(free_events(1)))
    assert ring.handed_over() == {PINNED.id: [1]}


@pytest.mark.parametrize("place", [3, 4, 64, 255])
def test_place_out_of_range_is_nobodys(place: int) -> None:
    """A subscription gets what of its events is there; the others of the message get theirs."""
    other = wanted_by(on_topic(TOPIC), 2)
    ring = Ring(PINNED, other)
    deliver = delivery(altered(), Want(PINNED.id, bits(0, place)), Want(other.id, bits(0, 2)))
    ring.hear(SUBSCRIBER, OWNER, through_the_wire(deliver))
    assert ring.handed_over() == {PINNED.id: [1], other.id: [1, 3]}
    ring.hear(SUBSCRIBER, OWNER, delivery(stream_of(free_events(3), 2).parcel, Want(PINNED.id, bits(place))))
    assert ring.handed_over() == {}
    assert ring.drops(SUBSCRIBER) == []


@pytest.mark.parametrize(
    "parcel",
    [
        altered(signature=None),
        altered(signature=Signature(b"", b"")),
        altered(signature=stream_of(free_events(2)).parcel.signature),
        altered(proof=stream_of(free_events(1)).leaves),
        altered(events=(*free_events(2), free_event(9))),
        altered(events=free_events(3)[::-1]),
    ],
    ids=[
        "unsigned",
        "signed with nothing",
        "signed for others",
        "one hash too many",
        "an event of another batch",
        "turned",
    ],
)
def test_subscriber_takes_only_what_was_signed(parcel: Parcel) -> None:
    """A parcel is refused whole, with its count; the genuine one is taken afterwards all the same."""
    ring = Ring(PINNED)
    ring.hear(SUBSCRIBER, OWNER, delivery(parcel, Want(PINNED.id)))
    assert ring.drops(SUBSCRIBER) == [("bad_signature", 3)]
    assert ring.handed_over() == {}
    ring.hear(SUBSCRIBER, OWNER, delivery(altered(), Want(PINNED.id)))
    assert ring.handed_over() == {PINNED.id: [1, 2, 3]}


ANY_STREAM = instances_of(ParcelToOwner) | instances_of(ParcelToShard) | instances_of(Deliver)


@given(ANY_STREAM, st.sampled_from([OWNER, FIRST_SHARD, SECOND_SHARD, SUBSCRIBER]))
@settings(max_examples=300, deadline=None)
def test_no_message_makes_anybody_fall(message: Message, place: int) -> None:
    """Whatever a liar puts together: it is dropped and said so, and nothing follows from it."""
    hear(LISTENING[place], at(PUBLISHER), message)
    assert sent(LISTENING[place].step) == []
    (drop,) = records_of(LISTENING[place].step, Kind.DROP, Kind.DUPLICATE)
    assert (drop.kind, drop.peer) == (Kind.DROP, node_at(PUBLISHER))


LISTENING = Ring(PINNED, wildcard_in_shard(0, SUBSCRIBER))
