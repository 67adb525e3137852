"""Real nodes in the simulator: small runs that keep every promise, whatever the hash seed and the clocks."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from p2psub.errors import ConfigError
from p2psub.model.instants import SECOND_US
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind
from sims.engine import world
from sims.engine.trace import each_happening
from sims.scenarios.run import SeedReport, run
from sims.scenarios.scenario import Scenario, read_scenario
from sims.scenarios.schedules import SCHEDULES
from sims.workloads.load import Load

ROOT = Path(__file__).parents[2]
SMALL = Scenario(
    clusters=1,
    members=4,
    seconds=60.0,
    faults=(),
    schedules=(),
    quiet_seconds=20.0,
    load=Load(subscriptions=16, events_per_second=10.0),
)


def deliveries(report: SeedReport) -> list[tuple[int, object, object]]:
    """What was handed over, when and to whom."""
    return [(at_us, r.event, r.subscription) for at_us, r in each_happening(report.entries) if r.kind is Kind.DELIVER]


def test_small_overlay_without_faults_keeps_every_promise() -> None:
    """One cluster of four under a light load: no violation, and something was owed; the codec agrees throughout."""
    report = run(SMALL, 1, codec_share=5)
    assert report.findings == []
    assert report.judgement.obligations > 100


def test_same_seed_same_digest_of_real_nodes_under_other_hash_seeds() -> None:
    """Three processes with different PYTHONHASHSEED make the same trace, byte for byte."""
    imports = "from sims.scenarios.run import run; from tests.simulation.test_overlay import SMALL; "
    code = imports + "print(run(SMALL, 3).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "7", "1234")
    }
    assert len(digests) == 1


def expiries(report: SeedReport) -> list[tuple[int, object, object]]:
    """What expired for which subscription, and when in true time."""
    records = [(at_us, record) for at_us, record in report.entries if record.outcome is Outcome.EXPIRED]
    return [(at_us, record.event, record.subscription) for at_us, record in records]


def test_clock_offsets_change_no_delivery() -> None:
    """S14: the same seed under other clocks delivers the same events to the same subscriptions at the same time."""
    one, other = (run(SMALL, 2, clock_seed=clock_seed, keep_entries=True) for clock_seed in (1, 2))
    assert deliveries(one)
    assert deliveries(one) == deliveries(other)
    assert one.digest != other.digest, "the stamps do differ"


def test_clock_offsets_change_no_expiry(monkeypatch: pytest.MonkeyPatch) -> None:
    """S14 with deadlines: the same pairs expire at the same time and earn the same, though clocks are an hour off."""
    monkeypatch.setattr(world, "SKEW_US_MAX", 3600 * SECOND_US)
    load = replace(SMALL.load, priced_share=1.0, timed_share=0.3, limit_ms_min=20, limit_ms_max=5_000)
    priced = replace(SMALL, faults=("crash", "loss"), load=load)
    one, other = (run(priced, 2, clock_seed=clock_seed, keep_entries=True) for clock_seed in (1, 2))
    assert one.judgement.expired > 0
    assert expiries(one) == expiries(other)
    assert one.judgement.earnings == other.judgement.earnings
    assert one.judgement.earnings.penalties > 0
    assert deliveries(one) == deliveries(other)
    assert (one.findings, one.digest != other.digest) == ([], True)


@pytest.mark.parametrize("path", sorted((ROOT / "sims/scenarios/files").glob("*.toml")), ids=lambda path: path.stem)
def test_scenario_files_are_readable(path: Path) -> None:
    """Every scenario in the tree is one, and names schedules that exist."""
    scenario = read_scenario(path)
    assert set(scenario.schedules) <= {"mixed", *SCHEDULES}


def test_impossible_scenarios_are_refused_with_the_field(tmp_path: Path) -> None:
    """Unknown faults, unknown keys and runs too short for their phases name what is wrong."""
    with pytest.raises(ConfigError, match="faults"):
        Scenario(faults=("flood",))
    with pytest.raises(ConfigError, match="seconds"):
        Scenario(seconds=30.0)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("clusters = 'many'\n")
    with pytest.raises(ConfigError, match="clusters"):
        read_scenario(wrong)
