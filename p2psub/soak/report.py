"""What a soak showed, for people and programs."""

from __future__ import annotations

import os
import platform

import msgspec

from p2psub.compiled import is_compiled
from p2psub.soak.plan import MEMBERS, PUBLISHERS, TOPICS, WISHES, SoakPlan


class SoakSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Under which conditions figures were found."""

    rate_per_s: float
    seconds_per_round: float
    seed: int
    patience_s: float
    members: dict[str, int]
    """Of each cluster."""
    publishers: int
    topics: int
    subscriptions: int
    cpus: int
    load_average: float
    """Of the machine, over a minute, when it began."""
    python: str
    compiled: bool
    """Whether peers were of the compiled wheel."""


class SoakReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `lost` and `duplicates` are of pairs of event and subscription, by the books and not by traces."""

    rounds: int
    kills: dict[str, int]
    """By role."""
    published: int
    acknowledged: int
    refused: dict[str, int]
    """By reason; with `acknowledged` all that was published."""
    received: int
    lost: int
    duplicates: int
    unwanted: int
    out_of_order: int
    """Arrivals after a later acknowledged event of the same publisher on the same topic; order was asked for."""
    is_settled: bool
    """Whether the overlay was formed and owed nothing before patience ended."""
    rss_mb_max: float
    """Of the largest peer at any time."""
    trace_bytes: int
    audit_violations: int | None
    """None where PySpark is not installed."""
    audit_undecided: int | None
    """What the audits cannot tell: a killed peer takes the last second of its trace along."""
    audit_seconds: float | None
    settings: SoakSettings

    @property
    def is_sound(self) -> bool:
        """No promise was broken."""
        broken = self.lost + self.duplicates + self.unwanted + self.out_of_order + (self.audit_violations or 0)
        return self.is_settled and not broken


def soak_settings_of(plan: SoakPlan) -> SoakSettings:
    """The conditions of a run that begins now."""
    return SoakSettings(
        rate_per_s=plan.rate_per_s,
        seconds_per_round=plan.seconds_per_round,
        seed=plan.seed,
        patience_s=plan.patience_s,
        members=MEMBERS,
        publishers=len(PUBLISHERS),
        topics=len(TOPICS),
        subscriptions=len(WISHES),
        cpus=os.cpu_count() or 1,
        load_average=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        compiled=is_compiled(),
    )
