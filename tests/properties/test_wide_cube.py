"""Casts on arrays are the casts of `spread`, message by message; and what dead super-nodes do to them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.casts import spread
from p2psub.config import CubeConfig
from p2psub.model.graycode import WHOLE, Prefix
from sims.experiments.wide_cube import WideCube, cast, cube_links, cube_of, grown_cube, hops, tries_max
from tests.oracles.cube import (
    NeighboursWhenAsked,
    Pick,
    any_prefix,
    any_shortest,
    dimensions_for,
    first_shortest,
    growing_cubes,
    is_partition,
    neighbours_of,
    walk,
)

CONFIG = CubeConfig()
TRIES = tries_max(CONFIG)


def sent(cube: WideCube, root: int) -> list[tuple[Prefix, Prefix, int, int]]:
    """Every message: sender, receiver, dimension, hops."""
    prefixes = [cube.prefix(row) for row in range(cube.nodes)]
    found = []
    for number, hop in enumerate(hops(cube, root, np.ones(cube.nodes, bool), TRIES), start=1):
        for sender, receiver, half in np.stack((hop.senders, hop.receivers, hop.halves), axis=1).tolist():
            found.append((prefixes[sender], prefixes[receiver], half - 1, number))
    return found


@pytest.mark.parametrize(("pick", "seed"), [(first_shortest, 0), (any_shortest, 1), (any_shortest, 2), (any_prefix, 3)])
def test_messages_are_those_of_spread_for_every_size(pick: Pick, seed: int) -> None:
    """For N = 1 … 512, however the cube grew, the messages are the same, each once."""
    for prefixes in growing_cubes(512, pick, seed):
        cube = cube_of(prefixes)
        root = (seed * 7919 + len(prefixes)) % len(prefixes)
        walked = [tuple(hop) for hop in walk(cube.prefix(root), NeighboursWhenAsked(prefixes))]
        assert sorted(sent(cube, root)) == sorted(walked)


@given(nodes=st.integers(1, 5_000), seed=st.integers(0, 99))
def test_everybody_hears_once(nodes: int, seed: int) -> None:
    """Any size: all reached, N-1 messages, no duplicate, at most as many hops as the longest prefix has bits."""
    rng = np.random.default_rng(seed)
    spread_ = cast(grown_cube(nodes, rng), int(rng.integers(nodes)), np.ones(nodes, bool), CONFIG)
    assert (spread_.reached, spread_.messages, spread_.duplicates) == (nodes, nodes - 1, 0)
    assert spread_.hops <= dimensions_for(nodes)


@pytest.mark.parametrize("nodes", [1 << 16, (1 << 16) - 1, 77_777, 100_000])
def test_everybody_hears_once_in_large_cubes(nodes: int) -> None:
    """Powers of two and others."""
    rng = np.random.default_rng(nodes)
    spread_ = cast(grown_cube(nodes, rng), int(rng.integers(nodes)), np.ones(nodes, bool), CONFIG)
    assert (spread_.reached, spread_.messages, spread_.duplicates) == (nodes, nodes - 1, 0)


@given(nodes=st.integers(1, 300), seed=st.integers(0, 99))
def test_grown_cubes_are_what_joins_make(nodes: int, seed: int) -> None:
    """A partition of the labels whose lengths differ by one at most, rows in the order of their labels."""
    cube = grown_cube(nodes, np.random.default_rng(seed))
    prefixes = [cube.prefix(row) for row in range(nodes)]
    assert is_partition(prefixes)
    assert all(one < other for one, other in pairwise(prefixes))
    assert max(map(len, prefixes)) - min(map(len, prefixes)) <= 1
    again = cube_of(prefixes)
    assert again.labels.tolist() == cube.labels.tolist()
    assert again.lengths.tolist() == cube.lengths.tolist()


@given(nodes=st.integers(1, 100), seed=st.integers(0, 99))
def test_links_of_the_cube_are_its_neighbours(nodes: int, seed: int) -> None:
    """Everybody is linked with its neighbours, and with those that count it among theirs."""
    cube = grown_cube(nodes, np.random.default_rng(seed))
    rows = {cube.prefix(row): row for row in range(nodes)}
    pairs = {(rows[own], rows[near]) for (own, _), near in neighbours_of(list(rows)).items()}
    links = cube_links(cube)
    assert {(row, end) for row in range(nodes) for end in links.of(row)} == pairs | {(b, a) for a, b in pairs}


def plainly_cast(prefixes: list[Prefix], root: Prefix, dead: set[Prefix]) -> tuple[set[Prefix], int, int]:
    """Whom a cast reaches, its messages and its hops, as `Casts` tries a line of receivers; told with lists."""
    neighbours, waiting = neighbours_of(prefixes), [(root, WHOLE, 0)]
    reached: list[Prefix] = []
    messages = furthest = 0
    while waiting:
        own, subcube, came = waiting.pop()
        reached.append(own)
        furthest = max(furthest, came)
        for d, half in spread.halves(own, subcube):
            line = [neighbours[own, d]]
            line += [prefix for prefix in sorted(prefixes) if spread.is_mine(prefix, half) and prefix not in line]
            for n in range(TRIES):
                messages += 1
                if line[n % len(line)] not in dead:
                    waiting.append((line[n % len(line)], half, came + 1))
                    break
    assert len(set(reached)) == len(reached)
    return set(reached), messages, furthest


@given(nodes=st.integers(1, 130), seed=st.integers(0, 999), share=st.sampled_from([0.02, 0.1, 0.5, 0.9]))
def test_dead_are_passed_by_as_casts_pass_them_by(nodes: int, seed: int, share: float) -> None:
    """Reach, messages and hops are those of the line told plainly; there is no duplicate."""
    rng = np.random.default_rng(seed)
    prefixes = list(growing_cubes(nodes, any_prefix if seed % 2 else any_shortest, seed))[-1]
    cube, root = cube_of(prefixes), int(rng.integers(nodes))
    live = rng.random(nodes) >= share
    live[root] = True
    dead = {cube.prefix(row) for row in np.flatnonzero(~live).tolist()}
    reached, messages, furthest = plainly_cast(prefixes, cube.prefix(root), dead)
    found = cast(cube, root, live, CONFIG)
    assert (found.reached, found.messages, found.hops) == (len(reached), messages, furthest)
    assert found.duplicates == 0


def test_a_half_is_tried_seven_times() -> None:
    """At ticks 0, 3, 9, 18, 30, 42 and 54 of the 60 that a cast lives."""
    assert TRIES == 7
