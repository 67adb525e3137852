"""Where filters are stored, what a date is, and when two events are the same to an application."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.content import (
    PINNED_TOPICS_MAX,
    DeclarationState,
    Event,
    Filter,
    Guarantee,
    Moment,
    Operator,
    Predicate,
    Subscription,
    Value,
    keys_of,
    pinned_topics,
)
from p2psub.model.digests import content_hash
from p2psub.model.ids import ClusterId, EventId, NodeId, Place, SubscriptionId, key_of_shard
from tests.oracles import linear as oracle
from tests.oracles.instances import exact

NODE = NodeId(Place(bytes(20)))
TOPICS = st.sampled_from([f"t{n}" for n in range(12)] + ["1"])
CONSTANTS: st.SearchStrategy[Value] = st.one_of(
    TOPICS, st.frozensets(st.one_of(TOPICS, st.just(1)), max_size=10), st.integers(0, 2)
)
PREDICATES = st.builds(Predicate, st.sampled_from(["topic", "topic", "a"]), st.sampled_from(Operator), CONSTANTS)
FILTERS = st.builds(Filter, st.lists(st.lists(PREDICATES, max_size=3).map(tuple), max_size=3).map(tuple))
EVENTS = st.builds(
    Event, st.just(EventId(NODE, 1, 1)), TOPICS, st.dictionaries(st.just("a"), st.one_of(TOPICS, st.integers(0, 2)))
)
DATES = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29))  # noqa: DTZ001, zones are the matter
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))

SHARDS = 3


@settings(max_examples=1_000)
@given(FILTERS, EVENTS)
def test_a_filter_takes_only_topics_that_it_pins(wanted: Filter, event: Event) -> None:
    """An event that matches lies at one of the pinned topics, so asking there alone misses nothing."""
    pinned = pinned_topics(wanted)
    assert list(pinned) == sorted(set(pinned))
    assert len(pinned) <= PINNED_TOPICS_MAX
    if pinned and oracle.matches(wanted, event):
        assert event.topic in pinned


@given(FILTERS, EVENTS, st.integers(0, 2**40))
def test_a_subscription_is_stored_where_its_events_look(wanted: Filter, event: Event, n: int) -> None:
    """Every matching event finds the subscription at its own key or at a wildcard shard."""
    record = Subscription(SubscriptionId(NODE, 1, n), 1, DeclarationState.ACTIVE, ClusterId("c"), wanted)
    keys = keys_of(record, SHARDS)
    assert keys == keys_of(record, SHARDS)
    shards = {key_of_shard(shard) for shard in range(SHARDS)}
    assert keys
    assert set(keys) <= shards or not set(keys) & shards
    if oracle.matches(wanted, event):
        assert event.key in keys or set(keys) <= shards


def test_subscriptions_without_topic_use_every_shard() -> None:
    """The wildcard shards share the load."""
    records = [
        Subscription(SubscriptionId(NODE, 1, n), 1, DeclarationState.ACTIVE, ClusterId("c"), Filter())
        for n in range(100)
    ]
    assert len({keys_of(record, SHARDS) for record in records}) == SHARDS


@given(DATES, DATES, ZONES, ZONES)
def test_moments_order_as_dates_do(one: datetime, other: datetime, zone: timezone, zone2: timezone) -> None:
    """Zones do not matter: the moments of two dates compare as the dates."""
    first, second = one.replace(tzinfo=zone), other.replace(tzinfo=zone2)
    assert (Moment.of(first) < Moment.of(second)) == (first < second)
    assert (Moment.of(first) == Moment.of(second)) == (first == second)


@given(DATES, ZONES)
def test_a_moment_is_exact_to_the_microsecond(date: datetime, zone: timezone) -> None:
    """The date comes back from its moment; one without a zone is UTC."""
    aware = date.replace(tzinfo=zone)
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=Moment.of(aware).us) == aware
    assert Moment.of(date) == Moment.of(date.replace(tzinfo=UTC))


SETS: list[frozenset[int | str]] = [frozenset(), frozenset([1]), frozenset(["1"]), frozenset([1, "1"])]
EVERY_VALUE: list[Value] = [True, False, 0, 1, 0.5, 1.0, "", "1", "0.5", Moment(1), *SETS]
VALUES: st.SearchStrategy[Value] = st.sampled_from(EVERY_VALUE)
CONTENTS = st.builds(
    Event,
    st.builds(EventId, st.just(NODE), st.just(1), st.integers(0, 1)),
    st.sampled_from(["", "t"]),
    st.dictionaries(st.sampled_from(["a", "b"]), VALUES),
    st.sampled_from([b"", b"x"]),
)


@settings(max_examples=500)
@given(CONTENTS, CONTENTS)
def test_content_hash_tells_contents_apart(one: Event, other: Event) -> None:
    """Equal hashes exactly where everything an application sees is equal, types included."""
    assert (content_hash(one) == content_hash(other)) == (exact(one) == exact(other))


def test_content_hash_tells_values_apart() -> None:
    """No two values that differ in type or content hash alike: not 1, 1.0, True and "1", nor the sets of them."""
    events = [Event(EventId(NODE, 1, 1), "t", {"a": value}) for value in EVERY_VALUE]
    assert len({content_hash(event) for event in events}) == len(EVERY_VALUE)


@given(CONTENTS)
def test_content_hash_is_about_content_alone(event: Event) -> None:
    """How long an event is kept, how it is sent, and the order of its attributes are not content."""
    turned = msgspec.structs.replace(
        event,
        attributes=dict(reversed(event.attributes.items())),
        retain_us=5,
        guarantee=Guarantee.AT_MOST_ONCE,
    )
    assert content_hash(turned) == content_hash(event)
