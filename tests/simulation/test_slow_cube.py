"""Slow links between clusters, offered more than they carry: each body goes over each of them once, and all arrive."""

from __future__ import annotations

from pathlib import Path

import pytest

from sims.scenarios.campaign import figures
from sims.scenarios.run import run
from sims.scenarios.scenario import read_scenario

SLOW_CUBE = Path(__file__).parents[2] / "sims/scenarios/files/slow_cube.toml"
SILENCE_MS_MAX = 2_500
"""A heartbeat, and the largest message ahead of the second of two."""


@pytest.mark.parametrize(
    "seed", [0, 2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_every_body_goes_over_a_link_once_and_all_is_discharged(seed: int) -> None:
    """16 kB/s, then 100, at 0.6 and 1.2 times that; heartbeats wait for no more than one message."""
    report = run(read_scenario(SLOW_CUBE), seed)
    shown = figures([report])
    assert report.findings == []
    assert (shown["content_copies"], shown["discharged_share"]) == (1.0, 1.0)
    assert report.carried.beat_gap_us_max < SILENCE_MS_MAX * 1000
