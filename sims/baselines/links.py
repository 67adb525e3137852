"""Who may send to whom: links as two arrays, and the overlays on which blind broadcasts run.

Hyper does not say on what network its flooding runs. `joined_links` is a network as brokers make it who join one after
the other and know some of those who are there; it is connected, whatever was drawn, so that flooding loses nothing to a
bad draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Nodes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Links:
    """The links of node i are `ends[starts[i]:starts[i + 1]]`, in the order in which it would use them."""

    starts: Nodes
    ends: Nodes

    @property
    def nodes(self) -> int:
        return len(self.starts) - 1

    def of(self, node: int) -> list[int]:
        """The other ends of one node's links."""
        return [int(end) for end in self.ends[self.starts[node] : self.starts[node + 1]]]


def links_between(nodes: int, ones: Nodes, others: Nodes) -> Links:
    """Links that can be used both ways, each given once."""
    return links_from(nodes, np.concatenate((ones, others)), np.concatenate((others, ones)))


def links_from(nodes: int, senders: Nodes, receivers: Nodes) -> Links:
    """Links that can be used one way, those of a sender in the order given."""
    starts = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(senders, minlength=nodes), out=starts[1:])
    return Links(starts, receivers[np.argsort(senders, kind="stable")])


def joined_links(nodes: int, degree: float, rng: Generator) -> Links:
    """Each newcomer links to degree / 2 of those before it, on average; all choices are uniform."""
    newcomers = np.arange(1, nodes, dtype=np.int64)
    wanted = whole_near(degree / 2, len(newcomers), rng)
    chosen = distinct_below(newcomers, int(np.ceil(degree / 2)), rng)
    used = np.arange(chosen.shape[1]) < np.minimum(wanted, newcomers)[:, None]
    return links_between(nodes, np.broadcast_to(newcomers[:, None], chosen.shape)[used], chosen[used])


def shuffled(links: Links, rng: Generator) -> Links:
    """The same links, those of each node in random order."""
    senders = np.repeat(np.arange(links.nodes), np.diff(links.starts))
    return Links(links.starts, links.ends[np.lexsort((rng.random(len(senders)), senders))])


def whole_near(mean: float, count: int, rng: Generator) -> Nodes:
    """Whole numbers next to `mean`, drawn so that they have that mean."""
    low = int(np.floor(mean))
    return low + (rng.random(count) < mean - low).astype(np.int64)


def distinct_below(limits: Nodes, columns: int, rng: Generator) -> Nodes:
    """A row of different numbers below each limit, uniformly; columns beyond the limit hold nothing of use."""
    rows = np.zeros((len(limits), columns), np.int64)
    for column in range(columns):
        drawn = (rng.random(len(limits)) * np.maximum(limits - column, 1)).astype(np.int64)
        # The n-th number that was not drawn before: step over the earlier ones, the smallest first.
        for earlier in np.sort(rows[:, :column], axis=1).T:
            drawn += drawn >= earlier
        rows[:, column] = drawn
    return rows
