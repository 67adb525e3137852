"""What acknowledged events owe: the promise behind an acknowledgement is the storing that it speaks of.

A pair is (event, subscription). `at_most_once` promises nothing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

_ACK = ("wall_us", "ticks", "process", "sequence", "peer", "copies")
_STORE = ("wall_us", "ticks", "process", "sequence", "count", "cluster", "guarantee")


def acknowledged(tables: Tables) -> DataFrame:
    """One row per acknowledged event: its first acknowledgement, and the storing that this speaks of.

    The storing is the one by the peer that the acknowledgement names, else the last before it, in the order of the
    hybrid clock, which extends "happened before". `process`, `sequence`, `stored_us`, `owed` (how many subscriptions),
    `cluster` and `guarantee` are of the `store` record, and empty where there is none. Several audits ask for this: it
    is worth keeping.
    """
    acks = tables.of(Kind.ACKNOWLEDGE).groupBy("event").agg(F.min(F.struct(*_ACK)).alias("ack"))
    stores = tables.of(Kind.STORE).select("event", "node", F.struct(*_STORE).alias("store"))
    is_before = F.struct("store.wall_us", "store.ticks") <= F.struct("ack.wall_us", "ack.ticks")
    is_named = F.coalesce(F.col("node") == F.col("ack.peer"), F.lit(False)).alias("is_named")
    behind = F.max(F.when(is_before, F.struct(is_named, "store"))).alias("behind")
    both = acks.join(stores, "event", "left").groupBy("event").agg(F.min("ack").alias("ack"), behind)
    return both.select(
        "event",
        F.col("ack.wall_us").alias("acked_us"),
        F.col("ack.ticks").alias("acked_ticks"),
        F.col("ack.process").alias("acked_process"),
        F.col("ack.sequence").alias("acked_sequence"),
        F.col("ack.copies").alias("copies"),
        F.col("behind.store.wall_us").alias("stored_us"),
        F.col("behind.store.process").alias("process"),
        F.col("behind.store.sequence").alias("sequence"),
        F.col("behind.store.count").alias("owed"),
        F.col("behind.store.cluster").alias("cluster"),
        F.col("behind.store.guarantee").alias("guarantee"),
    )


def debts(acks: DataFrame) -> DataFrame:
    """Of acknowledged events those that promise something, shown by their `store` record."""
    promised = F.col("guarantee") == Guarantee.EFFECTIVELY_ONCE.value
    return acks.where(promised).withColumn("wall_us", F.col("stored_us"))


def reached_pairs(tables: Tables) -> DataFrame:
    """Pairs that need nothing more: handed over, ended with an outcome other than `delivered`, or held back to the end.

    That an owner was told `delivered` is not enough: the subscriber's own record is what counts.
    """
    told = tables.of(Kind.DELIVER, Kind.OUTCOME)
    counts = (F.col("kind") == Kind.DELIVER.value) | (F.col("reason") != Outcome.DELIVERED.value)
    named = F.col("event").isNotNull() & F.col("subscription").isNotNull()
    reached = told.where(counts & named).select("event", "subscription")
    return reached.unionByName(held_back_pairs(tables)).distinct()


def held_back_pairs(tables: Tables) -> DataFrame:
    """Pairs of which a subscriber said `delivered` and that it held back until it ended, for want of a verdict.

    Nothing is owed to a process that has ended. Only a trace that is whole shows that no verdict came.
    """
    said = tables.of(Kind.OUTCOME).where(F.col("reason") == Outcome.DELIVERED.value).select("event", "subscription")
    is_whole = F.col("is_closed") & (F.col("missing") == 0) & (F.col("first_sequence") == 1)
    whole = tables.processes.where(is_whole).select(F.col("process").alias("_whole"))
    answered = tables.of(Kind.VERDICT).select("subscription").distinct()
    unanswered = tables.of(Kind.SUBSCRIBE).join(answered, "subscription", "left_anti")
    unanswered = unanswered.join(F.broadcast(whole), F.col("process") == F.col("_whole"), "left_semi")
    return said.join(F.broadcast(unanswered.select("subscription")), "subscription", "left_semi").select(*said.columns)


def discharges(tables: Tables) -> DataFrame:
    """When an owner let go of a deed: an event with as many matches."""
    let_go = tables.of(Kind.DISCHARGE).groupBy("event", F.col("count").alias("owed"))
    return let_go.agg(F.min("wall_us").alias("discharged_us"))
