"""A cube of which some links are slow: where multicasts enter halves by load, more of what is bid is earned."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from sims.engine.placement import LinkShapes, cluster_named, slow_pairs
from sims.scenarios.run import SeedReport, run
from sims.scenarios.scenario import read_scenario
from tests.simulation.worlds import make_world

UNEVEN_CUBE = Path(__file__).parents[2] / "sims/scenarios/files/uneven_cube.toml"
MORE = 1.1
"""What entering by load earns, in what entering at neighbours does."""


@cache
def ran(paths: Literal["neighbour", "load"], seed: int) -> SeedReport:
    """One seed, whose load and links are the same for both."""
    plan = read_scenario(UNEVEN_CUBE)
    return run(replace(plan, node=replace(plan.node, cube=replace(plan.node.cube, paths=paths))), seed)


@pytest.mark.parametrize("seed", [0, 1, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8)]])
def test_entering_by_load_earns_more_and_reaches_each_target_once(seed: int) -> None:
    """With fewer transfers; a broadcast costs one for each other cluster, and no body goes over a link again."""
    by_neighbours, by_load = ran("neighbour", seed), ran("load", seed)
    assert by_neighbours.findings == by_load.findings == []
    earning = [ran.judgement.earnings.earned - ran.judgement.earnings.penalties for ran in (by_neighbours, by_load)]
    assert earning[1] > MORE * earning[0] > 0
    costs, before = by_load.judgement.cast_costs, by_neighbours.judgement.cast_costs
    assert costs.by_broadcasts == 15 * costs.broadcasts > 0
    assert costs.by_multicasts < 0.81 * before.by_multicasts
    assert by_load.carried.transmitted == by_load.carried.needed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_faults_on_slow_links_break_no_promise(seed: int) -> None:
    """Custodians that are no neighbours fall, too, and what is lost on the way is sent again."""
    plan = replace(
        read_scenario(UNEVEN_CUBE),
        members=3,
        seconds=170.0,
        calm_seconds=10.0,
        faults=("crash", "loss", "duplicate", "partition", "wipe"),
        schedules=("mixed",),
    )
    report = run(plan, seed, codec_share=50)
    assert [f"{finding.invariant}: {finding.text}" for finding in report.findings] == []
    assert report.crashes > 0


def test_a_quarter_of_the_pairs_of_clusters_is_slow_and_each_seed_has_its_own() -> None:
    """A link between such two has a quarter of the bandwidth, whichever of their peers it joins."""
    pairs = slow_pairs(3, 16, 0.25)
    assert len(pairs) == 30
    assert pairs == slow_pairs(3, 16, 0.25) != slow_pairs(4, 16, 0.25)
    slow = frozenset([frozenset([cluster_named(0), cluster_named(1)])])
    _, hosts = make_world(6, clusters=3)
    shapes = LinkShapes(0, None, 64_000, slow)
    bandwidths = [[shapes.between(one, other).bandwidth for other in hosts if other is not one] for one in hosts[::2]]
    assert bandwidths == [
        [None, 16_000, 16_000, 64_000, 64_000],
        [16_000, 16_000, None, 64_000, 64_000],
        [64_000, 64_000, 64_000, 64_000, None],
    ]
