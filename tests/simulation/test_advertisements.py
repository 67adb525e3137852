"""Advertisements under faults: what running peers advertise is what every super-node knows in the end (S9)."""

from __future__ import annotations

import pytest

from sims.scenarios.run import run
from sims.scenarios.scenario import Scenario
from sims.workloads.load import Load

LOAD = Load(subscriptions=24, events_per_second=10.0, advertised_per_second=0.5)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_advertisement_is_forgotten_or_lingers_among_crashes_and_cuts(seed: int) -> None:
    """Nor is anything else broken by them."""
    faults = ("crash", "partition", "loss", "duplicate", "wipe")
    assert run(Scenario(clusters=3, members=4, seconds=120.0, faults=faults, load=LOAD), seed).findings == []
