"""What became of every event: one row each, by one pass over its records. Most answers about events begin here.

Counters, not sets: first records are grouped by pair (event and subscription), which makes a pair that was handed over
twice, or has the same outcome at two owners, count once; then pairs are summed up by event.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

_ONCE_PER_EVENT: Final = (Kind.PUBLISH, Kind.STORE, Kind.ACKNOWLEDGE, Kind.MATCH, Kind.DISCHARGE)
_NUMBERS: Final = {kind: number for number, kind in enumerate((*_ONCE_PER_EVENT, Kind.DELIVER, Kind.OUTCOME))}
NOT_ENDED: Final = (Outcome.DELIVERED, Outcome.DEFERRED)
"""Outcomes that end nothing: handed over, or still owed."""


def events(tables: Tables) -> DataFrame:
    """One row per event that some record names.

    guarantee        of its `publish`, `match` or `store`
    published_us     null if its `publish` is not there
    acknowledged_us  null if nobody was promised anything
    stored_us        when an owner first took it over
    matched          pairs that an owner found (the most, if several owners did)
    owed             pairs that the acknowledgement speaks of: the count of its `store`; where stores differ,
                     the count that the acknowledgement itself repeats
    delivered        distinct pairs handed over
    ended            distinct pairs not handed over that have an outcome
    first_us, last_us    the first and the last hand-over
    is_discharged    an owner has let it go, owing nothing
    """
    pairs = _by_pair(_narrow(tables).repartition("event"))
    return _by_event(pairs).select(
        "event",
        F.when(F.col("is_promised") == 1, Guarantee.EFFECTIVELY_ONCE.value)
        .when(F.col("is_promised") == 0, Guarantee.AT_MOST_ONCE.value)
        .alias("guarantee"),
        "published_us",
        "acknowledged_us",
        "stored_us",
        "matched",
        F.when(F.col("stored_least") == F.col("stored_most"), F.col("stored_most"))
        .otherwise(F.coalesce("acknowledged_count", "stored_most"))
        .alias("owed"),
        "delivered",
        "ended",
        "first_us",
        "last_us",
        "is_discharged",
    )


def _narrow(tables: Tables) -> DataFrame:
    """What is needed of the records about events, in numbers: this is what travels between tasks."""
    ended = ~F.col("reason").isin([outcome.value for outcome in NOT_ENDED])
    about = _is(*_ONCE_PER_EVENT, Kind.DELIVER) | (_is(Kind.OUTCOME) & ended)
    named = F.coalesce("guarantee", F.when(_is(Kind.MATCH), F.col("reason")))
    return tables.records.where(F.col("event").isNotNull() & about).select(
        "event",
        "subscription",
        "wall_us",
        "count",
        _number_of_kind().alias("kind"),
        F.when(named.isNotNull(), (named == Guarantee.EFFECTIVELY_ONCE.value).cast("int")).alias("is_promised"),
    )


def _by_pair(rows: DataFrame) -> DataFrame:
    """Grouped by event and subscription; what is about the event alone has none."""
    wall_us, count = F.col("wall_us"), F.col("count")
    publish, store, acknowledge, match, discharge, deliver, outcome = (
        F.col("kind") == _NUMBERS[kind] for kind in _NUMBERS
    )
    delivered_us = F.when(deliver, wall_us)
    return rows.groupBy("event", "subscription").agg(
        F.max("is_promised").alias("is_promised"),
        F.min(F.when(publish, wall_us)).alias("published_us"),
        F.min(F.when(acknowledge, wall_us)).alias("acknowledged_us"),
        F.max(F.when(acknowledge, count)).alias("acknowledged_count"),
        F.min(F.when(store, wall_us)).alias("stored_us"),
        F.min(F.when(store, count)).alias("stored_least"),
        F.max(F.when(store, count)).alias("stored_most"),
        F.max(F.when(match, count)).alias("matched"),
        F.max(discharge).alias("is_discharged"),
        F.min(delivered_us).alias("first_us"),
        F.max(delivered_us).alias("last_us"),
        F.max(outcome).alias("is_ended"),
    )


def _by_event(pairs: DataFrame) -> DataFrame:
    is_delivered = F.col("last_us").isNotNull()
    is_ended = F.col("is_ended") & ~is_delivered
    greatest = ("is_promised", "acknowledged_count", "stored_most", "matched", "is_discharged", "last_us")
    least = ("published_us", "acknowledged_us", "stored_us", "stored_least", "first_us")
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
