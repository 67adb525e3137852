"""Deadlines, prices and timeouts under crashes, loss and cuts: what is late ends so and is not handed over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sims.scenarios.run import run
from sims.scenarios.scenario import read_scenario

PRICED = Path(__file__).parents[2] / "sims/scenarios/files/priced.toml"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_bids_break_no_promise(seed: int) -> None:
    """And many pairs do expire: a run without would show nothing."""
    report = run(read_scenario(PRICED), seed, codec_share=50)
    assert [f"{finding.invariant}: {finding.text}" for finding in report.findings] == []
    assert (report.judgement.expired > 100, report.judgement.late) == (True, 0)
    assert (report.judgement.earnings.earned > 0, report.judgement.earnings.penalties > 0) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 9, 16])
def test_nothing_expires_early_where_clocks_run_apart(seed: int) -> None:
    """By 4 % at most: what a link tells of time is wrong by what they run apart in seconds, not in minutes."""
    scenario = replace(
        read_scenario(PRICED), clusters=2, members=5, seconds=160.0, quiet_seconds=80.0, faults=("drift",)
    )
    report = run(scenario, seed, codec_share=50)
    assert [f"{finding.invariant}: {finding.text}" for finding in report.findings] == []
    assert report.judgement.expired > 100
