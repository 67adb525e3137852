"""The slice of the campaign that every test run makes: whole overlays under all faults keep every promise.

The campaign itself is `p2psub sim overlay --clusters 8 --members 8 --seconds 200 --seeds 0..199 --faults
crash,partition,loss,duplicate,wipe --json`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sims.scenarios.run import run
from sims.scenarios.scenario import FULL_SIZE
from tests.simulation.recorded import CAMPAIGN, Recorded, recorded

SEEDS = range(20)
PER_CHUNK = 2
"""Small, so that processes that are done early take over from others."""
SEEDS_PER_CODEC_CHECK = 5


@pytest.mark.parametrize("first", SEEDS[::PER_CHUNK])
def test_seeds_of_the_campaign_keep_every_promise(first: int, record_property: Callable[[str, object], None]) -> None:
    """No violation, and neither is a seed vacuous: at least 1,000 obligations, three crashes and a long cut.

    Each publishes and delivers as many events as when it was recorded.
    """
    assert (CAMPAIGN.clusters, CAMPAIGN.members, CAMPAIGN.seconds) == FULL_SIZE
    broken: list[str] = []
    given: list[Recorded] = []
    for seed in range(first, first + PER_CHUNK):
        report = run(CAMPAIGN, seed, codec_share=50 if seed % SEEDS_PER_CODEC_CHECK == 0 else 0)
        judged = report.judgement
        figures = (
            f"seed {seed:3}: {report.crashes} crashes ({report.wipes} wiped), {report.partitions} partitions, "
            f"{judged.obligations:,} obligations, {judged.lost} lost, {judged.duplicates} duplicates, "
            f"failover {judged.failover_heartbeats_max:.1f} H, owner {judged.owner_replaced_heartbeats_max:.1f} H, "
            f"{len(report.findings)} violations, {report.cpu_seconds:.0f} s; {', '.join(report.schedules)}"
        )
        record_property("campaign", figures)
        broken += [f"seed {seed}: {finding.invariant}: {finding.text}" for finding in report.findings]
        given.append(Recorded.of(report))
    assert not broken
    assert given == [recorded()[one.seed] for one in given]
