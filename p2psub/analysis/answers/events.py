"""What became of every event: one row each, by one pass over its records. Most answers about events begin here.

Counters, not sets: first records are grouped by pair (event and subscription), which makes a pair that was handed over
twice, or has the same outcome at two owners, count once; then pairs are summed up by event.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.debts import acknowledged, ended_pairs
from p2psub.analysis.doubts import ALWAYS_US
from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.records import Kind

_OF_DEEDS: Final = (Kind.STORE, Kind.ACKNOWLEDGE, Kind.DISCHARGE)
_ONCE_PER_EVENT: Final = (Kind.PUBLISH, Kind.MATCH, *_OF_DEEDS)
_NUMBERS: Final = {kind: number for number, kind in enumerate((*_ONCE_PER_EVENT, Kind.DELIVER, Kind.OUTCOME))}


def events(tables: Tables, acks: DataFrame | None = None) -> DataFrame:
    """One row per event that some record names; `acks` is `debts.acknowledged`, if it was kept.

    guarantee        of its `publish`, `match` or `store`
    began_us         when it was published, 0 if no record says so; published_us is null then
    acknowledged_us  null if nobody was promised anything
    matched          pairs that owners found: of `effectively_once` the most that one did, which asked the others; of
                     `at_most_once` all together, for each owner of a shard finds its own
    owed             pairs that the acknowledgement speaks of
    delivered        distinct pairs handed over
    ended            distinct pairs not handed over that have an outcome, or were held back to the end
    first_us, last_us    the first and the last hand-over
    is_discharged    an owner has let go of what the acknowledgement speaks of, owing nothing
    """
    told = _by_event(_by_pair(_narrow(tables).repartition("event"))).withColumn("is_plain", _is_plain())
    odd = _odd(tables)
    behind = acknowledged(tables, odd) if acks is None else acks.join(F.broadcast(odd), "event", "left_semi")
    behind = behind.select("event", F.col("owed").alias("odd_owed"), "discharged_us")
    counted = F.coalesce("stored_most", "repeated_most")
    return told.join(behind, "event", "left").select(
        "event",
        F.when(F.col("is_promised") == 1, Guarantee.EFFECTIVELY_ONCE.value)
        .when(F.col("is_promised") == 0, Guarantee.AT_MOST_ONCE.value)
        .alias("guarantee"),
        F.coalesce("published_us", F.lit(ALWAYS_US)).alias("began_us"),
        "published_us",
        "acknowledged_us",
        F.when(F.col("is_promised") == 0, F.col("matched_sum")).otherwise(F.col("matched_most")).alias("matched"),
        F.when(F.col("is_plain"), counted).otherwise(F.col("odd_owed")).alias("owed"),
        "delivered",
        "ended",
        "first_us",
        "last_us",
        F.when(F.col("is_plain"), F.coalesce(F.col("let_go_most") == counted, F.lit(False)))
        .otherwise(F.col("discharged_us").isNotNull())
        .alias("is_discharged"),
    )


def _is_plain() -> Column:
    """Whether no storing need be told from another to know what an acknowledged event owes.

    So it is with nearly all: every storing counted as many, and one was before the acknowledgement. Joining the records
    of all events, as `debts.acknowledged` must, would double the cost of this answer.
    """
    is_stored = (F.col("stored_least") == F.col("stored_most")) & (F.col("stored_us") < F.col("acknowledged_us"))
    is_unstored = F.col("stored_us").isNull() & (F.col("repeated_least") == F.col("repeated_most"))
    is_let_go_once = F.col("let_go_most").isNull() | (F.col("let_go_least") == F.col("let_go_most"))
    return F.coalesce((is_stored | is_unstored) & is_let_go_once, F.lit(False))


def _odd(tables: Tables) -> DataFrame:
    """The acknowledged events that are not plain; few."""
    told = _told(tables, *_OF_DEEDS).repartition("event").groupBy("event").agg(*_of_deeds())
    return told.where(F.col("acknowledged_us").isNotNull() & ~_is_plain()).select("event")


def _told(tables: Tables, *kinds: Kind) -> DataFrame:
    """What is needed of the records about events, in numbers: this is what travels between tasks."""
    named = F.coalesce("guarantee", F.when(_is(Kind.MATCH), F.col("reason")))
    return tables.records.where(F.col("event").isNotNull() & _is(*kinds)).select(
        "event",
        "subscription",
        "wall_us",
        "count",
        _number_of_kind().alias("kind"),
        F.when(named.isNotNull(), (named == Guarantee.EFFECTIVELY_ONCE.value).cast("int")).alias("is_promised"),
    )


def _narrow(tables: Tables) -> DataFrame:
    ended = ended_pairs(tables).withColumn("kind", F.lit(_NUMBERS[Kind.OUTCOME]))
    return _told(tables, *_ONCE_PER_EVENT, Kind.DELIVER).unionByName(ended, allowMissingColumns=True)


def _of_deeds() -> list[Column]:
    wall_us, count = F.col("wall_us"), F.col("count")
    store, acknowledge, discharge = (F.col("kind") == _NUMBERS[kind] for kind in _OF_DEEDS)
    return [
        F.min(F.when(acknowledge, wall_us)).alias("acknowledged_us"),
        F.min(F.when(store, wall_us)).alias("stored_us"),
        F.min(F.when(store, count)).alias("stored_least"),
        F.max(F.when(store, count)).alias("stored_most"),
        F.min(F.when(acknowledge, count)).alias("repeated_least"),
        F.max(F.when(acknowledge, count)).alias("repeated_most"),
        F.min(F.when(discharge, count)).alias("let_go_least"),
        F.max(F.when(discharge, count)).alias("let_go_most"),
    ]


def _by_pair(rows: DataFrame) -> DataFrame:
    """Grouped by event and subscription; what is about the event alone has none."""
    wall_us = F.col("wall_us")
    publish, match, deliver, outcome = (
        F.col("kind") == _NUMBERS[kind] for kind in (Kind.PUBLISH, Kind.MATCH, Kind.DELIVER, Kind.OUTCOME)
    )
    delivered_us = F.when(deliver, wall_us)
    return rows.groupBy("event", "subscription").agg(
        F.max("is_promised").alias("is_promised"),
        F.min(F.when(publish, wall_us)).alias("published_us"),
        *_of_deeds(),
        F.max(F.when(match, F.col("count"))).alias("matched_most"),
        F.sum(F.when(match, F.col("count"))).alias("matched_sum"),
        F.min(delivered_us).alias("first_us"),
        F.max(delivered_us).alias("last_us"),
        F.max(outcome).alias("is_ended"),
    )


def _by_event(pairs: DataFrame) -> DataFrame:
    is_delivered = F.col("last_us").isNotNull()
    is_ended = F.col("is_ended") & ~is_delivered
    greatest = ("is_promised", "stored_most", "repeated_most", "let_go_most", "matched_most", "matched_sum", "last_us")
    least = (
        "published_us",
        "acknowledged_us",
        "stored_us",
        "stored_least",
        "repeated_least",
        "let_go_least",
        "first_us",
    )
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
