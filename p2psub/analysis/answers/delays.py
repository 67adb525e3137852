"""Where the time goes on the way: the delay of each stage, and of each link of the cube.

    publish to store        the publisher's queue, the way to the owner, matching, the owner's disk
    store to acknowledge    the copies, and the way back
    store to deliver        the owner's queue, the way to the subscriber, its channel
    forward to receive      one hop of a cast: the link's queue and the link

Clock offsets between hosts are in every stage that crosses a link; over a stage and its way back they cancel.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.histograms import histogram, percentiles
from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind


def delays(tables: Tables) -> DataFrame:
    """One row per stage: count, min, percentiles, max and mean, in us."""
    return percentiles(delay_buckets(tables), "stage").orderBy("stage")


def delay_buckets(tables: Tables) -> DataFrame:
    """The histograms behind `delays`."""
    hops = _hops(tables).select(F.lit("forward to receive").alias("stage"), "us")
    return histogram(_of_events(tables).unionAll(hops), "stage")


def links(tables: Tables) -> DataFrame:
    """One row per link of the cube that a cast went over: from_node, to_node, casts, min_us, mean_us, max_us."""
    return _hops(tables).groupBy("from_node", "to_node").agg(
        F.count("*").alias("casts"),
        F.min("us").alias("min_us"),
        F.avg("us").alias("mean_us"),
        F.max("us").alias("max_us"),
    )  # fmt: skip


def _of_events(tables: Tables) -> DataFrame:
    kinds = (Kind.PUBLISH, Kind.STORE, Kind.ACKNOWLEDGE)
    published_us, stored_us, acknowledged_us = (
        F.min(F.when(F.col("number") == number, F.col("wall_us"))) for number in range(len(kinds))
    )
    number = F.when(F.col("kind") == Kind.PUBLISH.value, 0).when(F.col("kind") == Kind.STORE.value, 1).otherwise(2)
    events = (
        tables.of(*kinds)
        .where("event is not null")
        .select("event", "wall_us", number.alias("number"))
        .repartition("event")
        .groupBy("event")
        .agg(
            stored_us.alias("stored_us"),
            (stored_us - published_us).alias("to_store"),
            (acknowledged_us - stored_us).alias("to_acknowledge"),
        )
        .where("stored_us is not null")
    )
    stages = F.array(
        F.struct(F.lit("publish to store").alias("stage"), F.col("to_store").alias("us")),
        F.struct(F.lit("store to acknowledge").alias("stage"), F.col("to_acknowledge").alias("us")),
    )
    delivered = tables.of(Kind.DELIVER).where("event is not null").select("event", "wall_us").repartition("event")
    handed_over = delivered.join(events.select("event", "stored_us").hint("shuffle_hash"), "event").select(
        F.lit("store to deliver").alias("stage"), (F.col("wall_us") - F.col("stored_us")).alias("us")
    )
    return events.select(F.inline(stages)).unionAll(handed_over)


def _hops(tables: Tables) -> DataFrame:
    """One row per first arrival of a cast; of several tries the last one before it."""
    sent = tables.of(Kind.FORWARD).select(
        "cast",
        "prefix",
        F.col("node").alias("from_node"),
        F.col("peer").alias("to_node"),
        F.col("wall_us").alias("sent_us"),
    )
    got = tables.of(Kind.RECEIVE).select(
        "cast",
        "prefix",
        F.col("peer").alias("from_node"),
        F.col("node").alias("to_node"),
        F.col("wall_us").alias("got_us"),
    )
    name = ["cast", "prefix", "from_node", "to_node"]
    tries = sent.repartition("cast").join(got.repartition("cast").hint("shuffle_hash"), name).where("sent_us <= got_us")
    hops = tries.groupBy(*name).agg(F.max("sent_us").alias("sent_us"), F.max("got_us").alias("got_us"))
    return hops.select("from_node", "to_node", (F.col("got_us") - F.col("sent_us")).alias("us"))
