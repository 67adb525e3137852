"""Load balance: who does how much, over the ring and over the cube."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.tables import Tables
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind

_WORK: Final = {
    "published": Kind.PUBLISH,
    "owned": Kind.STORE,
    "kept": Kind.COPY,
    "delivered": Kind.DELIVER,
    "forwarded": Kind.FORWARD,
    "received": Kind.RECEIVE,
}
MEASURES: Final = ("records", *_WORK)
_RING_DIGITS: Final = 13
"""Of an id's hex digits: as many as a double holds exactly."""


def load(tables: Tables) -> DataFrame:
    """One row per node: id, place on its ring (0 to 1), cluster, prefix in the cube, records, and work by kind.

    Of events that are traced by their number only (`untraced`), the numbers count.
    """
    is_many = F.coalesce(F.col("reason") == Reason.UNTRACED.value, F.lit(False))
    # Only three kinds have such records; the others are counted without looking at them.
    sampled = (Kind.PUBLISH, Kind.MATCH, Kind.DELIVER)
    is_sampled = F.col("kind").isin([kind.value for kind in sampled])
    few = tables.records.where(~is_sampled).groupBy("node", "kind").agg(
        F.count("*").alias("records"), F.count("*").alias("times")
    )  # fmt: skip
    many = tables.records.where(is_sampled).groupBy("node", "kind").agg(
        F.count("*").alias("records"), F.sum(F.when(is_many, F.col("count")).otherwise(1)).alias("times")
    )  # fmt: skip
    work = few.unionAll(many).groupBy("node").agg(
        F.sum("records").alias("records"),
        *(F.sum(F.when(F.col("kind") == kind.value, F.col("times")).otherwise(0)).alias(name)
          for name, kind in _WORK.items()),
    )  # fmt: skip
    place = F.conv(F.substring("id", 1, _RING_DIGITS), 16, 10).cast("double") / float(16**_RING_DIGITS)
    return (
        work.join(F.broadcast(tables.nodes), "node", "left")
        .join(F.broadcast(_clusters(tables)), "node", "left")
        .join(F.broadcast(_prefixes(tables)), "cluster", "left")
        .select("node", "id", place.alias("ring"), "cluster", "prefix", *MEASURES)
        .orderBy("node")
    )


def load_by_cluster(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row per cluster, with its prefix: nodes, and the sums of `load`, `known` if it was asked for."""
    sums = (F.sum(name).alias(name) for name in MEASURES)
    by = (load(tables) if known is None else known).groupBy("cluster", "prefix")
    return by.agg(F.count("*").alias("nodes"), *sums).orderBy("cluster")


def load_balance(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row per measure over all nodes: total, mean, max, max over mean, coefficient of variation, Gini.

    Gini is 0 where all nodes do the same, and nears 1 where one does everything.
    """
    each = F.explode(F.create_map(*(part for name in MEASURES for part in (F.lit(name), F.col(name)))))
    long = (load(tables) if known is None else known).select("node", each.alias("measure", "work"))
    ranked = long.select("*", F.row_number().over(Window.partitionBy("measure").orderBy("work", "node")).alias("rank"))
    nodes, total = F.count("*"), F.sum("work")
    gini = 2 * F.sum(F.col("rank") * F.col("work")) / (nodes * total) - (nodes + 1) / nodes
    return (
        ranked.groupBy("measure")
        .agg(
            nodes.alias("nodes"),
            total.alias("total"),
            F.avg("work").alias("mean"),
            F.max("work").alias("max"),
            F.when(total > 0, F.max("work") / F.avg("work")).alias("max_over_mean"),
            F.when(total > 0, F.stddev_pop("work") / F.avg("work")).alias("variation"),
            F.when(total > 0, gini).alias("gini"),
        )
        .orderBy("measure")
    )


def _clusters(tables: Tables) -> DataFrame:
    """The cluster a node was in last, by its own word."""
    told = tables.of(Kind.RING, Kind.ROLE, Kind.STORE).where("cluster is not null")
    return told.groupBy("node").agg(F.max_by("cluster", "wall_us").alias("cluster"))


def _prefixes(tables: Tables) -> DataFrame:
    """The prefix of a cluster in the cube, as anybody heard last."""
    heard = tables.of(Kind.DIRECTORY).where("cluster is not null")
    return heard.groupBy("cluster").agg(F.max_by("prefix", "wall_us").alias("prefix"))
