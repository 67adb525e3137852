"""Who led when: the terms of every cluster in order, and the times between them without a super-node."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.tables import Tables
from p2psub.analysis.terms import terms


def timeline(tables: Tables) -> DataFrame:
    """The terms in order, each with `vacant_us`: how long its cluster had been without one before it.

    0 where two terms overlap; null for a cluster's first term. A failover is a term that is not the first.
    """
    before = Window.partitionBy("cluster").orderBy("began_us", "process").rowsBetween(Window.unboundedPreceding, -1)
    ruled_until_us = F.max("ended_us").over(before)
    vacant_us = F.when(ruled_until_us.isNotNull(), F.greatest(F.col("began_us") - ruled_until_us, F.lit(0)))
    named = terms(tables).join(F.broadcast(tables.nodes), "node", "left")
    return named.select(
        "cluster", "epoch_counter", "process", "node", "id", "began_us", "ended_us", "end", vacant_us.alias("vacant_us")
    ).orderBy("cluster", "began_us")
