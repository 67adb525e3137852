"""Parcels that are not what they should be: dropped with a reason, by everybody, at no harm to others."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.errors import MalformedMessage
from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import (
    Parcel,
    ParcelToOwner,
    ParcelToShard,
    ParcelToSubscriber,
)
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.model.seals import BATCH_MAX, Signature
from tests.oracles.instances import instances_of
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
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
    free_event,
    free_events,
    hear,
    stream_of,
    through_the_wire,
    up_to,
    wanted_by,
)


def altered(**changes: object) -> Parcel:
    """A sound parcel of three events with some fields changed."""
    return msgspec.structs.replace(stream_of(free_events(3)).parcel, **changes)


UNSOUND: dict[str, Parcel] = {
    "no events": altered(events=(), size=0),
    "no events of three": altered(events=()),
    "fewer events than it says": altered(events=free_events(2)),
    "more events than it says": altered(events=free_events(4)),
    "a size of none": altered(size=0),
    "a size above the bound": altered(size=BATCH_MAX + 1, places=(0, 1, 2)),
    "more events than the bound": altered(events=free_events(BATCH_MAX + 1), size=BATCH_MAX + 1),
    "a size beyond all bounds": altered(size=2**63 - 1),
    "a size beyond all bounds, and places": altered(size=2**63 - 1, places=(0, 1, 2**63 - 2)),
    "a place out of range": altered(places=(0, 1, 3)),
    "a place far out of range": altered(places=(0, 1, 2**63 - 1)),
    "one place twice": altered(places=(0, 1, 1)),
    "fewer places than events": altered(places=(0, 1)),
    "more places than events": altered(size=4, places=(0, 1, 2, 3)),
    "events of two starts": altered(
        events=(*free_events(2), msgspec.structs.replace(free_event(3), id=EventId(node_at(PUBLISHER), 2, 3)))
    ),
    "events of two publishers": altered(events=(*free_events(2), free_event(3, publisher=OWNER))),
}


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
        (SUBSCRIBER, OWNER, ParcelToSubscriber(parcel, ((PINNED.id, ()),)), "bad_signature"),
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


def test_negative_numbers_do_not_come_through_the_wire() -> None:
    """Neither places nor indexes, sizes nor numbers: the link of whoever sends them ends."""
    parcels = [altered(places=(0, 1, -1)), altered(size=-1), altered(number=-1)]
    messages: list[Message] = [ParcelToOwner(parcel) for parcel in parcels]
    messages += [ParcelToSubscriber(altered(), ((PINNED.id, (-1,)),))]
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
    ring.hear(OWNER, PUBLISHER, ParcelToOwner(altered(events=free_events(2), places=(0, 1))))
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
    ring.hear(SUBSCRIBER, FIRST_SHARD, ParcelToSubscriber(altered(signature=None), ((PINNED.id, ()),)))
    ring.hear(OWNER, PUBLISHER, stream_of(free_events(1)))
    assert ring.handed_over() == {PINNED.id: [1]}


@pytest.mark.parametrize("index", [3, 4, 64, 2**63 - 1])
def test_index_out_of_range_is_dropped(index: int) -> None:
    """For that subscription; the others of the message get their events."""
    other = wanted_by(on_topic(TOPIC), 2)
    ring = Ring(PINNED, other)
    deliver = ParcelToSubscriber(altered(), ((PINNED.id, (0, index)), (other.id, (0, 2))))
    ring.hear(SUBSCRIBER, OWNER, through_the_wire(deliver))
    assert ring.drops(SUBSCRIBER) == [("no_such_event", 2)]
    assert ring.handed_over() == {other.id: [1, 3]}


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
    ring.hear(SUBSCRIBER, OWNER, ParcelToSubscriber(parcel, ((PINNED.id, ()),)))
    assert ring.drops(SUBSCRIBER) == [("bad_signature", 3)]
    assert ring.handed_over() == {}
    ring.hear(SUBSCRIBER, OWNER, ParcelToSubscriber(altered(), ((PINNED.id, ()),)))
    assert ring.handed_over() == {PINNED.id: [1, 2, 3]}


ANY_STREAM = instances_of(ParcelToOwner) | instances_of(ParcelToShard) | instances_of(ParcelToSubscriber)


@given(ANY_STREAM, st.sampled_from([OWNER, FIRST_SHARD, SECOND_SHARD, SUBSCRIBER]))
@settings(max_examples=300, deadline=None)
def test_no_message_makes_anybody_fall(message: Message, place: int) -> None:
    """Whatever a liar puts together: it is dropped and said so, and nothing follows from it."""
    hear(LISTENING[place], at(PUBLISHER), message)
    assert sent(LISTENING[place].step) == []
    (drop,) = records_of(LISTENING[place].step, Kind.DROP, Kind.DUPLICATE)
    assert (drop.kind, drop.peer) == (Kind.DROP, node_at(PUBLISHER))


LISTENING = Ring(PINNED, wildcard_in_shard(0, SUBSCRIBER))
