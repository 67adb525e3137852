"""MTEP's experiment on random small meshes: every pair ends once, and ways are trees."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.link_queue import LinkQueue
from p2psub.queueing.policy import POLICIES
from sims.experiments.mtep.load_ways import edge_shares, ways_by_load
from sims.experiments.mtep.mesh import Mesh, MeshLink, drawn_mesh
from sims.experiments.mtep.paths import Way, Ways, climbing_ways, shortest_ways
from sims.experiments.mtep.run import MeshRun, Passing
from sims.experiments.mtep.trees import WayTree
from sims.experiments.mtep.workload import drawn_demand, drawn_traffic, random_instants

LAYERS = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)
SEEDS = st.integers(0, 2**32)


def is_way(mesh: Mesh, source: int, edge: int, way: Way) -> bool:
    """Whether links lead from a broker of layer 1 down to an edge broker."""
    at = source
    for number in way:
        link = mesh.links[number]
        if link.upper != at:
            return False
        at = link.lower
    return at == mesh.first_edge + edge


def is_forest(mesh: Mesh, ways: Ways) -> bool:
    """Whether every broker has what one publisher publishes by one link."""
    for of_publisher in ways:
        fed_by: dict[int, int] = {}
        for number in {number for way in of_publisher for number in way}:
            if fed_by.setdefault(mesh.links[number].lower, number) != number:
                return False
    return True


@settings(max_examples=40, deadline=None)
@given(LAYERS, SEEDS, st.sampled_from(POLICIES), st.booleans(), st.booleans(), st.sampled_from([0.2, 2.0, 8.0]))
def test_every_pair_is_on_time_or_late_or_dropped(
    layers: tuple[int, ...], seed: int, policy: str, is_dropping: bool, is_waiting_told: bool, rate: float
) -> None:
    """Once, whatever the policy; and what is earned is within what all prices and all penalties are."""
    rng = np.random.default_rng(seed)
    mesh = drawn_mesh(rng, layers)
    demand = drawn_demand(rng, layers[-1])
    traffic = drawn_traffic(random_instants(rng, mesh.publishers, rate, 1.0), demand, len(mesh.links), rng)

    def queue_of(link: MeshLink) -> LinkQueue[Passing]:
        return LinkQueue(policy, LinkEstimate(link.mean_us_per_kb, link.deviation_us_per_kb), is_dropping=is_dropping)

    ways = ways_by_load(mesh, demand, rate, rng) if is_waiting_told else shortest_ways(mesh)
    tally = MeshRun(mesh, demand, traffic, ways, queue_of, is_waiting_told=is_waiting_told).run()
    assert tally.on_time + tally.late + tally.dropped == traffic.matched
    assert is_dropping or tally.dropped == 0
    assert tally.copies_max <= 1
    bids = [demand.subscriptions[number].bid for event in traffic.events for number in event.matched]
    assert -sum(bid.penalty for bid in bids) <= tally.earning <= sum(bid.price for bid in bids)
    assert tally.transmissions <= len(traffic.events) * (mesh.brokers - layers[0])


@settings(max_examples=40, deadline=None)
@given(LAYERS, SEEDS)
def test_all_ways_are_ways_and_those_of_a_publisher_a_tree(layers: tuple[int, ...], seed: int) -> None:
    """From its broker to every edge broker; and the shortest are the shortest of all."""
    rng = np.random.default_rng(seed)
    mesh = drawn_mesh(rng, layers)
    demand = drawn_demand(rng, layers[-1])
    shortest, climbing = shortest_ways(mesh), climbing_ways(mesh)
    for ways in (shortest, climbing, ways_by_load(mesh, demand, 4.0, rng)):
        assert len(ways) == mesh.publishers
        assert is_forest(mesh, ways)
        for publisher, edge in product(range(mesh.publishers), range(layers[-1])):
            assert is_way(mesh, publisher // 10, edge, ways[publisher][edge])
            assert delay_of(mesh, shortest[publisher][edge]) <= delay_of(mesh, ways[publisher][edge])
    for source, edge in product(range(layers[0]), range(layers[-1])):
        every = [delay_of(mesh, way) for way in ways_from(mesh, source, mesh.first_edge + edge)]
        assert delay_of(mesh, shortest[source * 10][edge]) == min(every)


def delay_of(mesh: Mesh, way: Way) -> int:
    """The sum of the links' mean delays."""
    return sum(mesh.links[number].mean_us_per_kb for number in way)


def ways_from(mesh: Mesh, source: int, broker: int) -> list[Way]:
    """All ways there are."""
    if broker == source:
        return [()]
    return [
        (*way, link.number)
        for link in mesh.links
        if link.lower == broker
        for way in ways_from(mesh, source, link.upper)
    ]


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_tree_that_was_changed_is_the_tree_of_its_ways(seed: int) -> None:
    """What it says of each broker's share is what a tree says that is made of its ways anew."""
    rng = np.random.default_rng(seed)
    mesh = drawn_mesh(rng, (2, 2, 4, 6))
    edges = edge_shares(drawn_demand(rng, 6), 6, rng)
    tree = WayTree(mesh, 1, shortest_ways(mesh)[10], edges)
    into = mesh.links_into()
    for broker in rng.integers(4, mesh.brokers, 12):
        for link in into[broker]:
            if link is not tree.fed_by[broker]:
                tree.feed(int(broker), link, tree.shares_if(int(broker), link))
    again = WayTree(mesh, 1, tree.ways(), edges)
    assert [share.wanted for share in tree.shares] == [share.wanted for share in again.shares]
    assert np.allclose([share.pairs for share in tree.shares], [share.pairs for share in again.shares])
