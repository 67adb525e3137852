"""Liveness (QoS 3.3): what is published while a matching subscription is stable reaches it within D_diff.

Counted are acknowledged events whose publication + D_diff lies inside the subscription's stable interval: from its
verdict to its end, or to the last record of its process, whichever comes first. Times are of the hybrid clock; what
lies between two hosts contains the offset of their clocks. A channel that its application leaves full for longer than
D_diff shows here too, for nothing tells it apart in a trace. What was published while the overlay was in parts is
unknown: the property speaks of a network that carries messages.

Without `--rematch` late hand-overs are found; what was never handed over is found with it. A pair that ended with
another outcome is none of this property's.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.latency import is_stable
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.debts import debts, reached_pairs
from p2psub.analysis.partitions import Partition, with_whole_again
from p2psub.analysis.silent_spans import is_hidden_after
from p2psub.analysis.tables import Tables, process_of
from p2psub.model.content import Guarantee
from p2psub.model.records import Kind


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Hand-overs that came too late, or not at all."""
    d_diff_us = context.d_diff_us_of(tables)
    found = [_late(tables, d_diff_us, context.partitions_of(tables))]
    if context.pairs is not None:
        found.append(_never(tables, context.pairs, context, d_diff_us))
    return united(found)


def _published(tables: Tables) -> DataFrame:
    promised = tables.of(Kind.PUBLISH).where(F.col("guarantee") == Guarantee.EFFECTIVELY_ONCE.value)
    return promised.select("event", F.col("wall_us").alias("published_us"))


def _late(tables: Tables, d_diff_us: int, partitions: list[Partition]) -> DataFrame:
    delivered = tables.of(Kind.DELIVER).where(F.col("event").isNotNull())
    delivered = delivered.select("event", "subscription", "process", "sequence", "wall_us")
    late = delivered.join(_published(tables), "event").where(F.col("wall_us") - F.col("published_us") > d_diff_us)
    late = late.join(tables.of(Kind.ACKNOWLEDGE).select("event"), "event", "left_semi")
    said = _first(tables, Kind.VERDICT, "said_us", is_stable())
    stable = with_whole_again(said, partitions, F.col("said_us")).select(
        "subscription", F.coalesce("whole_again_us", "said_us").alias("stable_us")
    )
    ended = _first(tables, Kind.UNSUBSCRIBE, "ended_us", F.lit(True))
    beside = late.join(stable, "subscription").join(ended, "subscription", "left")
    ends_inside = F.col("ended_us") < F.col("published_us") + d_diff_us
    beside = beside.where((F.col("stable_us") <= F.col("published_us")) & ~F.coalesce(ends_inside, F.lit(False)))
    beside = with_whole_again(beside, partitions, F.col("published_us"))
    seconds = (F.col("wall_us") - F.col("published_us")) / 1_000_000
    text = "{event} reached the stable subscription {subscription} only after %.1f s"
    return finding(beside, "liveness", text, seconds, is_unknown=F.col("whole_again_us").isNotNull())


def _never(tables: Tables, pairs: DataFrame, context: AuditContext, d_diff_us: int) -> DataFrame:
    stable = pairs.where("is_stable").join(reached_pairs(tables), ["event", "subscription"], "left_anti")
    beside = stable.join(debts(context.acks_of(tables)), "event").join(_published(tables), "event")
    beside = beside.where(F.col("published_us") + d_diff_us <= F.col("over_us"))
    silent_spans, is_hidden = context.silent_spans_of(tables), is_hidden_after(F.col("began_us"))
    beside = silent_spans.with_hidden_of(beside, process_of(F.col("subscription"))).withColumn("is_unknown", is_hidden)
    # Another outcome may be hidden at a peer that held the event.
    beside = silent_spans.with_hidden_in_ring(beside).withColumn("is_unknown", F.col("is_unknown") | is_hidden)
    text = "{event}, stored by {process}, did not reach the stable subscription {subscription} within %.0f s"
    seconds = F.lit(d_diff_us / 1_000_000)
    return finding(beside, "liveness", text, seconds, is_unknown=F.col("is_unknown"))


def _first(tables: Tables, kind: Kind, name: str, which: Column) -> DataFrame:
    return tables.of(kind).where(which).groupBy("subscription").agg(F.min("wall_us").alias(name))
