"""Casts: whom each reached, over how many hops, and what that cost against the least possible.

Hyper's formula 1, P_covering = D_receive / D_all. For a broadcast (`ChangePayload`) D_all are the clusters that had a
super-node when it started, without the one it started in: N - 1. A multicast (`EventPayload`) goes to some of them
only; its D_all are those that it was forwarded to. The least number of messages is one per receiver: N - 1 (Hyper 2.1).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.silent_spans import is_hidden_after
from p2psub.analysis.tables import Tables
from p2psub.analysis.terms import terms
from p2psub.model.messages.casts import ChangePayload, EventPayload
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind

BROADCAST: Final = ChangePayload.__name__
MULTICAST: Final = EventPayload.__name__
REPEATED: Final = Reason.CAST_REPEATED.value


def casts(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """One row per cast that a `cast` record started.

    payload, process, started_us
    expected    receivers it should have: see above; at least those that it had
    reached     distinct nodes that received it
    missing     expected - reached; `unknown` where a part of the trace is missing that could hold a `receive`
    coverage    reached / expected; null if there was no cluster to reach
    transfers   messages: every `forward`, repetitions included
    excess      transfers - expected: messages beyond one per receiver
    hops        most on any way
    duplicates  arrivals after the first
    duration_us from its start to the last first arrival
    """
    expected = F.when(F.col("payload") == BROADCAST, _acting_elsewhere()).otherwise(F.col("addressed"))
    missing = F.col("expected") - F.col("reached")
    started = _summed(tables).where(F.col("started_us").isNotNull())
    return (
        context.silent_spans_of(tables)
        .with_hidden_anywhere(started)
        .crossJoin(F.broadcast(_acting(tables)))
        .withColumn("expected", F.greatest(expected, F.col("reached")))
        .select(
            "cast",
            "payload",
            "process",
            "started_us",
            "expected",
            "reached",
            missing.alias("missing"),
            F.when(is_hidden_after(F.col("started_us")), missing).otherwise(0).alias("unknown"),
            F.when(F.col("expected") > 0, F.col("reached") / F.col("expected")).alias("coverage"),
            "transfers",
            (F.col("transfers") - F.col("expected")).alias("excess"),
            "hops",
            "duplicates",
            (F.col("last_us") - F.col("started_us")).alias("duration_us"),
        )
    )


def cast_totals(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row per payload: casts, the sums of `casts` (`known` if it was asked for), messages per cast, the worst."""
    sums = ("expected", "reached", "missing", "unknown", "transfers", "excess", "duplicates")
    sure = F.col("expected") - F.col("unknown")
    return (
        (casts(tables) if known is None else known)
        .groupBy("payload")
        .agg(
            F.count("*").alias("casts"),
            *(F.sum(name).alias(name) for name in sums),
            F.max("hops").alias("hops_max"),
            F.max("duration_us").alias("duration_us_max"),
            F.sum((F.col("excess") == 0).cast("int")).alias("without_excess"),
        )
        .withColumn("coverage", F.when(sure > 0, F.col("reached") / sure))
        .withColumn("messages_per_cast", F.col("transfers") / F.col("casts"))
        .orderBy("payload")
    )


def _summed(tables: Tables) -> DataFrame:
    """Grouped by cast and receiver first, lest a receiver of two subcubes count twice."""
    broadcast, multicast, forward, receive, repeated = range(5)
    number = (
        F.when(_is(Kind.FORWARD), forward)
        .when(_is(Kind.RECEIVE), receive)
        .when(_is(Kind.CAST), F.when(F.col("payload") == BROADCAST, broadcast).otherwise(multicast))
        .when(F.col("reason") == REPEATED, repeated)
    )
    # Numbers only: this is what travels between tasks.
    rows = (
        tables.of(Kind.CAST, Kind.FORWARD, Kind.RECEIVE, Kind.DUPLICATE)
        .where(F.col("cast").isNotNull())
        .select(
            "cast",
            F.when(_is(Kind.FORWARD), F.col("peer")).otherwise(F.col("node")).alias("receiver"),
            "process",
            "wall_us",
            "hops",
            number.alias("number"),
        )
    )
    wall_us, told = F.col("wall_us"), F.col("number")
    is_cast, is_forward, is_receive = told.isin(broadcast, multicast), told == forward, told == receive
    is_repeated = F.coalesce(told == repeated, F.lit(False))
    ways = (
        rows.repartition("cast")
        .groupBy("cast", "receiver")
        .agg(
            F.min(F.when(is_cast, wall_us)).alias("started_us"),
            F.max((told == broadcast).cast("int")).alias("is_broadcast"),
            F.max(F.when(is_cast, F.col("process"))).alias("process"),
            F.sum(F.when(is_forward, 1).otherwise(0)).alias("transfers"),
            F.max(F.when(is_receive, 1).otherwise(0)).alias("is_reached"),
            F.max(F.when(is_receive, F.col("hops"))).alias("hops"),
            F.max(F.when(is_receive, wall_us)).alias("last_us"),
            F.sum(is_repeated.cast("int")).alias("duplicates"),
        )
    )
    return ways.groupBy("cast").agg(
        F.min("started_us").alias("started_us"),
        F.when(F.max("is_broadcast") == 1, BROADCAST).otherwise(MULTICAST).alias("payload"),
        F.max("process").alias("process"),
        F.sum((F.col("transfers") > 0).cast("int")).alias("addressed"),
        F.sum("transfers").alias("transfers"),
        F.sum("is_reached").alias("reached"),
        F.max("hops").alias("hops"),
        F.max("last_us").alias("last_us"),
        F.sum("duplicates").alias("duplicates"),
    )


def _acting(tables: Tables) -> DataFrame:
    """One row with all terms; they are few."""
    one = F.struct("cluster", "process", "began_us", "ended_us")
    return terms(tables).agg(F.collect_list(one).alias("terms"))


def _acting_elsewhere() -> Column:
    """How many clusters had a super-node when the cast started, without those of which its own process was one."""

    def acts(term: Column) -> Column:
        at_us = F.col("started_us")
        return (term["began_us"] <= at_us) & (at_us <= term["ended_us"])

    acting = F.filter("terms", acts)
    own = F.filter(acting, lambda term: term["process"] == F.col("process"))

    def clusters(some: Column) -> Column:
        return F.array_distinct(F.transform(some, lambda term: term["cluster"]))

    return F.size(F.array_except(clusters(acting), clusters(own)))


def _is(kind: Kind) -> Column:
    return F.col("kind") == kind.value
