"""S2, S3 and S4: nothing handed over twice, nothing invented, nothing altered.

All of it stands in the trace: `publish` and `deliver` with digests, `subscribe` and `unsubscribe` of the process that
handed over, in its own order. That a filter wants the event is looked at with `--rematch`. Unknown is only what the
publisher or the subscriber may have written into a part of its trace that is not there.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import Fault, faulty, finding, united
from p2psub.analysis.silent_spans import has_holes, is_hidden_before
from p2psub.analysis.tables import Tables, process_of
from p2psub.model.records import Kind

_RECORD = ("event", "subscription", "process", "sequence", "wall_us")


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Deliveries that should not have been, or not so."""
    found = [_twice(tables, context), _wrong(tables, context)]
    if context.pairs is not None:
        found.append(_unwanted(tables, context.pairs))
    return united(found)


def _delivered(tables: Tables) -> DataFrame:
    """Hand-overs one by one; what is only counted (`untraced`) names no event."""
    return tables.of(Kind.DELIVER).where(F.col("event").isNotNull() & F.col("subscription").isNotNull())


def _twice(tables: Tables, context: AuditContext) -> DataFrame:
    """S2, one finding per pair, at the last of its records."""
    delivered = _delivered(tables).select(*_RECORD)
    pair = ("event", "subscription")
    times = delivered.repartition("event").groupBy(*pair).agg(F.count("*").alias("times"))
    repeated = context.settle(times.where(F.col("times") > 1))
    last = F.max(F.struct("wall_us", "process", "sequence")).alias("last")
    counted = delivered.join(repeated, [*pair]).groupBy(*pair, "times").agg(last)
    text = "{event} was handed over %d times to {subscription}"
    return finding(counted.select(*pair, "times", "last.*"), "S2", text, "times")


def _wrong(tables: Tables, context: AuditContext) -> DataFrame:
    """S3 and S4. What was asked for goes by the subscriber's own order, in which no clock has a part."""
    delivered = _delivered(tables).select(*_RECORD, "digest").repartition("event")
    beside = delivered.join(_published(tables).hint("shuffle_hash"), "event", "left")
    beside = beside.join(context.settle(_asked(tables)), "subscription", "left")
    is_invented, is_own = F.col("is_published").isNull(), F.col("process") == process_of(F.col("subscription"))
    is_altered = F.col("digest").isNull() | ~F.col("digest").eqNullSafe(F.col("published_digest"))
    is_unasked = is_own & F.col("asked").isNull()
    is_early, is_late = is_own & (F.col("asked") > F.col("sequence")), is_own & (F.col("ended") < F.col("sequence"))
    # Few remain, and only of those is it asked what may be hidden.
    suspect = beside.where(is_invented | is_altered | ~is_own | is_unasked | is_early | is_late)
    suspect = context.silent_spans_of(tables).with_hidden_of(suspect, process_of(F.col("event")))
    holed = tables.processes.select(F.col("process").alias("_holed"), has_holes().alias("has_holes"))
    suspect = suspect.join(F.broadcast(holed), F.col("process") == F.col("_holed"), "left")
    never = "{event} was handed over to {subscription}, but its publisher has no record of it"
    other = "what {subscription} was handed as {event} is not what was published"
    foreign = "{event} was handed over by {process}, which {subscription} does not belong to"
    unasked = "{event} was handed over to {subscription}, which no application asked for"
    return faulty(
        suspect,
        [
            Fault(is_invented, "S3", never, is_unknown=is_hidden_before(F.col("wall_us"))),
            Fault(~is_invented & is_altered, "S4", other),
            Fault(~is_own, "S3", foreign),
            Fault(is_unasked, "S3", unasked, is_unknown=F.col("has_holes")),
            Fault(is_early, "S3", "{event} was handed over before {subscription} was asked for"),
            Fault(is_late, "S3", "{event} was handed over after {subscription} had been given up"),
        ],
    )


def _published(tables: Tables) -> DataFrame:
    published = tables.of(Kind.PUBLISH).where(F.col("event").isNotNull()).select("event", "digest").repartition("event")
    digest = F.first("digest").alias("published_digest")
    return published.groupBy("event").agg(digest, F.lit(True).alias("is_published"))


def _asked(tables: Tables) -> DataFrame:
    """Where in its process's order each subscription was first asked for, and given up; few beside the deliveries."""
    own = tables.of(Kind.SUBSCRIBE, Kind.UNSUBSCRIBE).where(F.col("process") == process_of(F.col("subscription")))
    is_asked = F.col("kind") == Kind.SUBSCRIBE.value
    return own.groupBy("subscription").agg(
        F.min(F.when(is_asked, F.col("sequence"))).alias("asked"),
        F.min(F.when(~is_asked, F.col("sequence"))).alias("ended"),
    )


def _unwanted(tables: Tables, pairs: DataFrame) -> DataFrame:
    wrong = pairs.where(~F.col("is_wanted")).select("event", "subscription")
    delivered = _delivered(tables).select(*_RECORD).join(wrong, ["event", "subscription"], "left_semi")
    return finding(delivered, "S3", "{event} was handed over to {subscription}, whose filter does not want it")
