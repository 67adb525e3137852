"""Casts through real nodes in a settled cube: N-1 transfers, no duplicate, few hops, whatever N and the founding order.

A sample of sizes runs always, two larger ones in `make test-slow`; all of 1..64, three founding orders each, by
`P2PSUB_CUBES=all pytest tests/simulation/test_casts.py -n 2`.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from p2psub.model.content import DeclarationState
from p2psub.model.graycode import Prefix
from p2psub.model.ids import NodeId
from p2psub.model.instants import SECOND_US
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.records import Kind
from sims.scenarios.casts_seen import Cast
from sims.scenarios.cube import Cube
from tests.oracles.cube import dimensions_for, is_partition

ALL = os.environ.get("P2PSUB_CUBES") == "all"
SAMPLE = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 19, 23, 24, 27, 29, 31, 32, 33)
LARGER = (37, 64)
CASES = (
    [(size, seed) for size in range(1, 65) for seed in range(3)]
    if ALL
    else [*zip(SAMPLE, SAMPLE, strict=True), *(pytest.param(size, size, marks=pytest.mark.slow) for size in LARGER)]
)
GAP_US = 100_000
TARGETS = 3


def paper_rule(root: NodeId, label: dict[NodeId, Prefix]) -> set[tuple[NodeId, NodeId, int]]:
    """Hyper 2.1, for a complete cube: the root sends on every dimension, the others on those above the arrival's."""
    holder = {prefix: node for node, prefix in label.items()}
    dimensions = len(label[root])
    sent: set[tuple[NodeId, NodeId, int]] = set()
    waiting = [(root, -1)]
    while waiting:
        sender, came_by = waiting.pop()
        for d in range(came_by + 1, dimensions):
            bits = label[sender]
            receiver = holder[Prefix(bits[:d] + ("1" if bits[d] == "0" else "0") + bits[d + 1 :])]
            sent.add((sender, receiver, d))
            waiting.append((receiver, d))
    return sent


def check_change_cast(cast: Cast, label: dict[NodeId, Prefix]) -> None:
    """One broadcast from one position."""
    size, longest = len(label), max(map(len, label.values()))
    assert len(cast.forwards) == size - 1
    assert cast.duplicates == 0
    assert sorted(node for node, _ in cast.received) == sorted(label.keys() - {cast.root})
    assert max((hops for _, hops in cast.received), default=0) <= longest
    if size == 1 << longest:
        assert set(cast.forwards) == paper_rule(cast.root, label)


def check_multicast(cast: Cast, label: dict[NodeId, Prefix], targets: set[NodeId]) -> None:
    """One multicast: every target is reached, every link is used at most once, and nobody is asked in vain."""
    reached = {node for node, _ in cast.received}
    assert targets - {cast.root} <= reached
    links = [(sender, receiver) for sender, receiver, _ in cast.forwards]
    assert len(set(links)) == len(links) == len(cast.received)
    senders = {sender for sender, _ in links}
    assert reached <= targets | senders, "whoever is no target only hands on"
    assert cast.duplicates == 0


@pytest.mark.parametrize(("size", "seed"), CASES)
def test_casts_through_real_nodes_cost_what_the_paper_says(size: int, seed: int) -> None:
    """A change from every position, then an event from every position to a few clusters."""
    cube = Cube(size, seed)
    label = cube.prefixes()
    assert is_partition(list(label.values()))
    assert max(map(len, label.values())) <= dimensions_for(size) + 1
    rng = Random(seed)
    wanting = rng.sample(cube.peers, min(size, TARGETS))
    targets = {host.id for host in wanting}
    for host in cube.peers:
        cube.subscribe(host, "wanted" if host in wanting else "other")
        cube.run_for(GAP_US)
    cube.run_for(4 * SECOND_US)
    changes = [cast for cast in cube.casts().values() if cast.payload == "ChangePayload"]
    assert sorted(cast.root for cast in changes) == sorted(label)
    for cast in changes:
        check_change_cast(cast, label)
    verdicts = [(record.status, record.state) for record in cube.records(Kind.VERDICT)]
    assert verdicts == [(VerdictStatus.STABLE, DeclarationState.ACTIVE)] * size

    for host in cube.peers:
        cube.publish(host, "wanted")
        cube.run_for(GAP_US)
    cube.run_for(2 * SECOND_US)
    multicasts = [cast for cast in cube.casts().values() if cast.payload == "EventPayload"]
    assert len(multicasts) == sum(bool(targets - {host.id}) for host in cube.peers)
    for cast in multicasts:
        check_multicast(cast, label, targets)
    handed_over = sorted((publisher, subscription.node) for _, publisher, subscription in cube.delivered())
    assert handed_over == sorted((host.id, target) for host in cube.peers for target in targets)
