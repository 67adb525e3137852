"""Streams: what promises nothing takes every hop once, in parcels, and whoever cannot pass it on says so."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.api.validation import ATTRIBUTES_MAX, check_draft
from p2psub.model.content import EVENT_BYTES_MAX, TOPIC_BYTES_MAX, Draft, Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.effects import PublishCommand, PublishReply
from p2psub.model.ids import key_of_topic
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Route, Want
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.parcels import Parcel
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.model.seals import BATCH_MAX
from p2psub.owner import dispatch
from p2psub.parcels.sealer import Sealer
from p2psub.publisher.packer import PARCEL_BYTES_MAX
from p2psub.wire.codec import encode_batch
from p2psub.wire.framing import PAYLOAD_BYTES_MAX
from tests.unit.bench import (
    ANY,
    CLUSTER,
    CONFIG,
    TICK_US,
    bits,
    change_of,
    cores_at,
    effects_of,
    member_at,
    node_at,
    on_topic,
    records_of,
    sent,
    subscription_of,
    table_of,
    wildcard_in_shard,
)
from tests.unit.notaries import PlainNotary
from tests.unit.parcels.parcels import (
    ELSEWHERE,
    FIRST_SHARD,
    FREE,
    OTHER_TOPIC,
    OWNER,
    PINNED,
    PUBLISHER,
    SECOND_SHARD,
    SUBSCRIBER,
    SUPER_NODE,
    TABLE,
    TOPIC,
    Ring,
    between,
    delivery,
    drafts,
    free_event,
    free_events,
    one_of,
    stream_of,
    through_the_wire,
    up_to,
    wanted_by,
)

# The way


def test_event_takes_two_hops_and_each_of_them_once() -> None:
    """From its publisher to the owner of its topic, from there to whoever wants it; nobody answers or repeats."""
    ring = Ring(PINNED)
    ring.lease_shards()
    ring.publish(drafts(1))
    stream = stream_of(free_events(1))
    assert ring.said == [
        (PUBLISHER, OWNER, stream),
        (OWNER, SUBSCRIBER, delivery(stream.parcel, Want(PINNED.id))),
    ]
    assert ring.handed_over() == {PINNED.id: [1]}
    for cores in ring.members.values():
        cores.step.now = Micros(cores.step.now + 20 * TICK_US)
        cores.step.tick += 1
        cores.publisher.tick()
        cores.owner.tick()
        cores.owner.owed_parcels.tick()
        cores.subscriber.tick()
        assert cores.owner.owed_parcels.log.count == 0
    ring.run()
    assert len(ring.said) == 2
    assert ring.handed_over() == {}


def test_application_is_answered_at_once() -> None:
    """That there are no copies, for every event of its command under its own number."""
    ring = Ring()
    ring.publish(drafts(2))
    (reply,) = effects_of(ring[PUBLISHER].step, PublishReply)
    assert reply == PublishReply([(n, PublishOutcome(event.id)) for n, event in enumerate(free_events(2), 1)])


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
    assert [(r.event, r.matched) for r in matched] == [(one.id, 2), (two.id, 1)]
    assert {r.guarantee for r in matched} == {Guarantee.AT_MOST_ONCE}
    assert [(r.event, r.run, r.digest) for r in delivered] == [
        (one.id, 2, content_hash(one) + content_hash(two)),
        (one.id, None, content_hash(one)),
    ]


def test_only_a_sample_is_traced_whole_and_the_rest_is_counted() -> None:
    """The same events at every end."""
    every = replace(CONFIG, pubsub=replace(CONFIG.pubsub, at_most_once_trace_every=4))
    ring = Ring(PINNED, config=every)
    ring.lease_shards()
    ring.publish(drafts(10))
    for place, kind in ((PUBLISHER, Kind.PUBLISH), (OWNER, Kind.MATCH), (SUBSCRIBER, Kind.DELIVER)):
        ring[place].sampler.tick()
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
    said = ring.said_of(ParcelToOwner)
    assert ceil(800 / BATCH_MAX) == 4
    assert [to for _, to, _ in said] == [OWNER] * 4 + [SECOND_SHARD] * 4
    assert [stream.parcel.number for _, _, stream in said] == list(range(1, 9))
    assert [len(stream.parcel.events) for _, _, stream in said] == 2 * [256, 256, 256, 32]
    assert ring.handed_over() == {PINNED.id: [*range(1, 801)], PINNED.id._replace(sequence=2): [*range(801, 1601)]}


def test_commands_of_one_step_share_a_parcel() -> None:
    """And so one signature."""
    ring = Ring()
    ring.publish(*(drafts(1) for _ in range(5)))
    ((_, _, stream),) = ring.said_of(ParcelToOwner)
    assert [event.id.sequence for event in stream.parcel.events] == [1, 2, 3, 4, 5]


def test_parcel_is_cut_by_weight() -> None:
    """It takes no further event once it is heavy enough; nothing is lost or turned around."""
    ring = Ring(PINNED)
    ring.lease_shards()
    third = PARCEL_BYTES_MAX // 3 + 1
    ring.publish([*drafts(7, body=bytes(third)), *drafts(1)])
    parcels = [stream.parcel for _, _, stream in ring.said_of(ParcelToOwner)]
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
    cores.publisher.publish(PublishCommand(1, drafts(3)))
    cores.publisher.flush()
    assert sent(cores.step) == []
    assert [(drop.reason, drop.count) for drop in records_of(cores.step, Kind.DROP)] == [("no_owner", 3)]


def test_publisher_sends_nothing_that_it_may_not_publish() -> None:
    """Its application hears why at once; the rest of the command goes."""
    ring = Ring()
    ring[PUBLISHER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC,)))
    ring.publish([*drafts(1), *drafts(2, OTHER_TOPIC), *drafts(1)])
    ((_, _, stream),) = ring.said_of(ParcelToOwner)
    assert [event.attributes["n"] for event in stream.parcel.events] == [1, 1]
    replies = effects_of(ring[PUBLISHER].step, PublishReply)
    refusals = {command: outcome.refused for reply in replies for command, outcome in reply.outcomes}
    assert refusals == {1: None, 2: "not_authorized", 3: "not_authorized", 4: None}
    assert ring.drops(PUBLISHER) == [("not_authorized", 2)]


# What an owner passes on


def test_peer_gets_the_events_that_it_wants_and_no_other() -> None:
    """Each peer one message, with what leads from its part to the signature."""
    low, high = wanted_by(up_to(2)), wanted_by(between(5, 6), 1, FIRST_SHARD)
    ring = Ring(low, high)
    ring.lease_shards()
    ring.publish(drafts(7))
    said = {to: deliver for _, to, deliver in ring.said_of(Deliver)}
    events = free_events(7)
    assert {to: (deliver.parcel.events, deliver.parcel.places) for to, deliver in said.items()} == {
        SUBSCRIBER: (events[:2], 0b11),
        FIRST_SHARD: (events[4:6], 0b110000),
    }
    assert {to: (deliver.parcel.size, deliver.wants) for to, deliver in said.items()} == {
        SUBSCRIBER: (7, (Want(low.id),)),
        FIRST_SHARD: (7, (Want(high.id),)),
    }
    assert (ring.handed_over(), ring.handed_over(FIRST_SHARD)) == ({low.id: [1, 2]}, {high.id: [5, 6]})


def test_subscriptions_of_one_peer_share_a_message() -> None:
    """It has what any of them wants once, and says who wants which; the application of each gets its own."""
    low, middle, both = (wanted_by(wanted, n) for n, wanted in enumerate((up_to(2), between(2, 4), up_to(4)), 1))
    ring = Ring(low, middle, both)
    ring.lease_shards()
    ring.publish(drafts(9))
    ((_, _, deliver),) = ring.said_of(Deliver)
    assert deliver.parcel.events == free_events(4)
    assert deliver.wants == (Want(low.id, bits(0, 1)), Want(middle.id, bits(1, 2, 3)), Want(both.id))
    assert ring.handed_over() == {low.id: [1, 2], middle.id: [2, 3, 4], both.id: [1, 2, 3, 4]}


def test_peer_with_very_many_subscriptions_gets_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message grows beyond what a link takes, and nobody gets anything twice."""
    monkeypatch.setattr(dispatch, "_WANTS_MAX", 2)
    many = [wanted_by(on_topic(TOPIC), sequence) for sequence in range(1, 6)]
    ring = Ring(*many)
    ring.lease_shards()
    ring.publish(drafts(3))
    assert [len(deliver.wants) for _, _, deliver in ring.said_of(Deliver)] == [2, 2, 1]
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
    ((_, _, deliver),) = ring.said_of(Deliver)
    assert deliver.parcel == stream_of(free_events(5)).parcel
    assert (deliver.parcel.bitmap, deliver.parcel.proof) == (b"", ())


def test_nobody_hears_of_what_nobody_wants() -> None:
    """It ends at the owner, which records that it matched nobody."""
    ring = Ring(wanted_by(up_to(0)))
    ring.lease_shards()
    ring.publish(drafts(2))
    assert [to for _, to, _ in ring.said_of(Message)] == [OWNER]
    assert ring.matches(OWNER) == [0] * 2


def test_other_clusters_get_what_they_want_by_one_multicast() -> None:
    """Of all that is wanted there; a part still leads to what its publisher signed."""
    here = wanted_by(up_to(1))
    there, also_there = (
        subscription_of(wanted, n, 7, cluster=ELSEWHERE) for n, wanted in ((1, up_to(2)), (2, up_to(1)))
    )
    ring = Ring(here, there, also_there)
    ring.lease_shards()
    ring.publish(drafts(5))
    ((_, to, route),) = ring.said_of(Route)
    wants = (Want(there.id), Want(also_there.id, bits(0)))
    assert (to, route.wants, route.owner) == (SUPER_NODE.id[0], ((ELSEWHERE, wants, ()),), None)
    parcel = through_the_wire(route).parcel
    assert parcel.events == free_events(2)
    assert is_genuine(parcel)
    altered = msgspec.structs.replace(parcel.events[1], body=b"altered")
    assert not is_genuine(msgspec.structs.replace(parcel, events=(parcel.events[0], altered)))
    assert ring.handed_over() == {here.id: [1]}


def is_genuine(parcel: Parcel) -> bool:
    """What any other node makes of a parcel."""
    return Sealer(PlainNotary(node_at(1))).is_genuine(parcel, [content_hash(event) for event in parcel.events])


def test_what_is_routed_of_a_part_is_genuine_as_well() -> None:
    """A shard's owner may have got a part only; what it sends to other clusters is genuine too."""
    ring = Ring(msgspec.structs.replace(wildcard_in_shard(0, 7), cluster=ELSEWHERE))
    ring[OWNER].permits.link_up(node_at(PUBLISHER), Rights(publish=(TOPIC,)))
    ring.hear(OWNER, PUBLISHER, stream_of([free_event(1), free_event(2, "secret"), free_event(3), free_event(4)]))
    ((_, _, route),) = ring.said_of(Route)
    assert [event.id.sequence for event in route.parcel.events] == [1, 3, 4]
    assert is_genuine(route.parcel)


def test_member_that_cannot_be_found_is_reached_by_the_super_node() -> None:
    """It knows everybody who reports to it."""
    lost = subscription_of(on_topic(TOPIC), 1, 77)
    ring = Ring(lost)
    ring.lease_shards()
    ring.publish(drafts(1))
    ((_, to, route),) = ring.said_of(Route)
    assert (to, route.wants) == (SUPER_NODE.id[0], ((CLUSTER, (Want(lost.id),), ()),))
