"""The slice of the campaign that every test run makes: whole overlays under all faults keep every promise.

The campaign itself is `p2psub sim overlay --clusters 8 --members 8 --seconds 200 --seeds 0..199 --faults
crash,partition,loss,duplicate,wipe --json`. `make test-slow` makes a larger slice (test_compiled.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

import pytest

from sims.scenarios.run import run
from sims.scenarios.scenario import FULL_SIZE
from sims.scenarios.schedules import draw_schedules
from tests.mutants.everyone import EVERYONE
from tests.simulation.recorded import CAMPAIGN, SEEDS, UNCOMPILED, Recorded, recorded

SEEDS_PER_CODEC_CHECK = 5


@pytest.mark.parametrize("seed", UNCOMPILED)
def test_a_seed_of_the_campaign_keeps_every_promise(seed: int, record_property: Callable[[str, object], None]) -> None:
    """No violation, and neither is a seed vacuous: at least 1,000 obligations, three crashes and a long cut.

    It publishes and delivers as many events as when it was recorded.
    """
    assert (CAMPAIGN.clusters, CAMPAIGN.members, CAMPAIGN.seconds) == FULL_SIZE
    report = run(CAMPAIGN, seed, codec_share=50 if seed % SEEDS_PER_CODEC_CHECK == 0 else 0)
    judged = report.judgement
    figures = (
        f"seed {seed:3}: {report.crashes} crashes ({report.wipes} wiped), {report.partitions} partitions, "
        f"{judged.obligations:,} obligations, {judged.lost} lost, {judged.duplicates} duplicates, "
        f"failover {judged.failover_heartbeats_max:.1f} H, owner {judged.owner_replaced_heartbeats_max:.1f} H, "
        f"{len(report.findings)} violations, {report.cpu_seconds:.0f} s; {', '.join(report.schedules)}"
    )
    record_property("campaign", figures)
    assert [f"{finding.invariant}: {finding.text}" for finding in report.findings] == []
    assert report.schedules == drawn_by(seed)
    assert Recorded.of(report) == recorded()[seed]


def drawn_by(seed: int) -> tuple[str, ...]:
    """The schedules that a seed of the campaign runs under."""
    return draw_schedules(Random(f"{seed}/schedules"), frozenset(CAMPAIGN.faults))


@pytest.mark.parametrize("seed", [11])
def test_a_run_is_under_the_schedules_that_its_seed_draws(seed: int) -> None:
    """Whatever its size: what compiled runs say does not name them."""
    small = replace(CAMPAIGN, clusters=2, members=7, seconds=110.0)
    assert run(small, seed).schedules == drawn_by(seed)


def test_the_seeds_draw_every_schedule() -> None:
    """Whatever any seed of a long campaign draws, one of these draws it too, in `make test-slow` if not here."""
    assert drawn_by_any(SEEDS) == drawn_by_any(range(200))


def test_every_schedule_is_judged_before_a_commit() -> None:
    """What no seed of `make test` draws is in a small scenario that some mutant dies in, and the real protocol passes.

    Which mutants are left to `make test-slow`, `is_slow` says.
    """
    of_mutants = {name for one in EVERYONE if not one.is_slow for name in one.scenario.schedules}
    assert drawn_by_any(range(200)) <= drawn_by_any(UNCOMPILED) | of_mutants


def drawn_by_any(seeds: Iterable[int]) -> set[str]:
    """The schedules that these seeds run under."""
    return {name for seed in seeds for name in drawn_by(seed)}
