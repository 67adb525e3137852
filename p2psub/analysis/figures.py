"""The headline of an analysis: the figures that `p2psub analyze --json` prints first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.casts import BROADCAST, cast_totals, casts
from p2psub.analysis.answers.coverage import SUMS, coverage, coverage_totals
from p2psub.analysis.answers.duplicates import duplicate_totals
from p2psub.analysis.answers.earnings import earning_totals, earnings
from p2psub.analysis.answers.latency import ALL, latency
from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.parallel import ask_at_once
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind


class LatencyMs(msgspec.Struct, frozen=True):
    """From `publish` to `deliver`; None if nothing was delivered."""

    p50: float | None = None
    p99: float | None = None
    max: float | None = None


class Figures(msgspec.Struct, frozen=True):
    """One trace in a few numbers. A share of nothing is None."""

    published: int
    """Events, with those that are traced by their number only."""
    matched: int
    """Pairs of an event and a subscription; of acknowledged events those that were owed. Traced events only."""
    delivered: int
    """Distinct pairs handed over. Traced events only."""
    delivered_untraced: int
    """Hand-overs that are traced by their number only."""
    lost: int
    unknown: int
    """Pairs whose end may lie in a part of the trace that is missing."""
    still_owed: int
    ended: int
    missed: int
    """Pairs of `at_most_once` events, which promise nothing, that were not handed over."""
    coverage: float | None
    """Hyper's formula 1 over pairs."""
    on_time: int
    """Promised pairs that were handed over, as the next four each counted once."""
    expired: int
    hopeless: int
    earned: float
    penalties: float
    duplicates: int
    duplicate_rate: float | None
    """Hyper's formula 2 over all nodes."""
    casts: int
    cast_coverage: float | None
    """Hyper's formula 1 over super-nodes, as the paper has it; broadcasts."""
    cast_duplicate_rate: float | None
    messages_per_cast: float | None
    """Of broadcasts: N - 1 is the least."""
    hops_max: int | None
    latency_ms: LatencyMs


def figures(tables: Tables, known: Mapping[str, DataFrame] = MappingProxyType({})) -> Figures:
    """All of them; a few small results come to the driver. Answers that are `known`, by name, are not asked again."""
    known = {**_judged(tables, known), **known}
    rows = dict(
        ask_at_once(
            {
                "covered": lambda: coverage_totals(tables, known["coverage"]).collect(),
                "earned": lambda: earning_totals(known.get("earnings", earnings(tables))).collect(),
                "repeated": lambda: duplicate_totals(tables, known.get("duplicates")).collect(),
                "per_payload": lambda: cast_totals(tables, known["casts"]).collect(),
                "counted": lambda: _counts(tables).collect(),
                "latency": lambda: _overall(known["latency"] if "latency" in known else latency(tables)).collect(),
            }
        )
    )
    sums = {name: sum(row[name] for row in rows["covered"]) for name in ("matched", *SUMS)}
    claims, per_payload = sums["claims"], rows["per_payload"]
    (repeated,), (counted,), (earned,) = rows["repeated"], rows["counted"], rows["earned"]
    broadcasts = next((row for row in per_payload if row["payload"] == BROADCAST), None)
    return Figures(
        published=counted["published"],
        matched=sums["matched"],
        delivered=sums["delivered"],
        delivered_untraced=counted["untraced"],
        **{name: sums[name] for name in ("lost", "unknown", "still_owed", "ended", "missed")},
        coverage=(claims - sums["lost"] - sums["missed"]) / claims if claims else None,
        **earned.asDict(),
        duplicates=repeated["repeated"],
        duplicate_rate=repeated["rate"],
        casts=sum(row["casts"] for row in per_payload),
        cast_coverage=None if broadcasts is None else broadcasts["coverage"],
        cast_duplicate_rate=repeated["casts_rate"],
        messages_per_cast=None if broadcasts is None else broadcasts["messages_per_cast"],
        hops_max=max((row["hops_max"] for row in per_payload if row["hops_max"] is not None), default=None),
        latency_ms=LatencyMs(*(us / 1_000 for row in rows["latency"] for us in row)),
    )


def _judged(tables: Tables, known: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The answers that need to know where the trace is silent, which is found out once."""
    if {"coverage", "casts"} <= known.keys():
        return {}
    context = AuditContext(silent_spans=SilentSpans.of(tables))
    return {"coverage": coverage(tables, context), "casts": casts(tables, context)}


def _overall(took: DataFrame) -> DataFrame:
    is_it = (F.col("measure") == "delivery") & (F.col("guarantee") == ALL)
    return took.where(is_it).select("p50_us", "p99_us", "max_us")


def _counts(tables: Tables) -> DataFrame:
    is_many = F.coalesce(F.col("reason") == Reason.UNTRACED.value, F.lit(False))
    is_published = F.col("kind") == Kind.PUBLISH.value
    times = F.when(is_many, F.col("count")).otherwise(1)
    return tables.of(Kind.PUBLISH, Kind.DELIVER).agg(
        F.coalesce(F.sum(F.when(is_published, times)), F.lit(0)).alias("published"),
        F.coalesce(F.sum(F.when(is_many & ~is_published, F.col("count"))), F.lit(0)).alias("untraced"),
    )
