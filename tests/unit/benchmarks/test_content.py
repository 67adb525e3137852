"""What benchmarks publish: the same events for product and bare stream, and filters that match exactly their share."""

from __future__ import annotations

import pytest

from p2psub.bench.content import PRICES, EventLoad, filter_for, prices_of, topics_of
from p2psub.bench.event_stream import event_bytes
from p2psub.bench.plan import Ownership
from p2psub.matching.language import parse_filter
from p2psub.matching.linear import matches
from p2psub.model.content import PINNED_TOPICS_MAX, pinned_topics
from p2psub.model.ids import key_of_topic
from p2psub.model.places import Table, TableVersion
from tests.unit.bench import at, epoch, node_at

TOPICS = ("quotes/0", "quotes/1", "quotes/2")
ME = node_at(1)


def test_drafts_and_events_say_the_same() -> None:
    """Product and bare stream carry the same topics, attributes and bodies."""
    load = EventLoad(7, TOPICS, 10)
    drafts, events = load.drafts(5), load.events(ME, 5)
    assert [(d.topic, d.attributes, d.body, d.guarantee) for d in drafts] == [
        (e.topic, e.attributes, e.body, e.guarantee) for e in events
    ]
    assert len({event.id for event in events}) == 7


def test_an_event_has_200_bytes() -> None:
    """Unless another body is asked for."""
    events = EventLoad(40_000, ("quotes/1",)).events(ME, 1 << 40)
    assert event_bytes(events[-1]) == 200


def test_every_topic_and_price_is_as_frequent_as_any_other() -> None:
    """And so is every pair of them."""
    events = EventLoad(2 * len(TOPICS) * PRICES, TOPICS).events(ME, 0)
    pairs = [(event.topic, event.attributes["price"]) for event in events]
    assert len(set(pairs)) == len(TOPICS) * PRICES
    assert {pairs.count(pair) for pair in set(pairs)} == {2}


@pytest.mark.parametrize("topics", [TOPICS, ()])
@pytest.mark.parametrize("count", [1, 299, 300, 1234])
def test_a_filter_matches_what_its_subscriber_is_expected_to_take(topics: tuple[str, ...], count: int) -> None:
    """With topics or with any, whether the prices come out even or not."""
    load = EventLoad(count, TOPICS)
    for price in prices_of(8):
        wanted = parse_filter(filter_for(topics, price))
        assert sum(matches(wanted, event) for event in load.events(ME, 0)) == load.wanted(price)


def test_each_subscriber_wants_one_percent() -> None:
    """Each another one; the last event is wanted, so that its way is timed."""
    prices = prices_of(8)
    load = EventLoad(len(TOPICS) * PRICES, TOPICS)
    assert len(set(prices)) == 8
    assert {load.wanted(price) for price in prices} == {load.count // 100}
    assert load.events(ME, 0)[-1].attributes["price"] == prices[-1] + 0.5


def test_every_owner_gets_a_topic_of_its_own() -> None:
    """By the same rule as in a table."""
    ring = [node_at(place) for place in (200, 10, 90, 91)]
    table = Table(TableVersion(epoch(1, 10), 1), tuple(at(place) for place in (10, 90, 91, 200)), 4)
    topics = topics_of(ring, ring)
    assert [table.owner_of(key_of_topic(topic)).id for topic in topics] == ring


def test_an_owner_may_own_several() -> None:
    """Each time it is named it gets another one."""
    ring = [node_at(place) for place in (10, 90)]
    assert len(set(topics_of([ring[0], ring[1], ring[0], ring[0]], ring))) == 4


def test_events_go_on_after_the_last() -> None:
    """As from the beginning, with topics and prices in turn."""
    load = EventLoad(len(TOPICS) * PRICES, TOPICS)
    assert load.draft(load.count + 5, 7) == load.draft(5, 7) == load.drafts(7)[5]


def test_topics_of_each_can_be_named_by_a_filter() -> None:
    """However many peers there are, subscriptions are stored at their topics."""
    owners = Ownership.EACH.choose(0, range(1, 20))
    topics = [f"quotes/{owner}" for owner in owners]
    assert len(pinned_topics(parse_filter(filter_for(topics)))) == PINNED_TOPICS_MAX


def test_one_may_own_all() -> None:
    """The publisher, or the first subscriber."""
    assert Ownership.PUBLISHER.choose("p", ["s", "t"]) == ["p"]
    assert Ownership.SUBSCRIBER.choose("p", ["s", "t"]) == ["s"]
    assert Ownership.EACH.choose("p", ["s"]) == ["p", "s"]
