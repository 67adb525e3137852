"""Coverage of events: whether everybody got what it was owed.

Hyper's formula 1, P_covering = D_receive / D_all, with the pairs (event, subscription) for the brokers: of those that
had a claim, the share that was served. Of an acknowledged `effectively_once` event the claims are the pairs that it
was stored with; of an `at_most_once` event, which promises nothing, the pairs that matched.

    expected = delivered + ended + missing
    missing  = lost + unknown + still_owed + missed
    claims   = expected - ended - unknown - still_owed
    coverage = (claims - lost - missed) / claims

A missing pair is *unknown* if a part of the trace that could hold its end is missing (`silent_spans`): anybody's,
from the publication on. Else it is *still owed* if no owner let go of what was acknowledged; else *lost*. What
`at_most_once` misses is *missed*, and no loss. Counts cannot tell which pair is missing: one that was served beyond
what was owed (a replay of a retained event) makes up for one that is missing.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.events import events
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.silent_spans import is_hidden_after
from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee

_CLASSES: Final = ("lost", "unknown", "still_owed", "missed", "beyond", "claims")
SUMS: Final = ("expected", "delivered", "ended", "missing", *_CLASSES)
"""What adds up over events."""


def covered(tables: Tables, context: AuditContext) -> DataFrame:
    """Coverage as it was kept, or else asked for now."""
    return coverage(tables, context) if context.covered is None else context.covered


def coverage(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """One row per event.

    `expected` is null for an `effectively_once` event that was never acknowledged: its publisher was promised nothing.
    `beyond` is how many pairs were served beyond the expected ones. `coverage` is null where nothing can be said.
    """
    is_promised = F.col("guarantee") == Guarantee.EFFECTIVELY_ONCE.value
    expected = F.when(~is_promised, F.coalesce("matched", F.lit(0))).when(
        F.col("acknowledged_us").isNotNull(), F.col("owed")
    )
    served = F.col("delivered") + F.col("ended")
    asked = context.silent_spans_of(tables).with_hidden_anywhere(events(tables, context.acks))
    # Counts do not say whose record is missing, so it may be anybody's.
    judged = (
        asked.withColumn("may_be_hidden", is_hidden_after(F.col("began_us")))
        .withColumns({"is_promised": is_promised, "expected": expected})
        .withColumn("missing", F.greatest(F.coalesce(F.col("expected") - served, F.lit(0)), F.lit(0)))
        .withColumn("beyond", F.greatest(F.coalesce(served - F.col("expected"), F.lit(0)), F.lit(0)))
    )
    is_open = ~F.col("is_discharged")
    sure = ~F.col("may_be_hidden")
    classed = judged.select(
        "event",
        "guarantee",
        "published_us",
        "matched",
        "expected",
        "delivered",
        "ended",
        "missing",
        _missing(F.col("is_promised") & sure & ~is_open).alias("lost"),
        _missing(F.col("may_be_hidden")).alias("unknown"),
        _missing(F.col("is_promised") & sure & is_open).alias("still_owed"),
        _missing(~F.col("is_promised") & sure).alias("missed"),
        "beyond",
        "last_us",
    )
    open_too = F.col("ended") + F.col("unknown") + F.col("still_owed")
    claims = F.greatest(F.col("expected") - open_too, F.when(F.col("expected").isNotNull(), 0))
    return classed.withColumn("claims", claims).withColumn("coverage", share())


def coverage_totals(tables: Tables, known: DataFrame | None = None) -> DataFrame:
    """One row per guarantee: events, acknowledged or not, and the sums of `coverage`, `known` if it was asked for."""
    return (
        (coverage(tables) if known is None else known)
        .groupBy("guarantee")
        .agg(
            F.count("*").alias("events"),
            F.sum(F.coalesce("expected", "matched", F.lit(0))).alias("matched"),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in SUMS),
        )
        .withColumn("coverage", share())
        .orderBy("guarantee")
    )


def share() -> Column:
    """Formula 1, of a frame that has the counts."""
    claims = F.col("claims")
    return F.when(claims > 0, (claims - F.col("lost") - F.col("missed")) / claims)


def _missing(is_so: Column) -> Column:
    return F.when(is_so, F.col("missing")).otherwise(0)
