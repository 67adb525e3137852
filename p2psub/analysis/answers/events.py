"""What became of every event: one row each. Most answers about events begin here.

Counters, not sets. What is said of an event is grouped by event. What is said of a pair (event and subscription) is
grouped by pair first, which makes one that was handed over twice, or has the same outcome at two owners, count once;
then pairs are summed up by event. Both come together at the end.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.debts import acknowledged, ended_pairs
from p2psub.analysis.silent_spans import ALWAYS_US
from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.records import Kind

_OF_OWED_EVENTS: Final = (Kind.STORE, Kind.ACKNOWLEDGE, Kind.DISCHARGE)
_OF_EVENTS: Final = (Kind.PUBLISH, Kind.MATCH, *_OF_OWED_EVENTS)
_PROMISES: Final = (None, Guarantee.AT_MOST_ONCE, Guarantee.EFFECTIVELY_ONCE)
"""By number; the greatest that a record names is believed."""


def events(tables: Tables, acks: DataFrame | None = None) -> DataFrame:
    """One row per event that some record names; `acks` is `debts.acknowledged`, if it was kept.

    guarantee        of its `publish` or `match`; what is stored is `effectively_once`
    began_us         when it was published, 0 if no record says so; published_us is null then
    acknowledged_us  null if its publisher was promised nothing
    matched          pairs that owners found: of `effectively_once` the most that one did, which asked the others; of
                     `at_most_once` all together, for each owner of a shard finds its own
    owed             pairs that the acknowledgement speaks of
    delivered        distinct pairs handed over
    ended            distinct pairs not handed over that have an outcome, or were held back to the end
    first_us, last_us    the first and the last hand-over
    is_discharged    an owner has let go of what the acknowledgement speaks of, owing nothing
    """
    told = _told(tables)
    odd = _odd(told)
    behind = acknowledged(tables, odd) if acks is None else acks.join(F.broadcast(odd), "event", "left_semi")
    behind = behind.select("event", F.col("owed").alias("odd_owed"), "discharged_us")
    counted = F.coalesce("stored_most", "repeated_most")
    known = _of_events(told).withColumn("is_plain", _is_plain()).join(behind, "event", "left")
    is_at_most_once = F.col("promise") == _PROMISES.index(Guarantee.AT_MOST_ONCE)
    return known.join(_of_pairs(tables).hint("shuffle_hash"), "event", "full").select(
        "event",
        F.when(is_at_most_once, Guarantee.AT_MOST_ONCE.value)
        .when(F.col("promise") > 0, Guarantee.EFFECTIVELY_ONCE.value)
        .alias("guarantee"),
        F.coalesce("published_us", F.lit(ALWAYS_US)).alias("began_us"),
        "published_us",
        "acknowledged_us",
        F.when(is_at_most_once, F.col("matched_sum")).otherwise(F.col("matched_most")).alias("matched"),
        F.when(F.col("is_plain"), counted).otherwise(F.col("odd_owed")).alias("owed"),
        F.coalesce("delivered", F.lit(0)).alias("delivered"),
        F.coalesce("ended", F.lit(0)).alias("ended"),
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


def _odd(told: DataFrame) -> DataFrame:
    """The acknowledged events that are not plain; few."""
    owed_events = told.groupBy("event").agg(*_sums_of_owed_events())
    return owed_events.where(F.col("acknowledged_us").isNotNull() & ~_is_plain()).select("event")


def _told(tables: Tables) -> DataFrame:
    """What is said of events, in numbers: this is what travels between tasks.

    Kind and promise share a column: so both who ask for it take all columns, and it travels once.
    """
    named = F.col("guarantee")
    none, at_most_once, effectively_once = range(len(_PROMISES))
    is_promised = (named == Guarantee.EFFECTIVELY_ONCE.value) | (F.col("kind") == Kind.STORE.value)
    promise = F.when(is_promised, effectively_once).when(named.isNotNull(), at_most_once).otherwise(none)
    kind = _number_of_kind() * len(_PROMISES)
    told = tables.of(*_OF_EVENTS).where(F.col("event").isNotNull())
    return told.select("event", "wall_us", "matched", (kind + promise).alias("what")).repartition("event")


def _is(kind: Kind) -> Column:
    first = _OF_EVENTS.index(kind) * len(_PROMISES)
    return F.col("what").between(first, first + len(_PROMISES) - 1)


def _sums_of_owed_events() -> list[Column]:
    wall_us, matched = F.col("wall_us"), F.col("matched")
    store, acknowledge, discharge = map(_is, _OF_OWED_EVENTS)
    return [
        F.min(F.when(acknowledge, wall_us)).alias("acknowledged_us"),
        F.min(F.when(store, wall_us)).alias("stored_us"),
        F.min(F.when(store, matched)).alias("stored_least"),
        F.max(F.when(store, matched)).alias("stored_most"),
        F.min(F.when(acknowledge, matched)).alias("repeated_least"),
        F.max(F.when(acknowledge, matched)).alias("repeated_most"),
        F.min(F.when(discharge, matched)).alias("let_go_least"),
        F.max(F.when(discharge, matched)).alias("let_go_most"),
    ]


def _of_events(told: DataFrame) -> DataFrame:
    matches = F.when(_is(Kind.MATCH), F.col("matched"))
    return told.groupBy("event").agg(
        F.max(F.col("what") % len(_PROMISES)).alias("promise"),
        F.min(F.when(_is(Kind.PUBLISH), F.col("wall_us"))).alias("published_us"),
        *_sums_of_owed_events(),
        F.max(matches).alias("matched_most"),
        F.sum(matches).alias("matched_sum"),
    )


def _of_pairs(tables: Tables) -> DataFrame:
    delivered = tables.of(Kind.DELIVER).where(F.col("event").isNotNull()).select("event", "subscription", "wall_us")
    # Without a time: what has one was handed over.
    ended = ended_pairs(tables).withColumn("wall_us", F.lit(None).cast("long"))
    pairs = delivered.unionByName(ended).repartition("event").groupBy("event", "subscription")
    spans = pairs.agg(F.min("wall_us").alias("first_us"), F.max("wall_us").alias("last_us"))
    return spans.groupBy("event").agg(
        F.count("last_us").alias("delivered"),
        F.sum(F.col("last_us").isNull().cast("int")).alias("ended"),
        F.min("first_us").alias("first_us"),
        F.max("last_us").alias("last_us"),
    )


def _number_of_kind() -> Column:
    """A kind as a number: comparing strings in every sum costs more than all the rest."""
    numbered = F.lit(None).cast("int")
    for number, kind in enumerate(_OF_EVENTS):
        numbered = F.when(F.col("kind") == kind.value, number).otherwise(numbered)
    return numbered
