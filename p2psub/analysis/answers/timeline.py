"""Who ruled when: the reigns of every cluster, and the times between them in which nobody did."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind

BEGINS = "super_node"


def reigns(tables: Tables) -> DataFrame:
    """One row per reign: cluster, epoch_counter, process, node, began_us, ended_us, end.

    `end` is the reason of the `role` record that ended it, else `closed` or `cut`: then it lasted until the last
    record of its process.
    """
    own = Window.partitionBy("process").orderBy("sequence")
    roles = tables.of(Kind.ROLE).select(
        "cluster",
        "epoch_counter",
        "process",
        "node",
        "reason",
        F.col("wall_us").alias("began_us"),
        F.lead("wall_us").over(own).alias("next_us"),
        F.lead("reason").over(own).alias("next_reason"),
    )
    process = tables.processes.select("process", "last_us", "is_closed")
    unsaid = F.when(F.col("is_closed"), "closed").otherwise("cut")
    return (
        roles.where(F.col("reason") == BEGINS)
        .join(F.broadcast(process), "process", "left")
        .select(
            "cluster",
            "epoch_counter",
            "process",
            "node",
            "began_us",
            F.coalesce("next_us", "last_us").alias("ended_us"),
            F.coalesce("next_reason", unsaid).alias("end"),
        )
    )


def timeline(tables: Tables) -> DataFrame:
    """The reigns in order, each with `vacant_us`: how long its cluster had been without one before it.

    0 where two reigns overlap; null for a cluster's first reign. A failover is a reign that is not the first.
    """
    before = Window.partitionBy("cluster").orderBy("began_us", "process").rowsBetween(Window.unboundedPreceding, -1)
    ruled_until_us = F.max("ended_us").over(before)
    vacant_us = F.when(ruled_until_us.isNotNull(), F.greatest(F.col("began_us") - ruled_until_us, F.lit(0)))
    named = reigns(tables).join(F.broadcast(tables.nodes), "node", "left")
    return named.select(
        "cluster", "epoch_counter", "process", "node", "id", "began_us", "ended_us", "end", vacant_us.alias("vacant_us")
    ).orderBy("cluster", "began_us")
