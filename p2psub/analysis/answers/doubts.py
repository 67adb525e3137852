"""Until when a trace leaves room for doubt: what may lie in a part that is missing is unknown, never lost.

A process that was cut may have gone on until the next start of its peer, or until now if there was none. One with a gap
lacks records up to its last one at most; one whose head was discarded, up to its first.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind

FOR_EVER_US: Final = (1 << 63) - 1
_TRACE_DROPS: Final = ("trace_overflow", "trace_discarded")


def doubt(tables: Tables) -> DataFrame:
    """One row, `doubt_until_us`: of what began before that, some record may be missing; null if the trace is whole."""
    later = Window.partitionBy("node").orderBy("incarnation").rowsBetween(1, Window.unboundedFollowing)
    processes = tables.processes.select("*", F.min("first_us").over(later).alias("next_us"))
    until = F.greatest(
        F.when(~F.col("is_closed"), F.coalesce("next_us", F.lit(FOR_EVER_US))),
        F.when(F.col("missing") > 0, F.col("last_us")),
        F.when(F.col("first_sequence") > 1, F.col("first_us")),
    )
    dropped = tables.of(Kind.DROP).where(F.col("reason").isin(*_TRACE_DROPS)).select("wall_us")
    both = processes.select(until.alias("us")).unionAll(dropped)
    return both.agg(F.max("us").alias("doubt_until_us"))


def in_doubt(began_us: Column) -> Column:
    """Whether records about something that began then may be missing; of a frame that `doubt` was joined to."""
    return F.coalesce(began_us < F.col("doubt_until_us"), F.lit(False))
