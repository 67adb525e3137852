"""What became of every event: one row each, by one pass over its records. Most answers about events begin here.

Counters, not sets: first records are grouped by pair (event and subscription), which makes a pair that was handed over
twice, or has the same outcome at two owners, count once; then pairs are summed up by event.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.debts import ended_pairs
from p2psub.analysis.doubts import ALWAYS_US
from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.records import Kind

_ONCE_PER_EVENT: Final = (Kind.PUBLISH, Kind.STORE, Kind.ACKNOWLEDGE, Kind.MATCH)
_NUMBERS: Final = {kind: number for number, kind in enumerate((*_ONCE_PER_EVENT, Kind.DELIVER, Kind.OUTCOME))}


def events(tables: Tables, acks: DataFrame) -> DataFrame:
    """One row per event that some record names; `acks` is `debts.acknowledged`.

    guarantee        of its `publish`, `match` or `store`
    began_us         when it was published, 0 if no record says so; published_us is null then
    acknowledged_us  null if nobody was promised anything
    matched          pairs that an owner found (the most, if several owners did)
    owed             pairs that the acknowledgement speaks of
    delivered        distinct pairs handed over
    ended            distinct pairs not handed over that have an outcome, or were held back to the end
    first_us, last_us    the first and the last hand-over
    is_discharged    an owner has let go of what the acknowledgement speaks of, owing nothing
    """
    pairs = _by_pair(_narrow(tables).repartition("event"))
    promised = acks.select("event", F.col("acked_us").alias("acknowledged_us"), "owed", "discharged_us")
    return _by_event(pairs).join(promised, "event", "left").select(
        "event",
        F.when(F.col("is_promised") == 1, Guarantee.EFFECTIVELY_ONCE.value)
        .when(F.col("is_promised") == 0, Guarantee.AT_MOST_ONCE.value)
        .alias("guarantee"),
        F.coalesce("published_us", F.lit(ALWAYS_US)).alias("began_us"),
        "published_us",
        "acknowledged_us",
        "matched",
        "owed",
        "delivered",
        "ended",
        "first_us",
        "last_us",
        F.col("discharged_us").isNotNull().alias("is_discharged"),
    )  # fmt: skip


def _narrow(tables: Tables) -> DataFrame:
    """What is needed of the records about events, in numbers: this is what travels between tasks."""
    named = F.coalesce("guarantee", F.when(_is(Kind.MATCH), F.col("reason")))
    about = F.col("event").isNotNull() & _is(*_ONCE_PER_EVENT, Kind.DELIVER)
    told = tables.records.where(about).select(
        "event",
        "subscription",
        "wall_us",
        "count",
        _number_of_kind().alias("kind"),
        F.when(named.isNotNull(), (named == Guarantee.EFFECTIVELY_ONCE.value).cast("int")).alias("is_promised"),
    )
    return told.unionByName(
        ended_pairs(tables).withColumn("kind", F.lit(_NUMBERS[Kind.OUTCOME])), allowMissingColumns=True
    )


def _by_pair(rows: DataFrame) -> DataFrame:
    """Grouped by event and subscription; what is about the event alone has none."""
    wall_us, count = F.col("wall_us"), F.col("count")
    publish, _, _, match, deliver, outcome = (F.col("kind") == _NUMBERS[kind] for kind in _NUMBERS)
    delivered_us = F.when(deliver, wall_us)
    return rows.groupBy("event", "subscription").agg(
        F.max("is_promised").alias("is_promised"),
        F.min(F.when(publish, wall_us)).alias("published_us"),
        F.max(F.when(match, count)).alias("matched"),
        F.min(delivered_us).alias("first_us"),
        F.max(delivered_us).alias("last_us"),
        F.max(outcome).alias("is_ended"),
    )


def _by_event(pairs: DataFrame) -> DataFrame:
    is_delivered = F.col("last_us").isNotNull()
    is_ended = F.col("is_ended") & ~is_delivered
    greatest = ("is_promised", "matched", "last_us")
    least = ("published_us", "first_us")
    return pairs.groupBy("event").agg(
        *(F.max(name).alias(name) for name in greatest),
        *(F.min(name).alias(name) for name in least),
        F.sum(is_delivered.cast("int")).alias("delivered"),
        F.sum(is_ended.cast("int")).alias("ended"),
    )


def _number_of_kind() -> Column:
    """A kind as a number: comparing strings in every sum costs more than all the rest."""
    numbered = F.lit(None).cast("int")
    for kind, number in _NUMBERS.items():
        numbered = F.when(_is(kind), number).otherwise(numbered)
    return numbered


def _is(*kinds: Kind) -> Column:
    return F.col("kind").isin([kind.value for kind in kinds])
