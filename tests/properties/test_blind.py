"""Flooding and gossip on arrays against the same told plainly, and the arithmetic that their defaults rest on."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.baselines.blind import Blind, broadcast
from sims.baselines.flooding import DEGREE, flooding
from sims.baselines.gossip import FANOUT, gossip_among_all, gossip_over_links
from sims.baselines.links import Links, distinct_below, joined_links, links_between
from tests.oracles.rumours import tell

SEEDS = st.integers(0, 999)


def agrees(blind: Blind, root: int, dead: set[int]) -> None:
    """Arrays and oracle say the same of this broadcast."""
    nodes = blind.links.nodes
    live = np.array([node not in dead for node in range(nodes)])
    links = [blind.links.of(node) for node in range(nodes)]
    fanout = None if blind.fanout is None else [int(used) for used in blind.fanout]
    spread = broadcast(blind, root, live)
    told, _ = tell(links, fanout, blind.rounds, root, dead)
    assert (spread.reached, spread.messages, spread.duplicates, spread.hops) == told


def dead_of(nodes: int, root: int, seed: int) -> set[int]:
    """Somewhat less than a third of the nodes, at random; never the root."""
    return {int(node) for node in np.flatnonzero(np.random.default_rng(seed).random(nodes) < 0.3)} - {root}


@settings(max_examples=200)
@given(nodes=st.integers(1, 40), seed=SEEDS, root=st.integers(0, 39), faulty=st.booleans())
def test_flooding_is_the_oracles(nodes: int, seed: int, root: int, faulty: bool) -> None:
    """Reach, messages, duplicates and hops, over links as joins make them."""
    links = joined_links(nodes, DEGREE, np.random.default_rng(seed))
    agrees(flooding(links), root % nodes, dead_of(nodes, root % nodes, seed) if faulty else set())


@given(pairs=st.sets(st.sampled_from(list(combinations(range(10), 2)))), seed=SEEDS)
def test_flooding_over_any_links_is_the_oracles(pairs: set[tuple[int, int]], seed: int) -> None:
    """Also where not everybody can be reached."""
    ones, others = (np.array([pair[end] for pair in sorted(pairs)], np.int64) for end in (0, 1))
    agrees(flooding(links_between(10, ones, others)), 0, dead_of(10, 0, seed))


@settings(max_examples=200)
@given(
    nodes=st.integers(1, 40),
    seed=SEEDS,
    fanout=st.sampled_from([1.0, 2.0, 2.5, 3.7]),
    rounds=st.sampled_from([None, 1, 3]),
    over_links=st.booleans(),
    faulty=st.booleans(),
)
def test_gossip_is_the_oracles(
    nodes: int, seed: int, fanout: float, rounds: int | None, over_links: bool, faulty: bool
) -> None:
    """In every reading."""
    rng = np.random.default_rng(seed)
    root = seed % nodes
    if over_links:
        blind = gossip_over_links(joined_links(nodes, DEGREE, rng), fanout, rounds, rng)
    else:
        blind = gossip_among_all(nodes, fanout, rounds, rng)
    agrees(blind, root, dead_of(nodes, root, seed) if faulty else set())


@given(nodes=st.integers(1, 60), seed=SEEDS, degree=st.sampled_from([2.0, 3.3, 5.5, 8.0]))
def test_joined_links_are_simple_mutual_and_connected(nodes: int, seed: int, degree: float) -> None:
    """No link to oneself, none twice, each both ways; flooding without failures reaches everybody."""
    links = joined_links(nodes, degree, np.random.default_rng(seed))
    ends = [links.of(node) for node in range(nodes)]
    for node, others in enumerate(ends):
        assert len(set(others)) == len(others)
        assert node not in others
        assert all(node in ends[other] for other in others)
    assert broadcast(flooding(links), 0, np.ones(nodes, bool)).reached == nodes


@given(nodes=st.integers(2, 60), seed=SEEDS, fanout=st.sampled_from([1.0, 2.5, 4.0]))
def test_gossip_chooses_different_others(nodes: int, seed: int, fanout: float) -> None:
    """Never itself, nobody twice, and enough of them to leave out whom it heard from."""
    blind = gossip_among_all(nodes, fanout, None, np.random.default_rng(seed))
    for node in range(nodes):
        chosen = blind.links.of(node)
        assert len(set(chosen)) == len(chosen) == min(math.ceil(fanout) + 1, nodes - 1)
        assert node not in chosen


def test_distinct_numbers_are_uniform() -> None:
    """Each of the 24 orders of four out of four, and each pair out of five, is as frequent as the others."""
    rng = np.random.default_rng(1)
    for limit, columns in ((4, 4), (5, 2)):
        rows = distinct_below(np.full(120_000, limit), columns, rng)
        orders, counts = np.unique(rows, axis=0, return_counts=True)
        assert len(orders) == math.perm(limit, columns)
        assert counts.min() > 0.9 * counts.mean()
        assert counts.max() < 1.1 * counts.mean()


@pytest.mark.parametrize("nodes", [50, 1_000])
def test_flooding_costs_two_messages_per_link_less_a_tree(nodes: int) -> None:
    """2E - (N - 1) messages: the mean degree less two duplicates per node."""
    links = joined_links(nodes, DEGREE, np.random.default_rng(nodes))
    spread = broadcast(flooding(links), 0, np.ones(nodes, bool))
    assert spread.messages == len(links.ends) - (nodes - 1)
    assert spread.duplicates == len(links.ends) - 2 * (nodes - 1)


def test_the_defaults_meet_the_papers_duplicates() -> None:
    """Hyper 4, figure 6: about 3.5 for flooding, 1.5 for gossip; which then reaches z = 1 - exp(-2.5 z)."""
    nodes = 20_000
    rng, everybody = np.random.default_rng(3), np.ones(nodes, bool)
    flood = broadcast(flooding(joined_links(nodes, DEGREE, rng)), 0, everybody)
    assert flood.duplicates / (nodes - 1) == pytest.approx(3.5, abs=0.05)
    gossip = broadcast(gossip_among_all(nodes, FANOUT, None, rng), 0, everybody)
    assert gossip.duplicates / (gossip.reached - 1) == pytest.approx(1.5, abs=0.05)
    assert gossip.reached / nodes == pytest.approx(0.8926, abs=0.01)


def test_links_keep_the_order_they_are_given_in() -> None:
    """Gossip uses the first ones."""
    links = Links(np.array([0, 2, 3, 3]), np.array([2, 1, 0]))
    assert [links.of(node) for node in range(3)] == [[2, 1], [0], []]
