"""Where a trace is silent: the spans from which records of a process may be missing.

    never closed            from its last record on, until its peer was in a ring again, or for ever
    first record is not 1   until that record: older segments were discarded, or not handed in
    segments discarded      until it entered a ring: a whole earlier start may be gone that no record names
    numbers are missing     anywhere up to its last record; a full disk (`trace_overflow`) shows here too
    no record at all        at any time, until its peer was in a ring again
    no start at all         at any time: an owner that acknowledged before all that is known of it

Nothing that may lie in such a span is called lost, delivered or broken. A span holds both its ends: within one
microsecond only the ticks of a stamp say what was first. A tail has no other end: a peer may have been idle for an hour
and then have been killed with a second's records in memory. It does not end with the next start, whose stamp is that of
the own clock alone, and the one before may have followed others that are ahead; who has entered a ring has heard them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.tables import Tables
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind

ALWAYS_US: Final = 0
NEVER_US: Final = (1 << 63) - 1
_NO_TIME_US: Final = -1


class SilentSpan(NamedTuple):
    """Between these instants records may be missing, and at them."""

    from_us: int
    until_us: int

    @staticmethod
    def around(spans: Iterable[SilentSpan]) -> SilentSpan:
        """The span that holds all of them; of none one that holds nothing."""
        several = list(spans)
        since, until = (span.from_us for span in several), (span.until_us for span in several)
        return SilentSpan(min(since, default=NEVER_US), max(until, default=_NO_TIME_US))


_NOTHING: Final = SilentSpan.around([])


class SilentSpans(NamedTuple):
    """The silent spans of a trace: of processes, of all processes of a ring together, of all there are together.

    They are collected: usually few, and never more than there were starts of peers.
    """

    of_process: dict[int, SilentSpan]
    of_ring: dict[str, SilentSpan]
    homeless: SilentSpan
    """Of those who never said which ring they are in, and of starts that are gone whole: it may be any."""
    anywhere: SilentSpan

    @classmethod
    def of(cls, tables: Tables) -> SilentSpans:
        """Read them out of the table of processes."""
        of_process = {row.process: SilentSpan(row.from_us, row.until_us) for row in _hidden(tables).collect()}
        rings: dict[int, list[str]] = {}
        if of_process:
            said = tables.of(Kind.RING, Kind.ROLE).where(F.col("cluster").isNotNull())
            for row in said.select("process", "cluster").distinct().collect():
                rings.setdefault(row.process, []).append(row.cluster)
        by_ring: dict[str, list[SilentSpan]] = {}
        for process, span in of_process.items():
            for ring in rings.get(process, ()):
                by_ring.setdefault(ring, []).append(span)
        gone = [SilentSpan(ALWAYS_US, row.until_us) for row in _gone(tables).collect()]
        gone += [SilentSpan(ALWAYS_US, NEVER_US)] * _has_unheard_owner(tables)
        homeless = SilentSpan.around([*gone, *(span for process, span in of_process.items() if process not in rings)])
        of_ring = {ring: SilentSpan.around(spans) for ring, spans in by_ring.items()}
        return cls(of_process, of_ring, homeless, SilentSpan.around([*gone, *of_process.values()]))

    def with_hidden_of(self, found: DataFrame, process: Column) -> DataFrame:
        """`hidden_from_us` and `hidden_until_us` of one process beside each row."""
        rows = [(process_, *span) for process_, span in self.of_process.items()]
        return _beside(found, rows, "int", process, _NOTHING)

    def with_hidden_in_ring(self, found: DataFrame) -> DataFrame:
        """The same of all processes that may be in the ring of the row's `cluster`."""
        rows = [(ring, *SilentSpan.around([span, self.homeless])) for ring, span in self.of_ring.items()]
        return _beside(found, rows, "string", F.col("cluster"), self.homeless)

    def with_hidden_anywhere(self, found: DataFrame) -> DataFrame:
        """The same of all processes."""
        return _beside(found, [], "int", F.lit(0), self.anywhere)


def is_hidden_after(at_us: Column) -> Column:
    """Whether something that happened after an instant, or at it, may be hidden."""
    return F.col("hidden_until_us") >= at_us


def is_hidden_before(at_us: Column) -> Column:
    """Whether something that happened before an instant, or at it, may be hidden."""
    return F.col("hidden_from_us") <= at_us


def has_holes() -> Column:
    """Of a row of `processes`: whether records before its last one are missing."""
    return (F.col("records") == 0) | (F.col("missing") > 0) | (F.col("first_sequence") > 1)


def is_whole() -> Column:
    """Of a row of `processes`: whether nothing is missing."""
    return F.col("is_closed") & ~has_holes()


def _starts(tables: Tables) -> DataFrame:
    """The processes, with the time at which each entered its first ring."""
    entered = tables.of(Kind.RING).groupBy("process").agg(F.min("wall_us").alias("entered_us"))
    return tables.processes.join(F.broadcast(entered), "process", "left")


def _hidden(tables: Tables) -> DataFrame:
    later = Window.partitionBy("node").orderBy("incarnation").rowsBetween(1, Window.unboundedFollowing)
    back_us = F.min("entered_us").over(later)
    # `greatest` passes over what is empty, so an end that never came must be said.
    open_end = F.when(back_us.isNull(), F.lit(NEVER_US)).otherwise(F.greatest(back_us, F.col("last_us")))
    until = (
        F.when(~F.col("is_closed"), open_end)
        .when(F.col("missing") > 0, F.col("last_us"))
        .when(F.col("first_sequence") > 1, F.col("first_us"))
    )
    since = F.when(has_holes(), F.lit(ALWAYS_US)).otherwise(F.col("last_us"))
    spans = _starts(tables).select("process", since.alias("from_us"), until.alias("until_us"))
    return spans.where(F.col("until_us").isNotNull())


def _gone(tables: Tables) -> DataFrame:
    """Until when starts may have run of which discarding left nothing: the oldest segments go first."""
    said = tables.of(Kind.DROP).where(F.col("reason") == Reason.TRACE_DISCARDED.value).select("process").distinct()
    until = F.when(F.col("first_sequence") > 1, F.col("first_us")).otherwise(F.coalesce("entered_us", F.lit(NEVER_US)))
    return _starts(tables).join(F.broadcast(said), "process", "left_semi").select(until.alias("until_us"))


def _has_unheard_owner(tables: Tables) -> bool:
    """Whether a peer acknowledged something before all that is known of it; then a start of it is missing whole."""
    acks = tables.of(Kind.ACKNOWLEDGE).where(F.col("peer").isNotNull()).groupBy(F.col("peer").alias("node"))
    owners = acks.agg(F.min("wall_us").alias("owned_us"))
    # A start that others name may be hidden already, whenever it was.
    known = tables.processes.groupBy("node").agg(F.min(F.coalesce("first_us", F.lit(ALWAYS_US))).alias("known_us"))
    late = owners.join(F.broadcast(known), "node", "left").where("known_us is null or known_us > owned_us")
    return not late.isEmpty()


def _beside(
    found: DataFrame, rows: Sequence[tuple[object, ...]], kind: str, key: Column, otherwise: SilentSpan
) -> DataFrame:
    since, until = F.lit(otherwise.from_us), F.lit(otherwise.until_us)
    if not rows:
        return found.withColumns({"hidden_from_us": since, "hidden_until_us": until})
    spans = found.sparkSession.createDataFrame(list(rows), f"_key {kind}, _from_us long, _until_us long")
    beside = found.join(F.broadcast(spans), key == F.col("_key"), "left")
    hidden = {
        "hidden_from_us": F.coalesce(F.col("_from_us"), since),
        "hidden_until_us": F.coalesce(F.col("_until_us"), until),
    }
    return beside.withColumns(hidden).drop("_key", "_from_us", "_until_us")
