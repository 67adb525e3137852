"""The brokers of RacsCBPS 5.1, their links, and the ways between them.

50 brokers; each processes so many events per second, and each direction of a link carries so many. The paper says no
more of the network. Here every broker is linked to four others on average, at random, and each link has a length.
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

from numpy.random import Generator

from p2psub.model.rates import RATE_ONE

BROKERS: Final = 50
LINKS: Final = 100
WORK_PER_S: Final = (100, 200)
"""Between these the events are drawn that a broker processes in a second."""
CARRIED_PER_S: Final = (200, 300)
"""And those that a link carries, in each direction."""


class Topology(enum.StrEnum):
    """By which links events go: from each broker by the shortest ways; or for all by one spanning tree, the minimal."""

    ROOTED = "rooted"
    SPANNING = "spanning"


class BrokerResource(NamedTuple):
    """What a broker has: its link towards another; towards itself, the work that it can do."""

    broker: int
    towards: int


@dataclass(frozen=True, slots=True)
class BrokerLink:
    """A link for both directions."""

    ends: tuple[int, int]
    length: float


@dataclass(frozen=True, slots=True)
class BrokerNet:
    """Brokers, what each resource can carry in millionths of an event per second, and the trees by which events go."""

    capacities: dict[BrokerResource, int]
    feeders: tuple[tuple[int, ...], ...]
    """In the tree of each broker, for every broker the one that feeds it; for the root itself."""

    def way(self, source: int, target: int) -> tuple[BrokerResource, ...]:
        """All that an event takes from one broker to another, both included."""
        feeders, taken, at = self.feeders[source], [BrokerResource(target, target)], target
        while at != source:
            taken += (BrokerResource(feeders[at], at), BrokerResource(feeders[at], feeders[at]))
            at = feeders[at]
        return tuple(taken)

    def spread(self, home: int) -> tuple[BrokerResource, ...]:
        """What a subscription is told to: every broker, and of each the link by which events go to the subscriber."""
        towards = enumerate(self.feeders[home])
        links = (BrokerResource(broker, feeder) for broker, feeder in towards if broker != home)
        return (*(BrokerResource(broker, broker) for broker in range(len(self.feeders))), *links)


def drawn_net(rng: Generator, topology: Topology) -> BrokerNet:
    """A network whose links and capacities do not depend on the topology that uses them."""
    links = _drawn_links(rng)
    capacities: dict[BrokerResource, int] = {}
    for broker in range(BROKERS):
        capacities[BrokerResource(broker, broker)] = _drawn_capacity(rng, WORK_PER_S)
    for link in links:
        one, other = link.ends
        capacity = _drawn_capacity(rng, CARRIED_PER_S)
        capacities[BrokerResource(one, other)] = capacities[BrokerResource(other, one)] = capacity
    used = links if topology is Topology.ROOTED else minimal(links)
    return BrokerNet(capacities, tuple(shortest_from(root, used) for root in range(BROKERS)))


def shortest_from(root: int, links: Iterable[BrokerLink]) -> tuple[int, ...]:
    """For every broker the one before it on the shortest way from the root."""
    near: dict[int, list[tuple[float, int]]] = {}
    for link in links:
        one, other = link.ends
        near.setdefault(one, []).append((link.length, other))
        near.setdefault(other, []).append((link.length, one))
    feeders: dict[int, int] = {}
    reached = [(0.0, root, root)]
    while reached:
        far, broker, feeder = heapq.heappop(reached)
        if broker not in feeders:
            feeders[broker] = feeder
            for length, other in near[broker]:
                heapq.heappush(reached, (far + length, other, broker))
    return tuple(feeders[broker] for broker in sorted(feeders))


def minimal(links: Iterable[BrokerLink]) -> list[BrokerLink]:
    """The spanning tree of the shortest links."""
    part = list(range(BROKERS))
    taken = []
    for link in sorted(links, key=lambda link: link.length):
        one, other = (part[end] for end in link.ends)
        if one != other:
            taken.append(link)
            part = [one if name == other else name for name in part]
    return taken


def _drawn_links(rng: Generator) -> list[BrokerLink]:
    """Any links as likely as any others, drawn until all brokers are joined by them."""
    pairs = list(combinations(range(BROKERS), 2))
    while True:
        drawn = sorted(int(number) for number in rng.choice(len(pairs), LINKS, replace=False))
        links = [BrokerLink(pairs[number], float(rng.uniform(1.0, 2.0))) for number in drawn]
        if len(minimal(links)) == BROKERS - 1:
            return links


def _drawn_capacity(rng: Generator, between: tuple[int, int]) -> int:
    return int(rng.uniform(*between) * RATE_ONE)
