"""Duplicates: what arrived again, where, and why.

Hyper's formula 2, P_repeating = g_repeating / g_new: at one node, the messages that it got again over those that it
got as new; for the whole network, the sums of both over all nodes. A message is, by our reading, whatever a node
takes once: a cast (`receive`), an event at its owner (`store`), an event for a subscription (`deliver`). The paper
measures casts; they have columns of their own.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.casts import REPEATED
from p2psub.analysis.tables import Tables
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind

_NEW = (Kind.RECEIVE, Kind.STORE, Kind.DELIVER)


def duplicates(tables: Tables) -> DataFrame:
    """One row per node that got anything: new, repeated, rate; the same for casts alone."""
    counted = _counts(tables).groupBy("node").agg(*_sums())
    named = counted.join(F.broadcast(tables.nodes), "node", "left")
    return named.select("node", "id", "new", "repeated", _rate("repeated", "new").alias("rate"), *_of_casts()).orderBy(
        "node"
    )


def duplicate_totals(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row: the same over all nodes (`known` if it was asked for), and the mean of the nodes' rates."""
    rate = F.avg(_rate("repeated", "new")).alias("mean_rate")
    per_node = _counts(tables).groupBy("node").agg(*_sums()) if known is None else known
    totals = per_node.agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("new", "repeated", "casts_new", "casts_repeated")),
        rate,
    )
    return totals.select("new", "repeated", _rate("repeated", "new").alias("rate"), "mean_rate", *_of_casts())


def duplicate_causes(tables: Tables) -> DataFrame:
    """Why things arrived again: reason, nodes that saw it, and how often."""
    weight = F.coalesce("count", F.lit(1))
    return (
        tables.of(Kind.DUPLICATE)
        .groupBy("reason")
        .agg(F.sum(weight).alias("repeated"), F.countDistinct("node").alias("nodes"))
        .orderBy("reason")
    )


def _counts(tables: Tables) -> DataFrame:
    """Per node, kind and reason. Events that are not traced one by one come as one record with a count."""
    many = F.sum(F.coalesce("count", F.lit(1)))
    repeated = tables.of(Kind.DUPLICATE).groupBy("node", "kind", "reason").agg(many.alias("times"))
    reason = F.lit(None).cast("string")
    of_kinds = tables.of(Kind.RECEIVE, Kind.STORE).groupBy("node", "kind").agg(F.count("*").alias("times"))
    untraced = (F.col("reason") == Reason.UNTRACED.value) & F.col("reason").isNotNull()
    delivered = F.sum(F.when(untraced, F.col("count")).otherwise(1)).alias("times")
    handed_over = tables.of(Kind.DELIVER).groupBy("node", "kind").agg(delivered)
    new = of_kinds.unionAll(handed_over).select("node", "kind", reason.alias("reason"), "times")
    return repeated.unionAll(new)


def _sums() -> list[Column]:
    times, kind = F.col("times"), F.col("kind")
    is_new = kind.isin([known.value for known in _NEW])
    repeated = kind == Kind.DUPLICATE.value
    columns = {
        "new": is_new,
        "repeated": repeated,
        "casts_new": kind == Kind.RECEIVE.value,
        "casts_repeated": repeated & (F.col("reason") == REPEATED),
    }
    return [F.sum(F.when(is_it, times).otherwise(0)).alias(name) for name, is_it in columns.items()]


def _of_casts() -> list[Column]:
    rate = _rate("casts_repeated", "casts_new").alias("casts_rate")
    return [F.col("casts_new"), F.col("casts_repeated"), rate]


def _rate(repeated: str, new: str) -> Column:
    """Formula 2; null where nothing new came."""
    return F.when(F.col(new) > 0, F.col(repeated) / F.col(new))
