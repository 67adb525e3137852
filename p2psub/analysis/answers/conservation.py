"""Conservation: nothing comes out of nowhere, and nothing goes without a trace.

    received   casts forwarded to a node = new + repeated + gone (refused, lost on the link, or not in the trace)
    matched    pairs expected + beyond = delivered + ended + still owed + unknown + lost + missed

`difference` is left minus right; it must be 0 for `matched`. For `received` it is what went missing on the way; below
0 it says that something arrived which no peer sent, as far as the trace knows.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.casts import REPEATED
from p2psub.analysis.answers.coverage import coverage
from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind


def conservation(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row per law and where it is applied: law, at (node id or guarantee), total, taken, other, open, difference.

    received: total = forwarded to it, taken = new, other = repeated. matched: taken = delivered, other = ended.
    """
    return received(tables).unionAll(matched(tables, known))


def received(tables: Tables) -> DataFrame:
    """Casts, per node."""
    sent = tables.of(Kind.FORWARD).groupBy(F.col("peer").alias("node")).agg(F.count("*").alias("sent"))
    arrivals = tables.of(Kind.RECEIVE, Kind.DUPLICATE).where(
        (F.col("kind") == Kind.RECEIVE.value) | (F.col("reason") == REPEATED)
    )
    is_new = F.col("kind") == Kind.RECEIVE.value
    got = arrivals.groupBy("node").agg(
        F.sum(is_new.cast("int")).alias("taken"), F.sum((~is_new).cast("int")).alias("other")
    )
    both = sent.join(got, "node", "full").fillna(0, ["sent", "taken", "other"])
    return both.join(F.broadcast(tables.nodes), "node", "left").select(
        F.lit("received").alias("law"),
        F.col("id").alias("at"),
        F.col("sent").alias("total"),
        "taken",
        "other",
        F.lit(0).cast("long").alias("open"),
        (F.col("sent") - F.col("taken") - F.col("other")).alias("difference"),
    )


def matched(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """Pairs of events that somebody had a claim to, per guarantee; `known` is the coverage, if it was asked for."""
    claimed = (coverage(tables) if known is None else known).where("expected is not null").groupBy("guarantee")
    sums = claimed.agg(
        F.sum(F.col("expected") + F.col("beyond")).alias("total"),
        F.sum("delivered").alias("taken"),
        F.sum("ended").alias("other"),
        F.sum(F.col("lost") + F.col("unknown") + F.col("still_owed") + F.col("missed")).alias("open"),
    )
    right = F.col("taken") + F.col("other") + F.col("open")
    return sums.select(
        F.lit("matched").alias("law"),
        F.col("guarantee").alias("at"),
        "total",
        "taken",
        "other",
        "open",
        (F.col("total") - right).alias("difference"),
    )
