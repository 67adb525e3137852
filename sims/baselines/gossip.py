"""Gossip (Hyper 4): a node that hears for the first time sends to a few others that it chooses at random.

A node that passes on to f others makes f messages, of which one per node is new: f - 1 duplicates. The 1.5 of Hyper's
figure 6 belong to a fan-out of 2.5, half of the nodes two and half of them three, which is therefore the default. The
others are different ones and not whom it heard from, and there is no limit to the rounds by default: readings without
these reach fewer with the same fan-out.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.random import Generator

from sims.baselines.blind import Blind
from sims.baselines.links import Links, distinct_below, links_from, shuffled, whole_near

FANOUT: Final = 2.5


def gossip_among_all(nodes: int, fanout: float, rounds: int | None, rng: Generator) -> Blind:
    """Every node knows every other, and chooses among all."""
    each = np.arange(nodes, dtype=np.int64)
    # One more than it uses: whom it heard from may be among them.
    columns = min(int(np.ceil(fanout)) + 1, nodes - 1)
    chosen = distinct_below(np.full(nodes, nodes - 1, np.int64), columns, rng)
    chosen += chosen >= each[:, None]
    links = links_from(nodes, np.repeat(each, columns), chosen.ravel())
    return Blind(links, whole_near(fanout, nodes, rng), rounds)


def gossip_over_links(links: Links, fanout: float, rounds: int | None, rng: Generator) -> Blind:
    """Every node chooses among its own links."""
    return Blind(shuffled(links, rng), whole_near(fanout, links.nodes, rng), rounds)
