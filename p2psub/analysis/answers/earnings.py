"""Earnings: what promised pairs of event and subscription earned and cost (MTEP formula 1), each counted once.

By pairs, not by books: after a failover two owners may settle one pair, and each books it. Handed over counts before
all else; and no penalty is due if one of the owners knows why none is. What promises nothing is traced by a sample, so
it is in its subscribers' books alone.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.tables import Tables
from p2psub.model.bids import PRICE_ONE
from p2psub.model.content import Guarantee
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

ON_TIME: Final = "on_time"
MISSES: Final = (
    Outcome.EXPIRED.value,
    Outcome.HOPELESS.value,
    Outcome.UNREACHABLE.value,
    Outcome.SPOOL_FULL.value,
)
"""How pairs end that were owed and not handed over."""


def earnings(tables: Tables) -> DataFrame:
    """One row for each way in which pairs ended: how many, earned and penalties, and how old their events were."""
    return (
        _pairs(tables)
        .groupBy("ended", "reason")
        .agg(
            F.count("*").alias("pairs"),
            (F.sum(F.greatest("amount", F.lit(0))) / PRICE_ONE).alias("earned"),
            (F.sum(F.greatest(-F.col("amount"), F.lit(0))) / PRICE_ONE).alias("penalties"),
            F.max("age_us").alias("age_max_us"),
        )
        .orderBy("ended", "reason")
    )


def earning_totals(known: DataFrame) -> DataFrame:
    """One row of an answer: pairs on time, expired and hopeless, what they earned, and what they cost."""
    pairs = {name: F.sum(F.when(F.col("ended") == name, F.col("pairs"))) for name in (ON_TIME, "expired", "hopeless")}
    return known.agg(
        *(F.coalesce(count, F.lit(0)).alias(name) for name, count in pairs.items()),
        *(F.coalesce(F.sum(name), F.lit(0.0)).alias(name) for name in ("earned", "penalties")),
    )


def is_on_time() -> Column:
    """Of a record that ends a pair: whether it was handed over."""
    return (F.col("kind") == Kind.DELIVER.value) | (F.col("outcome") == Outcome.DELIVERED.value)


def amount() -> Column:
    """What a pair earned by such a record, in millionths: without a word, as with a bid that says nothing."""
    return F.coalesce("earned", F.when(is_on_time(), F.lit(PRICE_ONE)).otherwise(F.lit(0)))


def _pairs(tables: Tables) -> DataFrame:
    is_end = is_on_time() | F.col("outcome").isin(*MISSES)
    is_promised = F.col("event").isNotNull() & ~F.col("guarantee").eqNullSafe(Guarantee.AT_MOST_ONCE.value)
    ended = tables.of(Kind.DELIVER, Kind.OUTCOME).where(is_promised & F.coalesce(is_end, F.lit(False)))
    took = F.coalesce(is_on_time(), F.lit(False))
    said = ended.select(
        "event",
        "subscription",
        took.alias("took"),
        amount().alias("amount"),
        F.when(took, ON_TIME).otherwise(F.col("outcome")).alias("ended"),
        F.when(~took, F.col("reason")).alias("reason"),
        # Its owner hears of a hand-over when the answer comes.
        F.when(~took | (F.col("kind") == Kind.DELIVER.value), F.col("age_us")).alias("age_us"),
    )
    best = F.max(F.struct("took", "amount", "ended", "reason")).alias("best")
    oldest = {"taken_us": F.col("took"), "missed_us": ~F.col("took")}
    ages = [F.max(F.when(is_so, F.col("age_us"))).alias(name) for name, is_so in oldest.items()]
    pairs = said.repartition("event").groupBy("event", "subscription").agg(best, *ages)
    age_us = F.when(F.col("best.took"), F.col("taken_us")).otherwise(F.col("missed_us"))
    return pairs.select("best.*", age_us.alias("age_us"))
