"""Liveness (QoS 3.3): what is published while a matching subscription is stable reaches it within D_diff.

Counted are acknowledged events whose publication + D_diff lies inside the subscription's stable interval: from its
verdict to its end, or to the last record of its process, whichever comes first. Times are of the hybrid clock; what
lies between two hosts contains the offset of their clocks. A channel that its application leaves full for longer than
D_diff shows here too, for nothing tells it apart in a trace.

Without `--rematch` late hand-overs are found; what was never handed over is found with it. A pair that ended with
another outcome is none of this property's.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.latency import STABLE
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.debts import debts, reached_pairs
from p2psub.analysis.doubts import is_hidden_after
from p2psub.analysis.tables import Tables, process_of
from p2psub.analysis.terms import NOTHING_TOLD, Terms
from p2psub.model.content import Guarantee
from p2psub.model.records import Kind


def audit(tables: Tables, terms: Terms = NOTHING_TOLD) -> DataFrame:
    """Hand-overs that came too late, or not at all."""
    found = [_late(tables, terms.d_diff_us)]
    if terms.pairs is not None:
        found.append(_never(tables, terms.pairs, terms))
    return united(found)


def _published(tables: Tables) -> DataFrame:
    promised = tables.of(Kind.PUBLISH).where(F.col("guarantee") == Guarantee.EFFECTIVELY_ONCE.value)
    return promised.select("event", F.col("wall_us").alias("published_us"))


def _late(tables: Tables, d_diff_us: int) -> DataFrame:
    delivered = tables.of(Kind.DELIVER).where(F.col("event").isNotNull())
    delivered = delivered.select("event", "subscription", "process", "sequence", "wall_us")
    late = delivered.join(_published(tables), "event").where(F.col("wall_us") - F.col("published_us") > d_diff_us)
    late = late.join(tables.of(Kind.ACKNOWLEDGE).select("event"), "event", "left_semi")
    stable = _first(tables, Kind.VERDICT, "stable_us", F.col("reason") == STABLE)
    ended = _first(tables, Kind.UNSUBSCRIBE, "ended_us", F.lit(True))
    beside = late.join(stable, "subscription").join(ended, "subscription", "left")
    ends_inside = F.col("ended_us") < F.col("published_us") + d_diff_us
    beside = beside.where((F.col("stable_us") <= F.col("published_us")) & ~F.coalesce(ends_inside, F.lit(False)))
    seconds = (F.col("wall_us") - F.col("published_us")) / 1_000_000
    text = "{event} reached the stable subscription {subscription} only after %.1f s"
    return finding(beside, "liveness", text, seconds)


def _never(tables: Tables, pairs: DataFrame, terms: Terms) -> DataFrame:
    stable = pairs.where("is_stable").join(reached_pairs(tables), ["event", "subscription"], "left_anti")
    beside = stable.join(debts(terms.acks_of(tables)), "event").join(_published(tables), "event")
    beside = beside.where(F.col("published_us") + terms.d_diff_us <= F.col("over_us"))
    beside = terms.doubts_of(tables).with_hidden_of(beside, process_of(F.col("subscription")))
    text = "{event}, stored by {process}, did not reach the stable subscription {subscription} within %.0f s"
    seconds = F.lit(terms.d_diff_us / 1_000_000)
    return finding(beside, "liveness", text, seconds, is_unknown=is_hidden_after(F.col("began_us")))


def _first(tables: Tables, kind: Kind, name: str, which: Column) -> DataFrame:
    return tables.of(kind).where(which).groupBy("subscription").agg(F.min("wall_us").alias(name))
