"""Every promised event crosses links: its publisher, its owner and its subscriber are three peers."""

from __future__ import annotations

from collections import Counter

import pytest

from p2psub.bench.content import EventLoad
from p2psub.bench.plan import RING_PEERS
from p2psub.bench.topic_roles import NOTHING, filters_of, roles_of, shard_owners_of
from p2psub.matching.language import parse_filter
from p2psub.matching.linear import matches
from p2psub.model.content import pinned_topics
from p2psub.model.ids import key_of_shard, key_of_topic
from p2psub.model.places import Table, TableVersion
from tests.unit.bench import at, epoch, node_at

PLACES = (200, 10, 90, 150)
RING = [node_at(place) for place in PLACES]
TABLE = Table(TableVersion(epoch(1, 10), 1), tuple(at(place) for place in sorted(PLACES)), RING_PEERS)


@pytest.mark.parametrize("publishers", [1, 2, 3, 4])
@pytest.mark.parametrize("topics", [4, 100])
def test_no_peer_has_two_parts_in_a_topic(topics: int, publishers: int) -> None:
    """The owner is who the ring says it is, and no topic is there twice."""
    roles = roles_of(topics, publishers, RING)
    assert len({role.topic for role in roles}) == topics
    for role in roles:
        assert len({role.publisher, role.owner, role.subscriber}) == 3
        assert TABLE.owner_of(key_of_topic(role.topic)).id == RING[role.owner]
    assert {role.publisher for role in roles} == set(range(publishers))


def test_owners_of_shards_are_who_the_ring_says() -> None:
    """One for each shard, by its number among the peers."""
    owners = [TABLE.owner_of(key_of_shard(shard)).id for shard in range(5)]
    assert [RING[peer] for peer in shard_owners_of(5, RING)] == owners


def test_peers_share_the_work() -> None:
    """All but the publisher own as many topics, and subscribe to as many."""
    roles = roles_of(300, 1, RING)
    assert Counter(role.owner for role in roles) == {1: 100, 2: 100, 3: 100}
    assert Counter(role.subscriber for role in roles) == {1: 100, 2: 100, 3: 100}


@pytest.mark.parametrize(("topics", "subscriptions"), [(1, 1), (4, 4), (1000, 126)])
def test_each_event_matches_one_subscription(topics: int, subscriptions: int) -> None:
    """Which names its topic, so that it is stored under that; wildcards match nothing, and all peers have some."""
    roles = roles_of(topics, 1, RING)
    filters = [filters_of(peer, roles, 6) for peer in range(RING_PEERS)]
    parsed = [parse_filter(filter_) for each in filters for filter_ in each]
    assert len(parsed) == subscriptions + 6
    assert [each.count(NOTHING) for each in filters] == [2, 2, 1, 1]
    assert sum(bool(pinned_topics(filter_)) for filter_ in parsed) == subscriptions
    events = EventLoad(topics, tuple(role.topic for role in roles)).events(RING[0], 0)
    named = Counter(topic for filter_ in parsed for topic in pinned_topics(filter_))
    assert set(named.values()) == {1}
    for event in events[:20]:
        assert sum(matches(filter_, event) for filter_ in parsed) == 1
