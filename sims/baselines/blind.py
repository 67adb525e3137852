"""Blind broadcast in rounds: a node that hears for the first time passes on to some of its links, knowing nothing more.

Flooding and gossip differ in the links and in how many of them a node uses. In a round every node that heard in the
round before sends. A node does not send back to the node it heard first from; of several in one round that is the one
with the lowest number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.baselines.links import Links, Nodes


@dataclass(frozen=True, slots=True)
class Blind:
    """A way to broadcast: each node uses the first `fanout[i]` of its links, all without a fanout; `rounds` ends it."""

    links: Links
    fanout: Nodes | None = None
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """What became of one broadcast. `reached` counts live nodes that have the message, the root among them."""

    reached: int
    messages: int
    duplicates: int
    hops: int


def broadcast(blind: Blind, root: int, live: NDArray[np.bool_]) -> Spread:
    """Broadcast from `root`; who is not live receives nothing and passes nothing on."""
    has_it = np.zeros(blind.links.nodes, bool)
    has_it[root] = True
    hearers, heard_from = np.array([root]), np.array([-1])
    messages = duplicates = hops = 0
    while len(hearers) and (blind.rounds is None or hops < blind.rounds):
        senders, receivers = _sent(blind, hearers, heard_from)
        messages += len(receivers)
        arrived = live[receivers]
        senders, receivers = senders[arrived], receivers[arrived]
        fresh = ~has_it[receivers]
        hearers, first = np.unique(receivers[fresh], return_index=True)
        heard_from = senders[fresh][first]
        has_it[hearers] = True
        duplicates += len(receivers) - len(hearers)
        hops += len(hearers) > 0
    return Spread(int(has_it.sum()), messages, duplicates, hops)


def _sent(blind: Blind, hearers: Nodes, heard_from: Nodes) -> tuple[Nodes, Nodes]:
    """Sender and receiver of every message of a round, in the order of the senders."""
    starts = blind.links.starts[hearers]
    counts = blind.links.starts[hearers + 1] - starts
    before = np.cumsum(counts) - counts
    senders = np.repeat(hearers, counts)
    receivers = blind.links.ends[np.repeat(starts - before, counts) + np.arange(len(senders))]
    used = receivers != np.repeat(heard_from, counts)
    if blind.fanout is not None:
        rank = np.cumsum(used)
        rank -= np.repeat(np.concatenate(([0], rank))[before], counts)
        used &= rank <= blind.fanout[senders]
    return senders[used], receivers[used]
