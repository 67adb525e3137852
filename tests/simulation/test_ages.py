"""Age is true age: what was durable grows older while its machine is down, so that nothing forgotten is paid again."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.scenarios.run import run
from sims.scenarios.scenario import read_scenario

LATE_RETURNS = Path(__file__).parents[2] / "sims/scenarios/files/late_returns.toml"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_peers_that_return_after_all_others_forgot_break_no_promise(seed: int) -> None:
    """Holders, owners, publishers and subscribers; and some do hold what was forgotten."""
    report = run(read_scenario(LATE_RETURNS), seed, keep_entries=True)
    assert [f"{finding.invariant}: {finding.text}" for finding in report.findings] == []
    drops = [record.reason for _, record in report.entries if record.kind is Kind.DROP]
    assert Reason.OLDER_THAN_TTL in drops
