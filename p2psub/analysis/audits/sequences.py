"""The trace itself: the records of a process are numbered from 1 without a gap, and its stamps only grow.

What a peer says it dropped or discarded (`trace_overflow`, `trace_discarded`) is accounted for, and so is what lies in
files that were skipped: what those records said is unknown, and so it is for a process that others speak of and that
left no trace. That a process was cut, which is how a crash looks, breaks nothing and is not a finding.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.runs import IS_RECORD
from p2psub.analysis.tables import Tables
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind


def audit(tables: Tables, _: AuditContext = NO_CONTEXT) -> DataFrame:
    """Holes, silence, and clocks that run back."""
    return united([_holes(tables), _silent(tables), _backwards(tables)])


def _holes(tables: Tables) -> DataFrame:
    dropped = tables.of(Kind.DROP)
    overflown = (
        dropped.where(F.col("reason") == Reason.TRACE_OVERFLOW.value)
        .groupBy("process")
        .agg(F.sum("count").alias("said"))
    )
    # The oldest segments of a peer go first, also those of earlier starts; and with them what told of still older ones.
    discarding = (
        dropped.where(F.col("reason") == Reason.TRACE_DISCARDED.value)
        .select("node", F.lit(True).alias("discards"))
        .distinct()
    )
    gone = tables.processes.where(F.col("records") > 0)
    gone = gone.withColumn("gone", F.col("missing") + F.col("first_sequence") - 1).where(F.col("gone") > 0)
    beside = gone.join(overflown, "process", "left").join(discarding, "node", "left")
    beside = beside.fillna(0, ["said"]).fillna(False, ["discards"])
    beside = beside.withColumns({"sequence": F.col("last_sequence"), "wall_us": F.col("last_us")})
    has_said = (F.col("said") >= F.col("missing")) & (F.col("discards") | (F.col("first_sequence") == 1))
    why = (
        F.when(has_said, "it says that it dropped them")
        .when(F.col("unread") > 0, "files of it were skipped")
        .when(~F.col("is_closed"), "what says why may lie in its lost tail")
    )
    text = "%d records of {process} are not there, and %s"
    said_why = F.coalesce(why, F.lit("nothing says why"))
    return finding(beside, "trace", text, "gone", said_why, is_unknown=why.isNotNull())


def _silent(tables: Tables) -> DataFrame:
    silent = tables.processes.where(F.col("records") == 0)
    why = F.when(F.col("unread") > 0, "all files of {process} were skipped")
    text = F.coalesce(why, F.lit("others speak of {process}, of which there is no trace"))
    return finding(silent, "trace", "%s", text, is_unknown=F.lit(True))


def _backwards(tables: Tables) -> DataFrame:
    # The one question about neighbours in one order: no grouping answers it, so here a window is paid for.
    own = Window.partitionBy("process").orderBy("sequence")
    stamped = tables.records.where(IS_RECORD).select("process", "sequence", "wall_us", "ticks")
    before = {"before_us": F.lag("wall_us").over(own), "before_ticks": F.lag("ticks").over(own)}
    is_same = (F.col("wall_us") == F.col("before_us")) & (F.col("ticks") <= F.col("before_ticks"))
    back = stamped.withColumns(before).where((F.col("wall_us") < F.col("before_us")) | is_same)
    return finding(back, "trace", "the stamp of record %d of {process} is not after the one before it", "sequence")
