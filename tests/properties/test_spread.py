"""Casts over cubes of any size: everybody once, nobody twice, no detours (Hyper 2.1, made to work for every N)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.casts import spread
from p2psub.model.graycode import Prefix, label_of, overlaps
from tests.oracles.cube import (
    Pick,
    any_prefix,
    any_shortest,
    coverage_from_every_root,
    dimensions_for,
    first_shortest,
    growing_cubes,
    is_partition,
    neighbours_of,
    owner_of_label,
    walk,
)

SIZE_MAX = 512
SIZES = pytest.mark.parametrize("size_max", [SIZE_MAX // 2, pytest.param(SIZE_MAX, marks=pytest.mark.slow)])
"""Time grows with the cube of the size: `make test-slow` goes to the end."""
PICKS = pytest.mark.parametrize("pick", [first_shortest, any_shortest, any_prefix], ids=lambda pick: pick.__name__)


def cube_of(size: int, pick: Pick, seed: int) -> list[Prefix]:
    """One prefix set of this size."""
    return list(growing_cubes(size, pick, seed))[-1]


@SIZES
@PICKS
def test_cast_reaches_everybody_once_from_every_root_for_every_size(pick: Pick, size_max: int) -> None:
    """For N = 1 … 512 and each root: all N reached, N-1 messages, so no duplicate, in at most longest-prefix hops."""
    for prefixes in growing_cubes(size_max, pick, seed=1):
        size, longest = len(prefixes), max(map(len, prefixes))
        for cast in coverage_from_every_root(prefixes, neighbours_of(prefixes)):
            assert cast.reached == (1 << size) - 1
            assert cast.messages == size - 1
            assert cast.hops <= longest


@given(st.text("01", max_size=20), st.data())
def test_halves_of_a_smaller_subcube_are_the_later_ones(text: str, data: st.DataObject) -> None:
    """Asked to cover less, a cluster leaves out the first halves and changes none of the others."""
    own, length = Prefix(text), data.draw(st.integers(0, len(text)))
    assert spread.halves(own, Prefix(own[:length])) == spread.halves(own, Prefix(""))[length:]


@SIZES
@PICKS
def test_message_by_message_nobody_hears_twice(pick: Pick, size_max: int) -> None:
    """Walked message by message: every cluster but the root is the receiver of exactly one."""
    for prefixes in growing_cubes(size_max, pick, seed=2):
        size = len(prefixes)
        neighbours = neighbours_of(prefixes)
        roots = prefixes if size <= 32 else Random(size).sample(prefixes, 1)
        for root in roots:
            hops = walk(root, neighbours)
            assert sorted([root, *(hop.receiver for hop in hops)]) == sorted(prefixes)
            assert max((hop.hops for hop in hops), default=0) <= max(map(len, prefixes))


@pytest.mark.parametrize("dimensions", range(10))
def test_complete_cube_is_the_papers_rule(dimensions: int) -> None:
    """For N = 2**n, from every root, the messages are those of "forward on dimensions above the arrival dimension"."""
    prefixes = [label_of(position, dimensions) for position in range(1 << dimensions)]
    assert sorted(prefixes) == sorted(cube_of(1 << dimensions, first_shortest, 0))
    neighbours = neighbours_of(prefixes)
    numbers = {prefix: sum(1 << d for d, bit in enumerate(prefix) if bit == "1") for prefix in prefixes}
    for root in prefixes:
        walked = {(numbers[hop.sender], numbers[hop.receiver], hop.dimension) for hop in walk(root, neighbours)}
        assert walked == papers_rule(numbers[root], dimensions)


def papers_rule(root: int, dimensions: int) -> set[tuple[int, int, int]]:
    """Sender, receiver and dimension of every message, on labels as numbers whose bit d is dimension d."""
    sent: set[tuple[int, int, int]] = set()
    waiting = [(root, -1)]
    while waiting:
        label, came_by = waiting.pop()
        for d in range(came_by + 1, dimensions):
            assert (label, label ^ (1 << d), d) not in sent
            sent.add((label, label ^ (1 << d), d))
            waiting.append((label ^ (1 << d), d))
    return sent


@PICKS
@settings(max_examples=150)
@given(size=st.integers(2, 96), seed=st.integers(0, 999), data=st.data())
def test_multicast_reaches_its_targets_and_needs_every_relay(
    pick: Pick, size: int, seed: int, data: st.DataObject
) -> None:
    """Every target hears once; whoever else hears is a relay with a target behind it; no link is used twice."""
    prefixes = cube_of(size, pick, seed)
    root = data.draw(st.sampled_from(prefixes))
    targets = data.draw(st.lists(st.sampled_from(prefixes), unique=True))
    hops = walk(root, neighbours_of(prefixes), targets)
    heard = [hop.receiver for hop in hops]
    assert len(set(heard)) == len(heard)
    assert root not in heard
    assert set(targets) <= {root, *heard}
    senders = {hop.sender for hop in hops}
    assert all(receiver in targets for receiver in heard if receiver not in senders)
    relays = set(heard) - set(targets)
    assert len(relays) <= len(targets) * max(map(len, prefixes))


@PICKS
@settings(max_examples=150)
@given(size=st.integers(2, 96), seed=st.integers(0, 999), data=st.data())
def test_multicast_may_enter_a_half_at_any_cluster_there(pick: Pick, size: int, seed: int, data: st.DataObject) -> None:
    """Whichever it is, each target hears once and nobody twice; if it is a target each time, nobody else hears."""
    prefixes, rng = cube_of(size, pick, seed), Random(seed)
    root = data.draw(st.sampled_from(prefixes))
    targets = data.draw(st.lists(st.sampled_from(prefixes), unique=True))
    neighbours = neighbours_of(prefixes)
    for doors in (prefixes, targets):
        hops = walk(root, neighbours, targets, lambda half, _, doors=doors: rng.choice(within(half, doors)))  # type: ignore[misc]
        heard = [hop.receiver for hop in hops]
        assert len({root, *heard}) == len(heard) + 1
        assert set(targets) <= {root, *heard}
        assert max((hop.hops for hop in hops), default=0) <= max(map(len, prefixes))
        if doors is targets:
            assert {root, *heard} == {root, *targets}


def within(half: Prefix, prefixes: list[Prefix]) -> list[Prefix]:
    """The clusters that may take a cast for a half."""
    return [prefix for prefix in prefixes if spread.is_mine(prefix, half)]


def test_multicasts_that_enter_at_targets_need_a_fifth_fewer_messages() -> None:
    """Over 4,000 random multicasts to up to 8 clusters, in cubes of up to 16; and never one more."""
    rng, by_neighbours, by_targets = Random(4000), 0, 0
    cubes = [cube for pick in (first_shortest, any_shortest, any_prefix) for cube in growing_cubes(16, pick, seed=6)][
        1:
    ]
    for _ in range(4_000):
        prefixes = rng.choice(cubes)
        neighbours, root = neighbours_of(prefixes), rng.choice(prefixes)
        targets = rng.sample(prefixes, min(len(prefixes), rng.randint(1, 8)))
        walked = len(walk(root, neighbours, targets))
        entered = len(walk(root, neighbours, targets, lambda half, _, targets=targets: within(half, targets)[0]))  # type: ignore[misc]
        assert entered == len({*targets} - {root}) <= walked
        by_neighbours, by_targets = by_neighbours + walked, by_targets + entered
    assert by_targets <= 0.81 * by_neighbours


@PICKS
@given(size=st.integers(1, 64), seed=st.integers(0, 999), data=st.data())
def test_multicast_by_an_old_directory_still_reaches_its_targets(
    pick: Pick, size: int, seed: int, data: st.DataObject
) -> None:
    """A target prefix that was split or merged since names a subcube; everybody in it or around it hears."""
    prefixes = cube_of(size, pick, seed)
    root = data.draw(st.sampled_from(prefixes))
    targets = [Prefix(text) for text in data.draw(st.lists(st.text("01", max_size=9), max_size=4))]
    reached = {root, *(hop.receiver for hop in walk(root, neighbours_of(prefixes), targets))}
    assert {prefix for prefix in prefixes if any(overlaps(prefix, target) for target in targets)} <= reached


@given(size=st.integers(1, 64), seed=st.integers(0, 999))
def test_multicast_to_all_is_a_cast(size: int, seed: int) -> None:
    """With everybody as target the walk is the broadcast's."""
    prefixes = cube_of(size, any_prefix, seed)
    neighbours = neighbours_of(prefixes)
    assert walk(prefixes[0], neighbours, prefixes) == walk(prefixes[0], neighbours)


@PICKS
def test_prefixes_partition_the_labels(pick: Pick) -> None:
    """However clusters joined, every label has exactly one owner."""
    assert all(is_partition(prefixes) for prefixes in growing_cubes(SIZE_MAX, pick, seed=3))


@pytest.mark.parametrize("pick", [first_shortest, any_shortest])
def test_splitting_a_shortest_keeps_the_cube_flat(pick: Pick) -> None:
    """No prefix is longer than ceil(log2 N): better than the ceil(log2 N) + 1 that is promised."""
    for prefixes in growing_cubes(SIZE_MAX, pick, seed=4):
        assert max(map(len, prefixes)) <= dimensions_for(len(prefixes))


@PICKS
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 31, 64, 100, 257])
def test_neighbour_owns_the_flipped_label(pick: Pick, size: int) -> None:
    """The neighbour across a bit is the owner of the padded label with that bit flipped, and lies in that half."""
    prefixes = cube_of(size, pick, seed=5)
    neighbours, known = neighbours_of(prefixes), dict.fromkeys(prefixes)
    for own in prefixes:
        for d, half in spread.halves(own, Prefix("")):
            found = spread.neighbour(own, d, tuple(prefixes))
            assert found == neighbours[own, d] == owner_of_label(half + own[d + 1 :], known)
            assert found.startswith(half)
            assert spread.is_mine(found, half)


def test_no_neighbour_where_nobody_is() -> None:
    """A vacancy is answered with None, not with somebody else."""
    assert spread.neighbour(Prefix("00"), 0, (Prefix("00"), Prefix("01"))) is None


@PICKS
@given(size=st.integers(1, 64), seed=st.integers(0, 999), data=st.data())
def test_who_holds_labels_of_a_half_may_take_its_cast(pick: Pick, size: int, seed: int, data: st.DataObject) -> None:
    """Spare contacts for a half are the clusters that hold labels of it, and only they may take its cast."""
    prefixes = cube_of(size, pick, seed)
    half = Prefix(data.draw(st.text("01", max_size=8)))
    depth = 9 + max(map(len, prefixes))
    holders = {owner_of_label((half + tail).ljust(depth, "0"), prefixes) for tail in tails_below(half, prefixes)}
    assert {prefix for prefix in prefixes if spread.is_mine(prefix, half)} == holders


def tails_below(half: Prefix, prefixes: list[Prefix]) -> list[str]:
    """Label endings that visit every cluster below a half, and the one around it."""
    return ["", *(prefix[len(half) :] for prefix in prefixes if prefix[: len(half)] == half)]
