"""S18, time: what ended as expired was late, and nothing late is handed over.

By the ages that the nodes themselves state, each by its own steady clock, so that no two clocks are compared. An age
that is wrong, for a node forgot what a queue took, does not show here: the simulator judges by the true time. Unknown
is what rests on a `publish` or a `subscribe` that is not there.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import Fault, faulty, finding, united
from p2psub.analysis.tables import Tables
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

DRIFT_SHARE: Final = 1_000
"""An owner may hear of an end while it is younger by its own clock: by a thousandth of the limit, above all drift."""

_RECORD: Final = ("event", "subscription", "process", "sequence", "wall_us", "age_us")


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Pairs that ended too early, and hand-overs that came too late."""
    asked, published = _asked(tables), _published(tables)
    return united([_expired(tables, asked, published), *_late(tables, context, asked, published)])


def _asked(tables: Tables) -> DataFrame:
    first = [F.first(name).alias(name) for name in ("deadline_us", "is_replayed")]
    return tables.of(Kind.SUBSCRIBE).where(F.col("deadline_us").isNotNull()).groupBy("subscription").agg(*first)


def _published(tables: Tables) -> DataFrame:
    known = tables.of(Kind.PUBLISH).where(F.col("event").isNotNull() & F.col("timeout_us").isNotNull())
    return known.groupBy("event").agg(*(F.first(name).alias(name) for name in ("timeout_us", "retain_us")))


def _expired(tables: Tables, asked: DataFrame, published: DataFrame) -> DataFrame:
    ended = tables.of(Kind.OUTCOME).where((F.col("outcome") == Outcome.EXPIRED.value) & F.col("event").isNotNull())
    beside = ended.select(*_RECORD).join(published, "event", "left").join(asked, "subscription", "left")
    no_limit = 1 << 62
    limit_us = F.least(
        *(F.when(F.col(name) > 0, F.col(name)).otherwise(F.lit(no_limit)) for name in ("deadline_us", "timeout_us"))
    )
    beside = beside.withColumn("limit_us", limit_us)
    is_read = F.col("deadline_us").isNotNull() & F.col("timeout_us").isNotNull()
    has_limit = F.col("limit_us") < no_limit
    in_time_us = F.col("limit_us") - F.floor(F.col("limit_us") / DRIFT_SHARE)
    early = "{event} expired for {subscription} at an age of %d us, though it had %d us"
    return faulty(
        beside,
        [
            Fault(~has_limit, "S18", "{event} expired for {subscription}, which set no limit", is_unknown=~is_read),
            Fault(has_limit & (F.col("age_us") < in_time_us), "S18", early, ("age_us", "limit_us"), ~is_read),
        ],
    )


def _late(tables: Tables, context: AuditContext, asked: DataFrame, published: DataFrame) -> list[DataFrame]:
    """Few subscriptions have a deadline, and few events a timeout: only what they are about is looked at."""
    given = tables.of(Kind.DELIVER).where(F.col("event").isNotNull() & F.col("age_us").isNotNull()).select(*_RECORD)
    timed = context.settle(published.where("timeout_us > 0"))
    by_timeout = given.join(timed, "event").where("age_us > timeout_us")
    pressed = context.settle(asked.where("deadline_us > 0"))
    # What is replayed has no deadline, and only what is retained is.
    late = given.join(pressed, "subscription").where("age_us > deadline_us").join(published, "event", "left")
    is_replay = F.col("is_replayed") & (F.coalesce("retain_us", F.lit(1)) > 0)
    text = "{event} was handed over to {subscription} at an age of %d us, above its"
    return [
        finding(by_timeout, "S18", f"{text} timeout of %d us", "age_us", "timeout_us"),
        finding(late.where(~is_replay), "S18", f"{text} deadline of %d us", "age_us", "deadline_us"),
    ]
