"""How long things took, from end to end (QoS 3.1 to 3.3). Between hosts the offset of their clocks is in it.

    delivery   from `publish` to each `deliver`
    D_diff     from `publish` to the last `deliver` of an event: how long the event took to spread. The paper's D_diff
               is the greatest that may be; here its greatest and its distribution
    D_sub      from `subscribe` to the first verdict that it is stable and active: from then on it misses nothing

A hand-over whose `publish` is not in the trace has no latency.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.histograms import histogram, percentiles
from p2psub.analysis.tables import Tables
from p2psub.model.content import DeclarationState, Guarantee
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.records import Kind

ALL: Final = "all"


def latency(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row per measure and guarantee (`all`: whatever it is): count, min, p50, p90, p99, p99.9, max, mean, in us."""
    return percentiles(latency_buckets(tables) if known is None else known, "measure", "guarantee").orderBy(
        "measure", "guarantee"
    )


def latency_buckets(tables: Tables) -> DataFrame:
    """The histograms behind `latency`, by measure and guarantee."""
    numbered = histogram(_of_events(tables), "measure", "guarantee")
    per_guarantee = numbered.withColumn("guarantee", _name_of(F.col("guarantee")))
    # Adding up buckets is cheaper than going over all hand-overs again.
    of_all = per_guarantee.groupBy("measure", F.lit(ALL).alias("guarantee"), "bucket").agg(
        F.sum("spans").alias("spans"),
        F.min("least_us").alias("least_us"),
        F.max("greatest_us").alias("greatest_us"),
        F.sum("sum_us").alias("sum_us"),
    )
    d_sub = histogram(_of_subscriptions(tables), "measure", "guarantee")
    return per_guarantee.unionAll(of_all).unionAll(d_sub)


def _of_events(tables: Tables) -> DataFrame:
    """One row per hand-over and one per event that was handed over."""
    # Both sides are brought together once, and used twice; a hash of the events is cheaper than sorting all hand-overs.
    # Spark asks by itself for a time wherever it computes with one: asked for in both uses, they remain the same.
    published = (
        tables.of(Kind.PUBLISH)
        .where("event is not null")
        .select("event", F.col("wall_us").alias("published_us"), _number_of(F.col("guarantee")).alias("guarantee"))
        .repartition("event")
        .hint("shuffle_hash")
    )
    delivered = tables.of(Kind.DELIVER).where("event is not null and wall_us is not null")
    delivered = delivered.select("event", "wall_us").repartition("event")
    spans = delivered.join(published, "event").select(
        F.lit("delivery").alias("measure"), "guarantee", (F.col("wall_us") - F.col("published_us")).alias("us")
    )
    last = delivered.groupBy("event").agg(F.max("wall_us").alias("last_us"))
    spread = last.join(published, "event").select(
        F.lit("D_diff").alias("measure"), "guarantee", (F.col("last_us") - F.col("published_us")).alias("us")
    )
    return spans.unionAll(spread)


def _number_of(guarantee: Column) -> Column:
    return (guarantee == Guarantee.EFFECTIVELY_ONCE.value).cast("int")


def _name_of(guarantee: Column) -> Column:
    return F.when(guarantee == 1, Guarantee.EFFECTIVELY_ONCE.value).when(guarantee == 0, Guarantee.AT_MOST_ONCE.value)


def is_stable() -> Column:
    """Of a `verdict`: whether the subscription stands everywhere from it on."""
    is_everywhere = F.col("status") == VerdictStatus.STABLE.value
    return is_everywhere & (F.col("state") == DeclarationState.ACTIVE.value)


def _of_subscriptions(tables: Tables) -> DataFrame:
    asked = tables.of(Kind.SUBSCRIBE).groupBy("subscription").agg(F.min("wall_us").alias("asked_us"))
    stable = tables.of(Kind.VERDICT).where(is_stable()).groupBy("subscription").agg(F.min("wall_us").alias("stable_us"))
    return asked.join(stable, "subscription").select(
        F.lit("D_sub").alias("measure"),
        F.lit(ALL).alias("guarantee"),
        (F.col("stable_us") - F.col("asked_us")).alias("us"),
    )
