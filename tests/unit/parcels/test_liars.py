"""What a liar, or bad luck, must not make of a stream."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.errors import MalformedMessage
from p2psub.model.content import Guarantee
from p2psub.model.effects import Notify, NotifyGap
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages.pubsub import Deliver, Route, Want
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.model.rights import CERTIFICATE_BYTES_MAX
from p2psub.model.seals import SIGNATURE_BYTES, Signature
from p2psub.wire.codec import decode_batch, encode_batch
from tests.unit.bench import (
    CLUSTER,
    at,
    bits,
    event_of,
    give_index,
    member_at,
    on_topic,
    parcel_of,
    place_off_the_shards,
    sent_of,
    subscription_of,
    table_of,
)
from tests.unit.parcels.parcels import OWNER, SUBSCRIBER, TOPIC, Ring, delivery, drafts, free_events, stream_of
from tests.unit.parcels.sealers import ANN, sealed_by
from tests.unit.parcels.test_sealed_ways import HERE, Subscriber

PINNED = subscription_of(on_topic(TOPIC), 1, SUBSCRIBER)


def test_gap_is_told_behind_the_events_that_still_had_room() -> None:
    """Events 1 to 3 fit, 4 and 5 are lost: they are missing behind 3."""
    ring = Ring(PINNED, window=3)
    ring.lease_shards()
    ring.publish(drafts(5))
    items = [e for e in ring[SUBSCRIBER].step.effects if isinstance(e, Notify | NotifyGap)]
    assert isinstance(items[0], Notify)


def test_events_for_other_clusters_without_a_super_node_are_dropped_with_a_record() -> None:
    """Streams promise: whoever cannot pass it on says so in the trace."""
    ring = Ring(subscription_of(on_topic(TOPIC), 1, 7, cluster=ClusterId("c2")))
    ring.lease_shards()
    ring[OWNER].election.super_node = None
    ring.publish(drafts(3))
    assert ring.said_of(Route) == []
    assert sum(count or 0 for _, count in ring.drops(OWNER)) == 3


def test_promised_event_is_not_handed_over_again_as_a_stream() -> None:
    """Whoever holds a sealed event could wrap it in parcels of his own numbering; a promise is signed as one."""
    subscriber, parcel = Subscriber(), sealed_by(ANN)
    subscriber.deliver(parcel)
    free = tuple(msgspec.structs.replace(event, guarantee=Guarantee.AT_MOST_ONCE) for event in parcel.events)
    for number in (1, 2, 3):
        subscriber.stream(msgspec.structs.replace(parcel, number=number, events=free))
        subscriber.stream(msgspec.structs.replace(parcel, number=number))
    assert subscriber.handed_over() == [(1, b"body")]


def test_parcel_cannot_be_counted_anew() -> None:
    """Its number is signed: at most once does not become twice."""
    ring = Ring(PINNED)
    parcel = stream_of(free_events(1)).parcel
    for number in (1, 2):
        again = msgspec.structs.replace(parcel, number=number)
        ring.hear(SUBSCRIBER, OWNER, delivery(again, Want(PINNED.id, bits(0))))
    assert ring.handed_over() == {PINNED.id: [1]}
    assert ring.drops(SUBSCRIBER) == [("bad_signature", 1)]


def test_event_named_twice_is_not_handed_over_twice() -> None:
    """A subscription that a message names twice gets all that it is named with, each event once."""
    ring = Ring(PINNED)
    parcel = stream_of(free_events(2)).parcel
    ring.hear(SUBSCRIBER, OWNER, delivery(parcel, Want(PINNED.id, bits(0)), Want(PINNED.id)))
    assert ring.handed_over() == {PINNED.id: [1, 2]}
    promised = sealed_by(ANN)
    subscriber = Subscriber()
    subscriber.hear(Deliver(promised, Micros(0), (Want(HERE.id, bits(0)), Want(HERE.id))))
    assert subscriber.handed_over() == [(1, b"body")]


@pytest.mark.parametrize(
    "signature",
    [Signature(bytes(SIGNATURE_BYTES + 1), b""), Signature(b"", bytes(CERTIFICATE_BYTES_MAX + 1))],
)
def test_signature_has_a_largest_size(signature: Signature) -> None:
    """What was checked is remembered, by its bytes: a liar must not fill our memory with it."""
    parcel = msgspec.structs.replace(stream_of(free_events(1)).parcel, signature=signature)
    payload = encode_batch([delivery(parcel)], Stamp(0, 0))
    with pytest.raises(MalformedMessage):
        decode_batch(payload)


def test_lease_that_came_with_matches_ends_with_its_table() -> None:
    """Asked under the old table, answered under the new one, and by somebody who owns no shard."""
    table, topic = place_off_the_shards()
    shards, owner = (contact.id[0] for contact in table.owners)
    cores = member_at(owner, table)
    event = event_of(topic)
    cores.step.now = Micros(1000)
    cores.owner.matchmaker.gather(parcel_of(event), Micros(0), at(9))
    (number, *_) = [request.number for _, request in sent_of(cores.step, MatchRequest)]
    cores.step.now = Micros(2000)
    give_index(cores, table_of(shards, owner, n=2))
    cores.owner.on_match_response(at(200), MatchResponse(CLUSTER, 0, number, (), (), True))
    assert not cores.owner.shards.has(0)
