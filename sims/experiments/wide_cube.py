"""Casts over cubes too large for simulated nodes: the rule of `p2psub.casts.spread`, on arrays.

A cluster is a row; rows are in the order of their labels. A cast goes hop by hop, all messages of a hop at once.

Dead super-nodes receive nothing, and no other knows yet that they are dead. As `p2psub.casts.cast` does it, a sender
without custody tries again: first the neighbour, then the others of that half in the order of their labels, round and
round, as often as intervals that grow fit into the life of a cast. What is left out: that liveness may strike some off
this line in the meantime, that a dead cluster is given up in the end, and that anti-entropy reaches the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from p2psub.casts.half import BACKOFF_MAX
from p2psub.config import CubeConfig
from p2psub.model.graycode import Prefix
from sims.baselines.blind import Spread
from sims.baselines.links import Links, Nodes, links_between


@dataclass(frozen=True, slots=True)
class WideCube:
    """Prefixes that partition the labels: each as its label padded with zeros to `dimensions` bits, and its length."""

    labels: Nodes
    lengths: Nodes
    dimensions: int

    @property
    def nodes(self) -> int:
        return len(self.labels)

    def prefix(self, row: int) -> Prefix:
        """A row's prefix as nodes write it."""
        bits = format(int(self.labels[row]), f"0{self.dimensions}b") if self.dimensions else ""
        return Prefix(bits[: self.lengths[row]])

    def owner(self, labels: Nodes) -> Nodes:
        """The rows that own these labels."""
        return np.searchsorted(self.labels, labels, side="right") - 1

    def bit(self, dimension: int) -> int:
        """What a label's bit in this dimension is worth; the first dimension is worth most."""
        return 1 << (self.dimensions - 1 - dimension)


def cube_of(prefixes: list[Prefix]) -> WideCube:
    """A cube of given prefixes."""
    ordered = sorted(prefixes)
    dimensions = max(map(len, ordered))
    labels = [int(prefix.ljust(dimensions, "0") or "0", 2) for prefix in ordered]
    return WideCube(np.array(labels, np.int64), np.array([len(prefix) for prefix in ordered], np.int64), dimensions)


def grown_cube(nodes: int, rng: Generator) -> WideCube:
    """A cube as joins make it: always a shortest prefix is split, any of them."""
    whole = nodes.bit_length() - 1
    over = nodes - (1 << whole)
    dimensions = whole + (over > 0)
    split = np.zeros(1 << whole, bool)
    split[rng.choice(1 << whole, over, replace=False)] = True
    first = np.arange(1 << whole, dtype=np.int64) << (dimensions - whole)
    labels = np.sort(np.concatenate((first, first[split] + 1)))
    lengths = np.full(nodes, whole, np.int64)
    lengths[np.searchsorted(labels, first[split])] += 1
    lengths[labels & 1 > 0] = dimensions
    return WideCube(labels, lengths, dimensions)


def cube_links(cube: WideCube) -> Links:
    """The links of the cube: every super-node and its neighbours."""
    pairs = []
    for dimension in range(cube.dimensions):
        own = np.flatnonzero(cube.lengths > dimension)
        near = cube.owner(cube.labels[own] ^ cube.bit(dimension))
        pairs.append(np.minimum(own, near) * cube.nodes + np.maximum(own, near))
    both = np.unique(np.concatenate(pairs)) if pairs else np.zeros(0, np.int64)
    return links_between(cube.nodes, both // cube.nodes, both % cube.nodes)


@dataclass(frozen=True, slots=True)
class Hop:
    """The messages of a cast after equally many hops that were received, and how many more were sent in vain."""

    senders: Nodes
    receivers: Nodes
    halves: Nodes
    """How many bits the half has that the receiver must cover."""
    in_vain: int


def tries_max(config: CubeConfig) -> int:
    """How often a half that no super-node takes is sent before the cast is forgotten."""
    tries, tick = 1, 0
    while (tick := tick + config.custody_ticks * min(tries, BACKOFF_MAX)) <= config.cast_ticks_max:
        tries += 1
    return tries


def hops(cube: WideCube, root: int, live: NDArray[np.bool_], tries: int) -> Iterator[Hop]:
    """A cast from `root` to the whole cube."""
    line = _Line(cube, live, tries)
    hearers, covered = np.array([root]), np.array([0])
    while True:
        handed = [line.handed_on(hearers[covered <= d], d) for d in range(int(covered.min()), cube.dimensions)]
        if not handed:
            return
        hop = Hop(
            np.concatenate([part.senders for part in handed]),
            np.concatenate([part.receivers for part in handed]),
            np.concatenate([part.halves for part in handed]),
            sum(part.in_vain for part in handed),
        )
        yield hop
        if not len(hop.receivers):
            return
        hearers, covered = hop.receivers, hop.halves


def cast(cube: WideCube, root: int, live: NDArray[np.bool_], config: CubeConfig) -> Spread:
    """What becomes of a cast from `root`."""
    copies = np.zeros(cube.nodes, np.int64)
    messages = furthest = 0
    for number, hop in enumerate(hops(cube, root, live, tries_max(config)), start=1):
        copies += np.bincount(hop.receivers, minlength=cube.nodes)
        messages += len(hop.receivers) + hop.in_vain
        furthest = number if len(hop.receivers) else furthest
    # The root has it already: every copy that comes back to it is one too many.
    copies[root] += 1
    reached = int(np.count_nonzero(copies))
    return Spread(reached, messages, int(copies.sum()) - reached, furthest)


class _Line:
    """Whom a sender tries for a half, one after the other."""

    def __init__(self, cube: WideCube, live: NDArray[np.bool_], tries: int) -> None:
        self._cube = cube
        self._live = live
        self._tries = tries
        rows = np.where(live, np.arange(cube.nodes), cube.nodes)
        self._next_live = np.append(np.minimum.accumulate(rows[::-1])[::-1], cube.nodes)

    def handed_on(self, hearers: Nodes, dimension: int) -> Hop:
        """Hearers that must cover this dimension hand on the half across it."""
        cube, bit = self._cube, self._cube.bit(dimension)
        senders = hearers[cube.lengths[hearers] > dimension]
        flipped = cube.labels[senders] ^ bit
        receivers = cube.owner(flipped)
        tries = np.ones(len(senders), np.int64)
        dead = np.flatnonzero(~self._live[receivers])
        if len(dead):
            first = flipped[dead] & -bit
            low, high = np.searchsorted(cube.labels, first), np.searchsorted(cube.labels, first + bit)
            next_live, neighbour = self._next_live[low], receivers[dead]
            # The neighbour, then the dead ones before the first live one, and it; the neighbour is tried only once.
            needed = 1 + (next_live - low) - (neighbour < next_live) + 1
            fails = (next_live >= high) | (needed > self._tries)
            tries[dead] = np.where(fails, self._tries, needed)
            receivers[dead] = np.where(fails, -1, next_live)
        taken = receivers >= 0
        in_vain = int(tries.sum()) - int(taken.sum())
        return Hop(senders[taken], receivers[taken], np.full(int(taken.sum()), dimension + 1), in_vain)
