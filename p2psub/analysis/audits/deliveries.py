"""S2, S3 and S4: nothing handed over twice, nothing invented, nothing altered.

All of it stands in the trace: `publish` and `deliver` with digests, `subscribe` and `unsubscribe` of the process that
handed over, in its own order. That a filter wants the event is looked at with `--rematch`. Unknown is only what the
publisher or the subscriber may have written into a part of its trace that is not there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.doubts import Doubts, has_holes, is_hidden_before
from p2psub.analysis.tables import Tables, process_of
from p2psub.analysis.terms import NOTHING_TOLD, Terms
from p2psub.model.records import Kind

_RECORD = ("event", "subscription", "process", "sequence", "wall_us")


def audit(tables: Tables, terms: Terms = NOTHING_TOLD) -> DataFrame:
    """Deliveries that should not have been, or not so."""
    # Brought together by event once, and used twice.
    delivered = _delivered(tables).select(*_RECORD, "digest").repartition("event")
    against_publish = _against_publish(tables, delivered, terms.doubts_of(tables))
    found = [_twice(delivered), *against_publish, *_against_subscribe(tables)]
    if terms.pairs is not None:
        found.append(_unwanted(tables, terms.pairs))
    return united(found)


def _delivered(tables: Tables) -> DataFrame:
    """Hand-overs one by one; what is only counted (`untraced`) names no event."""
    return tables.of(Kind.DELIVER).where(F.col("event").isNotNull() & F.col("subscription").isNotNull())


def _twice(delivered: DataFrame) -> DataFrame:
    """S2, one finding per pair, at the last of its records."""
    pairs = delivered.groupBy("event", "subscription")
    last = F.max(F.struct("wall_us", "process", "sequence")).alias("last")
    counted = pairs.agg(F.count("*").alias("times"), last).where(F.col("times") > 1)
    text = "{event} was handed over %d times to {subscription}"
    return finding(counted.select("event", "subscription", "times", "last.*"), "S2", text, "times")


def _against_publish(tables: Tables, delivered: DataFrame, doubts: Doubts) -> list[DataFrame]:
    published = tables.of(Kind.PUBLISH).where(F.col("event").isNotNull()).select("event", "digest").repartition("event")
    digests = published.groupBy("event").agg(F.first("digest").alias("published_digest"), F.lit(True).alias("is_known"))
    suspect = delivered.join(digests.hint("shuffle_hash"), "event", "left").where(
        F.col("is_known").isNull() | ~F.col("digest").eqNullSafe(F.col("published_digest")) | F.col("digest").isNull()
    )
    invented = doubts.with_hidden_of(suspect.where(F.col("is_known").isNull()), process_of(F.col("event")))
    altered = suspect.where(F.col("is_known"))
    never = "{event} was handed over to {subscription}, but its publisher has no record of it"
    return [
        finding(invented, "S3", never, is_unknown=is_hidden_before(F.col("wall_us"))),
        finding(altered, "S4", "what {subscription} was handed as {event} is not what was published"),
    ]


def _against_subscribe(tables: Tables) -> list[DataFrame]:
    """S3 by the subscriber's own order, in which no clock has a part."""
    asked = _first_of(tables, Kind.SUBSCRIBE, "asked")
    ended = _first_of(tables, Kind.UNSUBSCRIBE, "ended")
    delivered = _delivered(tables).select(*_RECORD)
    beside = delivered.join(asked, "subscription", "left").join(ended, "subscription", "left")
    is_foreign = F.col("process") != process_of(F.col("subscription"))
    is_unasked = F.col("asked").isNull() & ~is_foreign
    is_early = ~is_foreign & (F.col("asked") > F.col("sequence"))
    is_late = ~is_foreign & (F.col("ended") < F.col("sequence"))
    suspect = beside.where(is_foreign | is_unasked | is_early | is_late)
    holed = tables.processes.select(F.col("process").alias("_holed"), has_holes().alias("has_holes"))
    unasked = suspect.where(is_unasked).join(F.broadcast(holed), F.col("process") == F.col("_holed"), "left")
    return [
        _wrong(suspect, is_foreign, "{event} was handed over by {process}, which {subscription} does not belong to"),
        finding(
            unasked,
            "S3",
            "{event} was handed over to {subscription}, which nobody asked for",
            is_unknown=F.col("has_holes"),
        ),
        _wrong(suspect, is_early, "{event} was handed over before {subscription} was asked for"),
        _wrong(suspect, is_late, "{event} was handed over after {subscription} had been given up"),
    ]


def _wrong(suspect: DataFrame, is_wrong: Column, text: str) -> DataFrame:
    return finding(suspect.where(is_wrong), "S3", text)


def _first_of(tables: Tables, kind: Kind, name: str) -> DataFrame:
    """Where in its process's order each subscription has its first record of a kind; few beside the deliveries."""
    own = tables.of(kind).where(F.col("process") == process_of(F.col("subscription")))
    return own.groupBy("subscription").agg(F.min("sequence").alias(name))


def _unwanted(tables: Tables, pairs: DataFrame) -> DataFrame:
    wrong = pairs.where(~F.col("is_wanted")).select("event", "subscription")
    delivered = _delivered(tables).select(*_RECORD).join(wrong, ["event", "subscription"], "left_semi")
    return finding(delivered, "S3", "{event} was handed over to {subscription}, whose filter does not want it")
