"""Prefix sets as joins make them, and casts walked over them with the rules of `spread` and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

from p2psub.casts import spread
from p2psub.model.graycode import WHOLE, Prefix, overlaps

Pick = Callable[[list[Prefix], Random], Prefix]


def first_shortest(prefixes: list[Prefix], _rng: Random) -> Prefix:
    """A globally shortest prefix; of several the first by label, as the directory rules it."""
    return min(prefixes, key=lambda prefix: (len(prefix), prefix))


def any_shortest(prefixes: list[Prefix], rng: Random) -> Prefix:
    """A globally shortest prefix; of several any."""
    shortest = min(map(len, prefixes))
    return rng.choice([prefix for prefix in prefixes if len(prefix) == shortest])


def any_prefix(prefixes: list[Prefix], rng: Random) -> Prefix:
    """Any prefix: what losses and heals may leave behind."""
    return rng.choice(prefixes)


def growing_cubes(size_max: int, pick: Pick, seed: int) -> Iterator[list[Prefix]]:
    """The prefix sets of 1, 2, … clusters, each made from the one before by a split."""
    rng = Random(seed)
    prefixes = [WHOLE]
    yield list(prefixes)
    while len(prefixes) < size_max:
        split = pick(prefixes, rng)
        place = prefixes.index(split)
        prefixes[place : place + 1] = [Prefix(split + "0"), Prefix(split + "1")]
        yield list(prefixes)


def owner_of_label(label: str, prefixes: Iterable[Prefix]) -> Prefix:
    """Who owns a label padded with zeros, by trying every length; not by the rule under test."""
    known = prefixes if isinstance(prefixes, dict | set) else set(prefixes)
    padded = label + "0" * 64
    (owner,) = (Prefix(padded[:length]) for length in range(65) if padded[:length] in known)
    return owner


Neighbours = dict[tuple[Prefix, int], Prefix]


def neighbours_of(prefixes: list[Prefix]) -> Neighbours:
    """Each cluster's neighbour across each of its bits, found quickly by trying the lengths that occur."""
    known: dict[str, Prefix] = {prefix: prefix for prefix in prefixes}
    lengths = sorted({len(prefix) for prefix in prefixes})
    zeros = "0" * lengths[-1]
    found = {}
    for own in prefixes:
        for d, bit in enumerate(own):
            padded = own[:d] + ("1" if bit == "0" else "0") + own[d + 1 :] + zeros
            found[own, d] = next(known[padded[:length]] for length in lengths if padded[:length] in known)
    return found


class NeighboursWhenAsked(Neighbours):
    """The same, found when somebody asks: one cast needs few of them."""

    def __init__(self, prefixes: list[Prefix]) -> None:
        super().__init__()
        self._known = set(prefixes)
        self._lengths = sorted({len(prefix) for prefix in prefixes})

    def __missing__(self, asked: tuple[Prefix, int]) -> Prefix:
        own, d = asked
        padded = own[:d] + ("1" if own[d] == "0" else "0") + own[d + 1 :] + "0" * self._lengths[-1]
        return Prefix(next(padded[:length] for length in self._lengths if padded[:length] in self._known))


class Hop(NamedTuple):
    """One message of a cast."""

    sender: Prefix
    receiver: Prefix
    dimension: int
    hops: int


Enter = Callable[[Prefix, Prefix], Prefix]
"""Out of a half and the neighbour there, the cluster at which a multicast enters the half."""


def walk(
    root: Prefix,
    neighbours: Neighbours,
    targets: list[Prefix] | None = None,
    enter: Enter = lambda _half, neighbour: neighbour,
) -> list[Hop]:
    """Every message of a cast from `root`; with targets, of a multicast to them."""
    sent: list[Hop] = []
    waiting = [(root, WHOLE, 0)]
    while waiting:
        own, subcube, hops = waiting.pop()
        assert spread.is_mine(own, subcube)
        for d, half in spread.halves(own, subcube):
            if targets is None or any(overlaps(half, target) for target in targets):
                receiver = enter(half, neighbours[own, d])
                sent.append(Hop(own, receiver, d, hops + 1))
                waiting.append((receiver, half, hops + 1))
    return sent


class Coverage(NamedTuple):
    """What comes of asking one cluster to cover one subcube."""

    reached: int
    """A bit per cluster."""
    messages: int
    hops: int


def coverage_from_every_root(prefixes: list[Prefix], neighbours: Neighbours) -> Iterator[Coverage]:
    """The cast from each root in turn.

    What a receiver does depends on nothing but its prefix and the subcube it is asked to cover, so each such pair is
    walked once and used for all roots. From one subcube to the next larger one a receiver has one half more to hand on.
    """
    # Of plain tuples and texts: this is done a million times.
    done: dict[tuple[str, str], tuple[int, int, int]] = {(own, own): (1 << n, 0, 0) for n, own in enumerate(prefixes)}
    by_dimension: dict[int, list[tuple[Prefix, Prefix]]] = {}
    for own in prefixes:
        for d, half in spread.halves(own, WHOLE):
            by_dimension.setdefault(d, []).append((own, half))
    for d in sorted(by_dimension, reverse=True):
        for own, half in by_dimension[d]:
            reached, messages, hops = done[own, own[: d + 1]]
            reached_there, messages_there, hops_there = done[neighbours[own, d], half]
            done[own, own[:d]] = (
                reached | reached_there,
                messages + 1 + messages_there,
                hops if hops > hops_there else hops_there + 1,
            )
    return (Coverage(*done[root, WHOLE]) for root in prefixes)


def is_partition(prefixes: list[Prefix]) -> bool:
    """Whether every label has exactly one owner."""
    longest = max(map(len, prefixes))
    in_order = sorted(prefixes)
    return sum(1 << (longest - len(prefix)) for prefix in prefixes) == 1 << longest and not any(
        after.startswith(before) for before, after in pairwise(in_order)
    )


def dimensions_for(size: int) -> int:
    """Dimensions of the smallest cube that seats `size` clusters."""
    return math.ceil(math.log2(size))
