"""The experiment of Hyper 4: simulated nodes and arrays say the same, and the cube reaches everybody once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from p2psub.config import CubeConfig
from sims.baselines.blind import Spread
from sims.experiments import wide_cube
from sims.experiments.broadcast import (
    Algorithm,
    BroadcastEngine,
    BroadcastReading,
    Choice,
    Overlay,
    Trial,
    baseline_of,
    perform,
    scene_of,
)
from sims.experiments.simulated_broadcast import simulated_blind, simulated_cast
from sims.scenarios.cube import Cube
from tests.oracles.rumours import tell

READINGS = [
    BroadcastReading(),
    BroadcastReading(overlay=Overlay.CUBE, choice=Choice.LINKS),
    BroadcastReading(degree=3.2, fanout=1.6, rounds=3, choice=Choice.LINKS),
]


@pytest.mark.parametrize("nodes", [*range(1, 18), 23, 31, 32, 33, 64, 65, 100, 1_000, 1_024, 4_097])
def test_hypercube_reaches_everybody_once(nodes: int) -> None:
    """Coverage 1, no duplicate, N - 1 messages: through real nodes up to 33, on arrays for every N."""
    for simulated_max in (33, 0):
        result = perform(Trial(Algorithm.HYPERCUBE, nodes, seed=nodes, simulated_max=simulated_max))
        assert result.engine is (BroadcastEngine.SIMULATED if nodes <= simulated_max else BroadcastEngine.VECTORISED)
        assert (result.coverage, result.duplicate_rate, result.messages) == (1.0, 0.0, nodes - 1)
        assert result.hops <= (nodes - 1).bit_length()


@pytest.mark.parametrize("failed", [0.0, 0.2])
@pytest.mark.parametrize("reading", READINGS)
def test_simulated_flooding_costs_what_it_costs_on_arrays(reading: BroadcastReading, failed: float) -> None:
    """Whoever hears first from whom, the same nodes are reached by as many messages; only hops may be more."""
    for nodes in (1, 2, 7, 16, 33):
        trial = Trial(Algorithm.FLOODING, nodes, 3, failed, reading)
        timed, at_once = perform(trial), perform(replace(trial, simulated_max=0))
        assert replace(timed, hops=at_once.hops, engine=at_once.engine) == at_once
        assert timed.hops >= at_once.hops


@pytest.mark.parametrize("reading", READINGS)
def test_simulated_gossip_keeps_its_rules(reading: BroadcastReading) -> None:
    """Nobody sends to more than its fan-out, further than its rounds, or twice; what arrives is new or a duplicate."""
    for nodes in (1, 2, 7, 16, 33):
        trial = Trial(Algorithm.GOSSIP, nodes, 5, 0.0, reading)
        root, live = scene_of(trial)
        blind = baseline_of(trial)
        spread = simulated_blind(blind, trial.seed, root, live)
        assert spread.messages == spread.reached - 1 + spread.duplicates
        assert blind.fanout is not None
        assert spread.messages <= sum(sorted(blind.fanout.tolist())[-spread.reached :])
        assert reading.rounds is None or spread.hops <= reading.rounds


def test_gossip_without_a_choice_is_the_oracles_in_the_simulator_too() -> None:
    """With a fan-out beyond all links time does not matter, and the relays must do what the oracle tells."""
    trial = Trial(Algorithm.GOSSIP, 20, 1, 0.25, BroadcastReading(fanout=50, choice=Choice.LINKS))
    root, live = scene_of(trial)
    blind = baseline_of(trial)
    links = [blind.links.of(node) for node in range(trial.nodes)]
    told, _ = tell(links, None, None, root, set(np.flatnonzero(~live).tolist()))
    spread = simulated_blind(blind, trial.seed, root, live)
    assert (spread.reached, spread.messages, spread.duplicates) == told[:3]


@pytest.mark.parametrize(("nodes", "seed"), [(8, 1), (13, 2), (16, 3), (16, 4), (23, 5)])
def test_real_nodes_pass_the_dead_by_as_the_arrays_do(nodes: int, seed: int) -> None:
    """One dead super-node, the same one in the same cube: same reach, same messages, same hops, no duplicate."""
    root, live = scene_of(Trial(Algorithm.HYPERCUBE, nodes, seed, failed=1 / nodes))
    assert int((~live).sum()) == 1
    assert simulated_cast(seed, root, live) == _on_arrays(Cube(nodes, seed), root, live)


@pytest.mark.parametrize("seed", [1, 2])
def test_many_dead_cost_messages_but_nobodys_copy(seed: int) -> None:
    """A quarter dead: real nodes and arrays both reach all others, once. Messages differ where liveness knew better."""
    root, live = scene_of(Trial(Algorithm.HYPERCUBE, 16, seed, failed=0.25))
    real, arrays = simulated_cast(seed, root, live), _on_arrays(Cube(16, seed), root, live)
    assert (real.reached, real.duplicates) == (arrays.reached, arrays.duplicates) == (12, 0)
    assert real.messages > 11


def _on_arrays(cube: Cube, root: int, live: np.typing.NDArray[np.bool_]) -> Spread:
    prefixes = [cube.prefixes()[host.id] for host in cube.peers]
    wide = wide_cube.cube_of(prefixes)
    rows = [sorted(prefixes).index(prefix) for prefix in prefixes]
    live_rows = np.empty_like(live)
    live_rows[rows] = live
    return wide_cube.cast(wide, rows[root], live_rows, CubeConfig())


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("nodes", [12, 300])
def test_same_seed_same_result(algorithm: Algorithm, nodes: int) -> None:
    """Both engines; and another seed is another broadcast."""
    trial = Trial(algorithm, nodes, 1, 0.1, simulated_max=64)
    assert perform(trial) == perform(trial)
    assert len({perform(replace(trial, seed=seed)) for seed in range(4)}) == 4


def test_algorithms_share_root_and_dead() -> None:
    """What differs is the algorithm; as many are dead as was asked for, and never the root."""
    scenes = [scene_of(Trial(algorithm, 200, 9, 0.05)) for algorithm in Algorithm]
    assert len({(root, live.tobytes()) for root, live in scenes}) == 1
    for failed, dead in ((0.0, 0), (0.05, 10), (0.999, 199), (1.0, 199)):
        root, live = scene_of(Trial(Algorithm.GOSSIP, 200, 9, failed))
        assert int((~live).sum()) == dead
        assert live[root]
