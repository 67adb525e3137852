"""Streams: what promises nothing takes every hop once, in parcels, and whoever cannot pass it on says so."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.errors import MalformedMessage
from p2psub.model.content import EVENT_BYTES_MAX, TOPIC_BYTES_MAX, Draft, Filter, Operator, Predicate, Subscription
from p2psub.model.content import TOPIC as TOPIC_NAME
from p2psub.model.digests import content_hash
from p2psub.model.effects import NotifyGap, PublishCommand, Reply, TookCommand, UnsubscribeCommand
from p2psub.model.ids import ClusterId, EventId, key_of_topic
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import (
    Obligation,
    Parcel,
    Route,
    ShardAsk,
    Stream,
    StreamDeliver,
    StreamToShard,
)
from p2psub.model.outcomes import PublishOutcome, VerdictStatus
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.model.seals import BATCH_MAX, Signature
from p2psub.pubsub import streaming
from p2psub.pubsub.sealing import Sealing
from p2psub.pubsub.streaming import PARCEL_BYTES_MAX
from p2psub.runtime.drafts import ATTRIBUTES_MAX, check_draft
from p2psub.wire.codec import encode_batch
from p2psub.wire.framing import PAYLOAD_BYTES_MAX
from tests.oracles.instances import instances_of
from tests.unit.bench import (
    ANY,
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    change_of,
    cores_at,
    effects_of,
    member_at,
    node_at,
    on_topic,
    place_off_the_shards,
    records_of,
    sent,
    subscription_of,
    table_of,
    wildcard_in_shard,
)
from tests.unit.notaries import PlainNotary
from tests.unit.pubsub.streams import (
    FIRST_SHARD,
    FREE,
    OTHER_TOPIC,
    OWNER,
    PUBLISHER,
    SECOND_SHARD,
    SHARD_OWNERS,
    START_US,
    SUBSCRIBER,
    SUPER_NODE,
    TABLE,
    TOPIC,
    Ring,
    drafts,
    free_event,
    free_events,
    hear,
    stream_of,
    through_the_wire,
)

ELSEWHERE = ClusterId("c2")


def up_to(n: int, topic: str = TOPIC) -> Filter:
    """Wants the first n events of a topic."""
    return Filter(((Predicate(TOPIC_NAME, Operator.EQUAL, topic), Predicate("n", Operator.LESS_EQUAL, n)),))


def between(low: int, high: int) -> Filter:
    """Wants the events with these numbers, of the topic."""
    (term,) = up_to(high).terms
    return Filter(((*term, Predicate("n", Operator.GREATER_EQUAL, low)),))


def one_of(numbers: frozenset[int], topic: str | None) -> Filter:
    """Wants the events with any of these numbers, of a topic or of all."""
    on = () if topic is None else (Predicate(TOPIC_NAME, Operator.EQUAL, topic),)
    return Filter(tuple((*on, Predicate("n", Operator.EQUAL, n)) for n in sorted(numbers)))


def wanted_by(filter_: Filter, sequence: int = 1, subscriber: int = SUBSCRIBER) -> Subscription:
    """A subscription of a member."""
    return subscription_of(filter_, sequence, subscriber)


PINNED = wanted_by(on_topic(TOPIC))


# The way


def test_event_takes_two_hops_and_each_of_them_once() -> None:
    """From its publisher to the owner of its topic, from there to whoever wants it; nobody answers or repeats."""
    ring = Ring(PINNED)
    ring.lease_shards()
    ring.publish(drafts(1))
    stream = stream_of(free_events(1))
    assert ring.said == [
        (PUBLISHER, OWNER, stream),
        (OWNER, SUBSCRIBER, StreamDeliver(stream.parcel, ((PINNED.id, ()),))),
    ]
    assert ring.handed_over() == {PINNED.id: [1]}
    for cores in ring.members.values():
        cores.step.now = Micros(cores.step.now + 20 * TICK_US)
        cores.publishing.tick()
        cores.owning.tick()
        cores.deeds.tick()
        cores.delivery.tick()
        assert cores.deeds.held == {}
    ring.run()
    assert len(ring.said) == 2
    assert ring.handed_over() == {}


def test_application_is_answered_at_once() -> None:
    """That there are no copies, for every event of its command under its own number."""
    ring = Ring()
    ring.publish(drafts(2))
    (reply,) = effects_of(ring[PUBLISHER].step, Reply)
    assert reply == Reply(1, tuple(PublishOutcome(event.id, 0, 0) for event in free_events(2)))


def test_every_end_of_the_way_is_traced() -> None:
    """Published, matched with so many, delivered: one record each, and what was published is what was delivered."""
    ring = Ring(PINNED, wanted_by(up_to(1), 2))
    ring.lease_shards()
    ring.publish(drafts(2))
    published = records_of(ring[PUBLISHER].step, Kind.PUBLISH)
    matched = records_of(ring[OWNER].step, Kind.MATCH)
    delivered = records_of(ring[SUBSCRIBER].step, Kind.DELIVER)
    one, two = free_events(2)
    assert [(r.event, r.digest, r.published) for r in published] == [(e.id, content_hash(e), e) for e in (one, two)]
    assert [(r.event, r.count, r.reason) for r in matched] == [(one.id, 2, "at_most_once"), (two.id, 1, "at_most_once")]
    assert sorted((r.event, r.digest) for r in delivered) == [
        (one.id, content_hash(one)),
        (one.id, content_hash(one)),
        (two.id, content_hash(two)),
    ]


def test_only_a_sample_is_traced_whole_and_the_rest_is_counted() -> None:
    """The same events at every end."""
    every = replace(CONFIG, pubsub=replace(CONFIG.pubsub, at_most_once_trace_every=4))
    ring = Ring(PINNED, config=every)
    ring.lease_shards()
    ring.publish(drafts(10))
    for place, kind in ((PUBLISHER, Kind.PUBLISH), (OWNER, Kind.MATCH), (SUBSCRIBER, Kind.DELIVER)):
        ring[place].sampling.tick()
        records = records_of(ring[place].step, kind)
        assert [record.event.sequence for record in records if record.event is not None] == [4, 8]
        assert [(record.reason, record.count) for record in records if record.event is None] == [("untraced", 8)]


def test_node_alone_streams_to_itself() -> None:
    """Publisher, owner, both shards and subscriber in one."""
    record = subscription_of(ANY, 1, 32)
    cores = member_at(32, table_of(32), [change_of(record, 1)], notary=PlainNotary(node_at(32)))
    ring = Ring()
    ring.members = {32: cores}
    ring.subscribe(record, 10)
    ring.publish(drafts(3), place=32)
    assert ring.said == []
    assert ring.handed_over() == {record.id: [1, 2, 3]}


# Parcels


def test_eight_hundred_events_make_four_parcels_for_each_owner() -> None:
    """As few as their bound allows, numbered through; their receivers get all of them, in the order of each topic."""
    ring = Ring(PINNED, wanted_by(on_topic(OTHER_TOPIC), 2))
    ring.lease_shards()
    mixed = [draft for pair in zip(drafts(800, TOPIC), drafts(800, OTHER_TOPIC), strict=True) for draft in pair]
    ring.publish(mixed)
    said = ring.said_of(Stream)
    assert ceil(800 / BATCH_MAX) == 4
    assert [to for _, to, _ in said] == [OWNER] * 4 + [SECOND_SHARD] * 4
    assert [stream.parcel.number for _, _, stream in said] == list(range(1, 9))
    assert [len(stream.parcel.events) for _, _, stream in said] == 2 * [256, 256, 256, 32]
    assert ring.handed_over() == {PINNED.id: [*range(1, 1601, 2)], PINNED.id._replace(sequence=2): [*range(2, 1601, 2)]}


def test_commands_of_one_step_share_a_parcel() -> None:
    """And so one signature."""
    ring = Ring()
    ring.publish(*(drafts(1) for _ in range(5)))
    ((_, _, stream),) = ring.said_of(Stream)
    assert [event.id.sequence for event in stream.parcel.events] == [1, 2, 3, 4, 5]


def test_parcel_is_cut_by_weight() -> None:
    """It takes no further event once it is heavy enough; nothing is lost or turned around."""
    ring = Ring(PINNED)
    ring.lease_shards()
    third = PARCEL_BYTES_MAX // 3 + 1
    ring.publish([*drafts(7, body=bytes(third)), *drafts(1)])
    parcels = [stream.parcel for _, _, stream in ring.said_of(Stream)]
    assert [[event.id.sequence for event in parcel.events] for parcel in parcels] == [[1, 2, 3], [4, 5, 6], [7, 8]]
    assert ring.handed_over() == {PINNED.id: [*range(1, 9)]}


def heavy(kind: str, size: int) -> Draft:
    """An event of almost this size, all of which lies in one kind of content."""
    # Of characters that take four bytes, for whoever might count characters.
    count, share = ATTRIBUTES_MAX, "\U0001f40c" * (size // 4 // ATTRIBUTES_MAX - 4)
    if kind == "body":
        draft = Draft(LONG_TOPIC, {}, bytes(size), 0.0, FREE)
    elif kind == "names":
        draft = Draft(LONG_TOPIC, {f"{share}{n}": True for n in range(count)}, b"", 0.0, FREE)
    elif kind == "texts":
        draft = Draft(LONG_TOPIC, {f"{n}": share for n in range(count)}, b"", 0.0, FREE)
    else:
        draft = Draft(
            LONG_TOPIC, {f"{n}": frozenset({share[1:], share[2:] + "-"}) for n in range(count // 2)}, b"", 0.0, FREE
        )
    check_draft(draft)
    return draft


LONG_TOPIC = next(
    name for n in range(999) if TABLE.owner_of(key_of_topic(name := f"{n:0{TOPIC_BYTES_MAX}}")).id == node_at(OWNER)
)


@pytest.mark.parametrize("kind", ["body", "names", "texts", "sets"])
@pytest.mark.parametrize("before", [0, 1, 7, 15, 19, 31])
def test_heaviest_parcel_fits_into_a_frame(kind: str, before: int) -> None:
    """Many events, and at the end the largest that there can be, by whatever it is so large."""
    ring = Ring(wanted_by(on_topic(LONG_TOPIC)))
    ring.publish([*[heavy(kind, EVENT_BYTES_MAX // 16)] * before, *[heavy(kind, EVENT_BYTES_MAX - 64)] * 2])
    assert ring.handed_over() == {PINNED.id: [*range(1, before + 3)]}
    assert max(len(encode_batch([message], Stamp(0, 0))) for _, _, message in ring.said) < PAYLOAD_BYTES_MAX


def test_events_that_nobody_owns_are_dropped_and_counted() -> None:
    """A publisher that has no table yet cannot know where they belong."""
    cores = cores_at(PUBLISHER)
    cores.publishing.publish(PublishCommand(1, drafts(3)))
    cores.streaming.flush()
    assert sent(cores.step) == []
    assert [(drop.reason, drop.count) for drop in records_of(cores.step, Kind.DROP)] == [("no_owner", 3)]


def test_publisher_sends_nothing_that_it_may_not_publish() -> None:
    """Its application hears why at once; the rest of the command goes."""
    ring = Ring()
    ring[PUBLISHER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC,)))
    ring.publish([*drafts(1), *drafts(2, OTHER_TOPIC), *drafts(1)])
    ((_, _, stream),) = ring.said_of(Stream)
    assert [event.id.sequence for event in stream.parcel.events] == [1, 4]
    (reply,) = effects_of(ring[PUBLISHER].step, Reply)
    assert isinstance(reply.result, tuple)
    assert [outcome.refused for outcome in reply.result] == [None, "no_right", "no_right", None]
    assert ring.drops(PUBLISHER) == [("no_right", 2)]


# What an owner passes on


def test_peer_gets_the_events_that_it_wants_and_no_other() -> None:
    """Each peer one message, with what leads from its part to the signature."""
    low, high = wanted_by(up_to(2)), wanted_by(between(5, 6), 1, FIRST_SHARD)
    ring = Ring(low, high)
    ring.lease_shards()
    ring.publish(drafts(7))
    said = {to: deliver for _, to, deliver in ring.said_of(StreamDeliver)}
    events = free_events(7)
    assert {to: (deliver.parcel.events, deliver.parcel.places) for to, deliver in said.items()} == {
        SUBSCRIBER: (events[:2], (0, 1)),
        FIRST_SHARD: (events[4:6], (4, 5)),
    }
    assert {to: (deliver.parcel.size, deliver.wanted) for to, deliver in said.items()} == {
        SUBSCRIBER: (7, ((low.id, ()),)),
        FIRST_SHARD: (7, ((high.id, ()),)),
    }
    assert (ring.handed_over(), ring.handed_over(FIRST_SHARD)) == ({low.id: [1, 2]}, {high.id: [5, 6]})


def test_subscriptions_of_one_peer_share_a_message() -> None:
    """It has what any of them wants once, and says who wants which; the application of each gets its own."""
    low, middle, both = (wanted_by(wanted, n) for n, wanted in enumerate((up_to(2), between(2, 4), up_to(4)), 1))
    ring = Ring(low, middle, both)
    ring.lease_shards()
    ring.publish(drafts(9))
    ((_, _, deliver),) = ring.said_of(StreamDeliver)
    assert deliver.parcel.events == free_events(4)
    assert deliver.wanted == ((low.id, (0, 1)), (middle.id, (1, 2, 3)), (both.id, ()))
    assert ring.handed_over() == {low.id: [1, 2], middle.id: [2, 3, 4], both.id: [1, 2, 3, 4]}


def test_peer_with_very_many_subscriptions_gets_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message grows beyond what a link takes, and nobody gets anything twice."""
    monkeypatch.setattr(streaming, "_WANTS_MAX", 2)
    many = [wanted_by(on_topic(TOPIC), sequence) for sequence in range(1, 6)]
    ring = Ring(*many)
    ring.lease_shards()
    ring.publish(drafts(3))
    assert [len(deliver.wanted) for _, _, deliver in ring.said_of(StreamDeliver)] == [2, 2, 1]
    assert ring.handed_over() == {record.id: [1, 2, 3] for record in many}


@given(st.lists(st.frozensets(st.integers(1, 12), min_size=1), min_size=1, max_size=5), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_every_subscription_gets_exactly_what_it_wants(wants: list[frozenset[int]], count: int) -> None:
    """Whoever shares a peer, a shard or an event with whom: each event that it wants once, and genuine."""
    ring = Ring(
        *(
            subscription_of(one_of(want, TOPIC if sequence % 2 else None), sequence, place)
            for sequence, want in enumerate(wants, 1)
            for place in (SUBSCRIBER, PUBLISHER)
        )
    )
    ring.publish(drafts(count))
    for place in (SUBSCRIBER, PUBLISHER):
        assert ring.drops(place) == []
        assert {id_.sequence: sorted(events) for id_, events in ring.handed_over(place).items()} == {
            sequence: seen for sequence, want in enumerate(wants, 1) if (seen := sorted(n for n in want if n <= count))
        }


def test_parcel_that_is_wanted_whole_is_passed_on_as_it_is() -> None:
    """Without places and proof."""
    ring = Ring(PINNED)
    ring.lease_shards()
    ring.publish(drafts(5))
    ((_, _, deliver),) = ring.said_of(StreamDeliver)
    assert deliver.parcel == stream_of(free_events(5)).parcel
    assert (deliver.parcel.places, deliver.parcel.proof) == ((), ())


def test_nobody_hears_of_what_nobody_wants() -> None:
    """It ends at the owner, which records that it matched nobody."""
    ring = Ring(wanted_by(up_to(0)))
    ring.lease_shards()
    ring.publish(drafts(2))
    assert [to for _, to, _ in ring.said_of(Message)] == [OWNER]
    assert ring.records(OWNER, Kind.MATCH) == [("at_most_once", 0)] * 2


def test_other_clusters_get_each_event_by_our_super_node_with_a_seal_of_its_own() -> None:
    """One multicast for all who want it there; alone, it still leads to what its publisher signed."""
    here = wanted_by(up_to(1))
    there, also_there = (
        subscription_of(wanted, n, 7, cluster=ELSEWHERE) for n, wanted in ((1, up_to(2)), (2, up_to(1)))
    )
    ring = Ring(here, there, also_there)
    ring.lease_shards()
    ring.publish(drafts(5))
    routes = [(to, route) for _, to, route in ring.said_of(Route)]
    assert [to for to, _ in routes] == [SUPER_NODE.id[0]] * 2
    assert [route.owed for _, route in routes] == [
        (Obligation(there.id, ELSEWHERE), Obligation(also_there.id, ELSEWHERE)),
        (Obligation(there.id, ELSEWHERE),),
    ]
    sealing = Sealing(PlainNotary(node_at(1)))
    for number, (_, route) in enumerate(routes, 1):
        event = through_the_wire(route).timed.event
        assert msgspec.structs.replace(event, seal=None) == free_event(number)
        assert sealing.is_genuine(event)
        assert not sealing.is_genuine(msgspec.structs.replace(event, body=b"altered"))
    assert ring.handed_over() == {here.id: [1]}


def test_routed_event_of_a_part_has_a_seal_as_well() -> None:
    """A shard's owner may have got a part only; what it sends to other clusters is genuine too."""
    ring = Ring(msgspec.structs.replace(wildcard_in_shard(0, 7), cluster=ELSEWHERE))
    ring[OWNER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC,)))
    ring.hear(OWNER, PUBLISHER, stream_of([free_event(1), free_event(2, "secret"), free_event(3), free_event(4)]))
    routes = [route for _, _, route in ring.said_of(Route)]
    assert [route.timed.event.id.sequence for route in routes] == [1, 3, 4]
    assert all(Sealing(PlainNotary(node_at(1))).is_genuine(route.timed.event) for route in routes)


def test_member_that_cannot_be_found_is_reached_by_the_super_node() -> None:
    """It knows everybody who reports to it."""
    lost = subscription_of(on_topic(TOPIC), 1, 77)
    ring = Ring(lost)
    ring.lease_shards()
    ring.publish(drafts(1))
    ((_, to, route),) = ring.said_of(Route)
    assert (to, route.owed) == (SUPER_NODE.id[0], (Obligation(lost.id, CLUSTER),))


# Shards


@pytest.mark.parametrize("shard", [0, 1])
def test_wildcard_subscription_is_served_by_the_owner_of_its_shard(shard: int) -> None:
    """The topics' owner sends it the events, whole or in part, and it sends them on."""
    record = wildcard_in_shard(shard, SUBSCRIBER)
    ring = Ring(record)
    ring.publish(drafts(3))
    shard_owner = SHARD_OWNERS[shard]
    stream = stream_of(free_events(3))
    said = list(ring.said)
    assert (OWNER, shard_owner, StreamToShard(CLUSTER, shard, stream.parcel, stream.leaves)) in said
    assert (shard_owner, SUBSCRIBER, StreamDeliver(stream.parcel, ((record.id, ()),))) in said
    assert ring.handed_over() == {record.id: [1, 2, 3]}
    assert ring.records(shard_owner, Kind.MATCH) == [("at_most_once", 1)] * 3


def test_shard_gets_only_what_was_taken() -> None:
    """What the publisher may not publish goes nowhere; the rest still leads to the signature."""
    record = wildcard_in_shard(0, SUBSCRIBER)
    ring = Ring(record)
    ring[OWNER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC,)))
    mixed = [free_event(1), free_event(2, "secret"), free_event(3)]
    ring.hear(OWNER, PUBLISHER, stream_of(mixed))
    assert ring.handed_over() == {record.id: [1, 3]}
    assert ring.drops(OWNER) == [("no_right", 1)]
    assert ring.drops(SUBSCRIBER) == []


def test_shards_of_the_topics_owner_are_matched_at_once() -> None:
    """Nobody is asked who is known; a peer gets one message for its subscriptions of either kind."""
    wild, pinned = wildcard_in_shard(1, SUBSCRIBER), wanted_by(on_topic(OTHER_TOPIC), 5)
    ring = Ring(wild, pinned)
    ring.lease(SECOND_SHARD, 0)
    ring.publish(drafts(2, OTHER_TOPIC))
    assert [(who, to, type(message)) for who, to, message in ring.said] == [
        (PUBLISHER, SECOND_SHARD, Stream),
        (SECOND_SHARD, SUBSCRIBER, StreamDeliver),
    ]
    assert ring.handed_over() == {wild.id: [1, 2], pinned.id: [1, 2]}


def test_empty_shard_is_asked_once_and_then_passed_over() -> None:
    """Until it is known to be empty it gets the events; a shard that is not goes on getting them."""
    record = wildcard_in_shard(1, SUBSCRIBER)
    ring = Ring(record)
    ring.publish(drafts(1))
    said = list(ring.said)
    assert [(to, ask.shard) for _, to, ask in said if isinstance(ask, ShardAsk)] == [
        (FIRST_SHARD, 0),
        (SECOND_SHARD, 1),
    ]
    assert [stream.shard for _, _, stream in ring.said_of(StreamToShard)] == [0, 1]
    ring.publish(drafts(2))
    assert [stream.shard for _, _, stream in ring.said_of(StreamToShard)] == [1]
    assert ring.handed_over() == {record.id: [1, 2, 3]}
    for cores in ring.members.values():
        cores.step.now = Micros(START_US + CONFIG.pubsub.empty_lease_us)
    ring.publish(drafts(1))
    assert [stream.shard for _, _, stream in ring.said_of(StreamToShard)] == [0, 1]


def test_shard_that_cannot_be_reached_is_told() -> None:
    """Whoever is in no cluster has nobody to send it to."""
    ring = Ring()
    ring[OWNER].shards.cluster = None
    ring.publish(drafts(3))
    assert ring.drops(OWNER) == [("shard_unreachable", 3)] * 2


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


@pytest.mark.parametrize("kind", [Stream, StreamToShard, StreamDeliver])
def test_second_copy_of_a_message_is_dropped_and_recorded(kind: type[Message]) -> None:
    """Whatever the network repeats: nothing follows from it, and nobody gets an event twice."""
    pinned, wild = wanted_by(on_topic(TOPIC), 5), wildcard_in_shard(0, SUBSCRIBER)
    ring = Ring(pinned, wild)
    ring.lease(OWNER, 1)
    ring.publish(drafts(3))
    assert ring.handed_over() == {pinned.id: [1, 2, 3], wild.id: [1, 2, 3]}
    repeated = repeat(ring, kind)
    assert repeated == [("parcel_repeated", 3)] * (2 if kind is StreamDeliver else 1)
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


# Who lies


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
        (OWNER, PUBLISHER, Stream(parcel), "foreign_event"),
        (OWNER, PUBLISHER, Stream(parcel, leaves), "foreign_event"),
        (FIRST_SHARD, OWNER, StreamToShard(CLUSTER, 0, parcel), "foreign_event"),
        (FIRST_SHARD, OWNER, StreamToShard(CLUSTER, 0, parcel, leaves), "foreign_event"),
        (SUBSCRIBER, OWNER, StreamDeliver(parcel, ((PINNED.id, ()),)), "bad_signature"),
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
    ring.hear(OWNER, PUBLISHER, Stream(parcel, leaves))
    ring.hear(FIRST_SHARD, OWNER, StreamToShard(CLUSTER, 0, parcel, leaves))
    assert ring.drops(OWNER) == ring.drops(FIRST_SHARD) == [("foreign_event", 3)]
    assert ring.said == []


def test_negative_numbers_do_not_come_through_the_wire() -> None:
    """Neither places nor indexes, sizes nor numbers: the link of whoever sends them ends."""
    parcels = [altered(places=(0, 1, -1)), altered(size=-1), altered(number=-1)]
    messages: list[Message] = [Stream(parcel) for parcel in parcels]
    messages += [StreamDeliver(altered(), ((PINNED.id, (-1,)),))]
    for message in messages:
        with pytest.raises(MalformedMessage):
            through_the_wire(message)


def test_leaves_that_are_wrong_harm_nobody_but_their_publisher() -> None:
    """Who gets a part refuses it; who gets the whole needs no leaves."""
    part, whole = wanted_by(up_to(2)), wanted_by(on_topic(TOPIC), 1, FIRST_SHARD)
    ring = Ring(part, whole)
    ring.lease_shards()
    stream = stream_of(free_events(3))
    ring.hear(OWNER, PUBLISHER, Stream(stream.parcel, stream.leaves[::-1]))
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
    ring.hear(OWNER, PUBLISHER, Stream(altered(events=free_events(2), places=(0, 1))))
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
    assert ring.drops(OWNER) == [("not_owner", 1), ("no_right", 1)]


def test_owner_whose_lease_is_over_passes_nothing_on() -> None:
    """Somebody else may own the key by now."""
    ring = Ring(PINNED, wildcard_in_shard(0, SUBSCRIBER))
    for cores in ring.members.values():
        cores.step.now = Micros(CONFIG.cluster.lease_ticks * TICK_US)
    ring.hear(OWNER, PUBLISHER, stream_of(free_events(2)))
    stream = stream_of(free_events(2))
    ring.hear(FIRST_SHARD, OWNER, StreamToShard(CLUSTER, 0, stream.parcel, stream.leaves))
    assert ring.drops(OWNER) == ring.drops(FIRST_SHARD) == [("not_owner", 2)]
    assert ring.said == []


def test_shard_is_served_by_its_owner_in_its_cluster() -> None:
    """Not by another member, not for another cluster, and not if it does not exist."""
    ring = Ring(wildcard_in_shard(0, SUBSCRIBER))
    stream = stream_of(free_events(2))
    for place, cluster, shard in ((SECOND_SHARD, CLUSTER, 0), (FIRST_SHARD, ELSEWHERE, 0)):
        ring.hear(place, OWNER, StreamToShard(cluster, shard, stream.parcel, stream.leaves))
        assert ring.drops(place) == [("not_owner", 2)]
    for shard in (-1, CONFIG.pubsub.shards, 2**63 - 1, -(2**63)):
        ring.hear(FIRST_SHARD, OWNER, StreamToShard(CLUSTER, shard, stream.parcel, stream.leaves))
        assert ring.drops(FIRST_SHARD) == [("foreign_event", 2)]
    assert ring.said == []


def test_copy_of_a_stranger_does_not_keep_the_publisher_out() -> None:
    """Numbers are counted by who brings them: nobody can use up another's."""
    ring = Ring(PINNED)
    ring.lease_shards()
    ring.hear(OWNER, FIRST_SHARD, stream_of(free_events(1)))
    ring.hear(SUBSCRIBER, FIRST_SHARD, StreamDeliver(altered(signature=None), ((PINNED.id, ()),)))
    ring.hear(OWNER, PUBLISHER, stream_of(free_events(1)))
    assert ring.handed_over() == {PINNED.id: [1]}


@pytest.mark.parametrize("index", [3, 4, 64, 2**63 - 1])
def test_index_out_of_range_is_dropped(index: int) -> None:
    """For that subscription; the others of the message get their events."""
    other = wanted_by(on_topic(TOPIC), 2)
    ring = Ring(PINNED, other)
    deliver = StreamDeliver(altered(), ((PINNED.id, (0, index)), (other.id, (0, 2))))
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
    ring.hear(SUBSCRIBER, OWNER, StreamDeliver(parcel, ((PINNED.id, ()),)))
    assert ring.drops(SUBSCRIBER) == [("bad_signature", 3)]
    assert ring.handed_over() == {}
    ring.hear(SUBSCRIBER, OWNER, StreamDeliver(altered(), ((PINNED.id, ()),)))
    assert ring.handed_over() == {PINNED.id: [1, 2, 3]}


ANY_STREAM = instances_of(Stream) | instances_of(StreamToShard) | instances_of(StreamDeliver)


@given(ANY_STREAM, st.sampled_from([OWNER, FIRST_SHARD, SECOND_SHARD, SUBSCRIBER]))
@settings(max_examples=300, deadline=None)
def test_no_message_makes_anybody_fall(message: Message, place: int) -> None:
    """Whatever a liar puts together: it is dropped and said so, and nothing follows from it."""
    hear(LISTENING[place], at(PUBLISHER), message)
    assert sent(LISTENING[place].step) == []
    (drop,) = records_of(LISTENING[place].step, Kind.DROP, Kind.DUPLICATE)
    assert (drop.kind, drop.peer) == (Kind.DROP, node_at(PUBLISHER))


LISTENING = Ring(PINNED, wildcard_in_shard(0, SUBSCRIBER))


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
    ring[SUBSCRIBER].delivery.took(TookCommand(PINNED.id, 2))
    assert sum(gap.count for gap in ring.gaps()) == 6
    ring.publish(drafts(3))
    assert ring.handed_over() == {PINNED.id: [10, 11]}
    ring[SUBSCRIBER].delivery.took(TookCommand(PINNED.id, 1))
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
        ring[SUBSCRIBER].delivery.took(TookCommand(PINNED.id, min(taken, waiting)))
        waiting -= min(taken, waiting)
        missed += sum(gap.count for gap in ring.gaps())
    assert given + missed == published


def test_two_subscriptions_have_channels_of_their_own() -> None:
    """One that is full takes nothing from the other."""
    other = wanted_by(on_topic(TOPIC), 2)
    ring = Ring(PINNED, other)
    ring[SUBSCRIBER].delivery._wanted[PINNED.id].window = 0
    ring.lease_shards()
    ring.publish(drafts(2))
    assert ring.handed_over() == {other.id: [1, 2]}
    assert ring.gaps() == []
    ring[SUBSCRIBER].delivery.took(TookCommand(PINNED.id, 1))
    assert ring.gaps() == [NotifyGap(PINNED.id, 2, "channel_full")]


def test_events_before_the_verdict_are_held_back() -> None:
    """As far as there is room; with the verdict they are handed over, in their order."""
    ring = Ring()
    ring.subscribe(PINNED, 3, status=None)
    for number in (1, 2):
        stream = stream_of(free_events(2), number)
        ring.hear(SUBSCRIBER, OWNER, StreamDeliver(stream.parcel, ((PINNED.id, ()),)))
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
        ring[SUBSCRIBER].delivery.unsubscribe(UnsubscribeCommand(2, PINNED.id))
    ring.hear(SUBSCRIBER, OWNER, StreamDeliver(altered(), ((PINNED.id, ()),)))
    assert ring.drops(SUBSCRIBER) == [("unsubscribed", 3)]
    assert (ring.handed_over(), ring.gaps()) == ({}, [])
