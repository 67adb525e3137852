"""Ways that are chosen by load: so that pairs of event and subscription spend the least time on links and in queues.

The search knows what advertisements and subscriptions tell: how often each publisher publishes, what values its events
may have, and who wants what. It sees no event of the run; it draws events of its own, to learn how often some
subscription below a broker wants one. From that follow each link's load and the time for which events wait there.

It begins with the shortest ways, and feeds one broker of one publisher's tree at a time by another of its links, as
long as that saves time. So ways join where subscriptions want the same events, which then pass once for all of them,
and keep away from links that are full.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator

from p2psub.model.instants import SECOND_US
from sims.experiments.mtep.mesh import PUBLISHERS_PER_BROKER, Mesh, MeshLink
from sims.experiments.mtep.paths import Ways, shortest_ways
from sims.experiments.mtep.trees import NOTHING, Share, WayTree
from sims.experiments.mtep.workload import EVENT_KB, MeshDemand, drawn_values, satisfied_by

SAMPLE: Final = 384
"""Events that the search draws for itself."""
KNEE: Final = 0.7
"""Beyond this load the expected wait grows as steeply as it does there: a link that is full has none that is finite."""
SWEEPS_MAX: Final = 6
SAVED_MIN: Final = 1e-9
"""What is less is rounding."""


class LinkLoad(NamedTuple):
    """What a link carries."""

    busy: float = 0.0
    """The share of its time that it is asked to transmit; above 1 it cannot."""
    pairs: float = 0.0
    """Of event and subscription, in a second."""

    def plus(self, other: LinkLoad) -> LinkLoad:
        """Both."""
        return LinkLoad(self.busy + other.busy, self.pairs + other.pairs)


def ways_by_load(mesh: Mesh, demand: MeshDemand, per_minute: float, rng: Generator) -> Ways:
    """For every publisher the ways of the tree that the search ends with."""
    search = LoadSearch(mesh, demand, per_minute, rng)
    for _ in range(SWEEPS_MAX):
        if not search.sweep():
            break
    return search.ways()


class LoadSearch:
    """All trees, and what the links carry with them."""

    def __init__(self, mesh: Mesh, demand: MeshDemand, per_minute: float, rng: Generator) -> None:
        self._rng = rng
        self._links = mesh.links
        self._choices = mesh.links_into()
        self._per_s = per_minute / 60
        edges = edge_shares(demand, mesh.layers[-1], rng)
        self._trees = [
            WayTree(mesh, publisher // PUBLISHERS_PER_BROKER, ways, edges)
            for publisher, ways in enumerate(shortest_ways(mesh))
        ]
        # Layer 2 is fed by the publisher's broker itself.
        movable = range(sum(mesh.layers[:2]), mesh.brokers)
        self._moves = [(tree, broker) for tree in self._trees for broker in movable if len(self._choices[broker]) > 1]
        self._carried: list[LinkLoad] = []
        self.weigh()

    def sweep(self) -> bool:
        """Try every other link of every broker in every tree once, in random order; tells whether one was better."""
        improved = 0
        for number in self._rng.permutation(len(self._moves)):
            tree, broker = self._moves[number]
            if tree.shares[broker].wanted:
                improved += sum(self._try(tree, broker, link) for link in self._choices[broker])
        return improved > 0

    def ways(self) -> Ways:
        """The ways of all trees as they are."""
        return tuple(tree.ways() for tree in self._trees)

    def weigh(self) -> None:
        """Sum up anew what all trees have the links carry."""
        self._carried = [LinkLoad()] * len(self._links)
        for tree in self._trees:
            for broker, link in enumerate(tree.fed_by):
                if link is not None:
                    self._carry({link.number: self._load(link, tree.shares[broker])})

    def loads(self) -> list[LinkLoad]:
        """What each link carries."""
        return list(self._carried)

    def cost(self) -> float:
        """How long the pairs of a second take on all links together, in seconds."""
        return sum(self._cost(number, load) for number, load in enumerate(self._carried))

    def _try(self, tree: WayTree, broker: int, new: MeshLink) -> bool:
        """Feed a broker by this link if that saves time."""
        old = tree.fed_by[broker]
        if old is None or old is new:
            return False
        above = tree.shares_if(broker, new)
        share = tree.shares[broker]
        more = {old.number: self._load(old, share, -1), new.number: self._load(new, share)}
        for upper, then in above.items():
            link = tree.fed_by[upper]
            if link is not None:
                before, after = self._load(link, tree.shares[upper], -1), self._load(link, then)
                more[link.number] = more.get(link.number, LinkLoad()).plus(before).plus(after)
        saved = sum(
            self._cost(number, self._carried[number]) - self._cost(number, self._carried[number].plus(load))
            for number, load in more.items()
        )
        if saved <= SAVED_MIN:
            return False
        tree.feed(broker, new, above)
        self._carry(more)
        return True

    def _load(self, link: MeshLink, share: Share, sign: int = 1) -> LinkLoad:
        """What one publisher's events are for the link that feeds a broker with such a share."""
        events_per_s = sign * self._per_s * share.wanted.bit_count() / SAMPLE
        return LinkLoad(events_per_s * _transmission_s(link), sign * self._per_s * share.pairs)

    def _carry(self, more: dict[int, LinkLoad]) -> None:
        for number, load in more.items():
            self._carried[number] = self._carried[number].plus(load)

    def _cost(self, number: int, load: LinkLoad) -> float:
        link = self._links[number]
        return load.pairs * _transmission_s(link) * (1.0 + waiting_of(link, load.busy))


def waiting_of(link: MeshLink, busy: float) -> float:
    """For how many transmissions an event waits at a link with this load: Pollaczek and Khinchine, up to the knee."""
    variation = link.deviation_us_per_kb / link.mean_us_per_kb
    at = min(busy, KNEE)
    steep = (1.0 + variation**2) / 2.0 / (1.0 - at)
    return steep * at + steep / (1.0 - at) * (busy - at)


def edge_shares(demand: MeshDemand, edges: int, rng: Generator) -> list[Share]:
    """What the subscriptions of each edge broker want of the sampled events."""
    satisfied = satisfied_by(drawn_values(rng, SAMPLE), demand.bounds)
    shares = [NOTHING] * edges
    for number, subscription in enumerate(demand.subscriptions):
        wanted = sum(1 << int(event) for event in np.flatnonzero(satisfied[:, number]))
        one = Share(wanted, wanted.bit_count() / SAMPLE)
        shares[subscription.edge] = shares[subscription.edge].joined(one)
    return shares


def _transmission_s(link: MeshLink) -> float:
    return EVENT_KB * link.mean_us_per_kb / SECOND_US
