"""What a run showed, for people and programs."""

from __future__ import annotations

from typing import Any

import msgspec

from p2psub.demo.overview import Overview
from p2psub.demo.plan import DemoPlan
from p2psub.demo.tally import DeliveryFigures
from p2psub.demo.trace_counts import TraceCounts
from p2psub.model.status import Role


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """A peer that got SIGKILL, and what it was then."""

    name: str
    cluster: str
    role: Role


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Pairs are of an event and a subscription; latency is from the call of publish to the arrival."""

    seed: int
    peers: int
    """Started; the others are of those that live at the end."""
    clusters: int
    super_nodes: int
    subscriptions: int
    published: int
    acknowledged: int
    matched: int
    expected: int
    delivered: int
    lost: int
    duplicates: int
    unwanted: int
    wire_duplicates: int
    coverage: float
    failovers: int
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    killed: tuple[Killed, ...]
    seconds: dict[str, float]
    """How long each stage took."""
    trace_dir: str
    analysis: dict[str, Any] | None = None
    """What `p2psub analyze --json` says of the traces; None where PySpark is not installed."""

    @property
    def is_sound(self) -> bool:
        """Every event was acknowledged and handed over, once, to its subscribers, and no audit failed."""
        is_audited = self.analysis is None or not self.analysis["violated"]
        return is_audited and not (self.lost or self.duplicates or self.unwanted or self.acknowledged < self.published)


def make_report(
    plan: DemoPlan,
    overview: Overview,
    figures: DeliveryFigures,
    traced: TraceCounts,
    killed: list[Killed],
    seconds: dict[str, float],
    trace_dir: str,
    analysis: dict[str, Any] | None,
) -> DemoReport:
    """Put together what was counted in different places."""
    return DemoReport(
        seed=plan.seed,
        peers=plan.peers,
        clusters=overview.clusters,
        super_nodes=overview.super_nodes,
        subscriptions=plan.subscriptions,
        **figures._asdict(),
        coverage=figures.coverage,
        **traced._asdict(),
        killed=tuple(killed),
        seconds=seconds,
        trace_dir=trace_dir,
        analysis=analysis,
    )
