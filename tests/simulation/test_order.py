"""Publishers' order survives owners that die, arcs that move and disks that fill, without a gap."""

from __future__ import annotations

from pathlib import Path

import pytest

from sims.scenarios.run import run
from sims.scenarios.scenario import read_scenario

WANTED_IN_ORDER = Path(__file__).parents[2] / "sims/scenarios/files/wanted_in_order.toml"
PAIRS_MIN = 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(4), 23])
def test_order_is_kept_where_only_processes_die(seed: int) -> None:
    """No ring is cut there, so a gap that tells of a swap is a violation, too."""
    judged = run(read_scenario(WANTED_IN_ORDER), seed).judgement
    assert [f"{finding.invariant}: {finding.text}" for finding in judged.findings] == []
    assert judged.ordered_pairs >= PAIRS_MIN, "too few events came one after the other to show anything"
