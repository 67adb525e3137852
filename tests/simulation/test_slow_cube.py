"""Slow links between clusters, offered more than they carry: each body goes over each of them once, and all arrive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from p2psub.casts.ways import Ways
from p2psub.model.ways import NO_WAY, Way
from sims.scenarios.campaign import figures
from sims.scenarios.run import run
from sims.scenarios.scenario import read_scenario

SLOW_CUBE = Path(__file__).parents[2] / "sims/scenarios/files/slow_cube.toml"
SILENCE_MS_MAX = 2_500
"""A heartbeat, and the largest message ahead of the second of two."""


def every_way(ways: Ways) -> list[Way]:
    """All that one super-node was told."""
    clusters = [entry.cluster for entry in ways._directory.present()]
    told = [ways.beyond(entry.super_node.id, cluster) for entry in ways._directory.present() for cluster in clusters]
    return [way for way in told if way != NO_WAY]


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


def test_super_nodes_know_how_long_the_way_to_each_cluster_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """From what drained alone: a KB takes 62.5 ms on one link of 16 kB/s, and as long again on the next."""
    known: dict[int, Ways] = {}
    tell = Ways.tell

    def noted(self: Ways, *args: Any) -> None:
        known[id(self)] = self
        tell(self, *args)

    monkeypatch.setattr(Ways, "tell", noted)
    scenario = replace(read_scenario(SLOW_CUBE), cube_bandwidths=(16_000,), cube_loads=(0.6,), seconds=130.0)
    report = run(scenario, 0)
    assert report.findings == []
    told = [way.mean_us_per_kb / 62_500 for ways in known.values() for way in every_way(ways)]
    assert len(told) >= 12
    assert all(abs(links - round(links)) < 0.2 and round(links) in (1, 2) for links in told), told
