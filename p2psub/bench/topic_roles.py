"""Who does what for a topic of `p2psub bench promised`: three of four peers, so that every event crosses links.

The publisher of a topic owns it not, and its subscriber is neither: the event goes to the owner, from there as copies
to other members, and on to the subscriber. Every topic is wanted by exactly one subscription.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from p2psub.bench.content import filter_for, owns, topics_of
from p2psub.bench.plan import RING_PEERS
from p2psub.model.content import PINNED_TOPICS_MAX
from p2psub.model.ids import NodeId, key_of_shard

SUBSCRIPTIONS: Final = 4
"""So many share the topics; more if a filter would have to name more topics than are stored one by one."""

NOTHING: Final = "price < 0"
"""A wildcard that matches no event: prices begin at 0.5."""


class TopicRoles(NamedTuple):
    """A topic, and the peers that have to do with it, by their numbers."""

    topic: str
    publisher: int
    owner: int
    subscriber: int


def roles_of(topics: int, publishers: int, ring: Sequence[NodeId]) -> list[TopicRoles]:
    """Publishers take turns; of the three other peers each is as often owner, and as often subscriber, as any other."""
    cast = [_roles(number // publishers, number % publishers) for number in range(topics)]
    names = topics_of([ring[owner] for _, owner, _ in cast], ring)
    return [TopicRoles(name, *roles) for name, roles in zip(names, cast, strict=True)]


def _roles(turn: int, publisher: int) -> tuple[int, int, int]:
    others = [(publisher + step) % RING_PEERS for step in range(1, RING_PEERS)]
    return publisher, others[turn % len(others)], others[(turn + 1) % len(others)]


def shard_owners_of(shards: int, ring: Sequence[NodeId]) -> tuple[int, ...]:
    """Which peers own the wildcard shards: chance decides, and a peer that owns topics too need not ask itself."""
    keys = [key_of_shard(shard) for shard in range(shards)]
    return tuple(peer for key in keys for peer, member in enumerate(ring) if owns(member, key, ring))


def filters_of(peer: int, roles: Sequence[TopicRoles], wildcards: int) -> tuple[str, ...]:
    """What a peer subscribes to: its topics, a few in each filter, and its share of the wildcards."""
    topics = [role.topic for role in roles if role.subscriber == peer]
    size = min(PINNED_TOPICS_MAX, math.ceil(len(roles) / SUBSCRIPTIONS))
    wanted = [filter_for(topics[first : first + size]) for first in range(0, len(topics), size)]
    return (*wanted, *[NOTHING for number in range(wildcards) if number % RING_PEERS == peer])
