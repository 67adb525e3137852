"""S5 and S9: an acknowledgement's copies exist, and what is owed is held by somebody.

`store` and `copy` are written when a copy is durable, and the hybrid clock puts them before the acknowledgement that
counts them, so S5 can be seen whole: as many copies as stated, and of them min(3, a majority of the members seen
lately), or what peers were set to instead of 3. Members are peers that were in the ring (`ring`) for 10 heartbeats, had
not ended gracefully, and wrote anything in the last 600. What is neither owed nor retained needs no copies, but a
`store` that says so.

Of S9 little can be seen: a member that lets go of a copy writes nothing, so no reader can count min(r + 1, N) copies
out of a trace. But a member that comes back says what it still holds (`copy`, recovered). An event that no owner let
go of, and that no peer's last process ever held, is gone. Whether all super-nodes hold the same changes cannot be seen
either: candidates are handed them without a record.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import Fault, faulty, finding, united
from p2psub.analysis.debts import debts, needs_copies
from p2psub.analysis.partitions import with_whole_again
from p2psub.analysis.silent_spans import SilentSpans, is_hidden_after, is_hidden_before
from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind

SETTLED_BEATS = 10
"""A member that joined this long ago is known to every super-node that may come."""
LEAVING_BEATS = 30
"""As long may it take a process to end gracefully (`LEAVE_S_MAX`, `CLOSING_S_MAX`)."""
SEEN_BEATS = 600
"""Members seen within this time count for the copies (`ClusterConfig.seen_ticks`)."""


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Acknowledgements without their copies, and events that no peer holds any more."""
    context = context._replace(acks=context.acks_of(tables), silent_spans=context.silent_spans_of(tables))
    shown = {"process": "acked_process", "sequence": "acked_sequence", "wall_us": "acked_us"}
    acked = context.acks_of(tables).withColumns({name: F.col(column) for name, column in shown.items()})
    stated = _stated(tables, acked, context.silent_spans_of(tables))
    return united([stated, _too_few(tables, acked, context), _held_by_no_peer(tables, context)])


def _stated(tables: Tables, acked: DataFrame, silent_spans: SilentSpans) -> DataFrame:
    copies = tables.of(Kind.STORE, Kind.COPY).select("event", "node", "wall_us", "ticks").repartition("event")
    stamps = acked.select("event", "acked_us", "acked_ticks").hint("shuffle_hash")
    is_same, is_before = F.col("wall_us") == F.col("acked_us"), F.col("wall_us") < F.col("acked_us")
    durable = copies.join(stamps, "event").where(is_before | (is_same & (F.col("ticks") <= F.col("acked_ticks"))))
    counted = durable.select("event", "node").distinct().groupBy("event").agg(F.count("*").alias("durable"))
    counts = acked.join(counted, "event", "left").fillna(0, ["durable"])
    is_stored, is_silent = F.col("stored_us").isNotNull(), F.col("copies").isNull()
    is_short = is_stored & needs_copies() & (F.col("copies") > F.col("durable"))
    short = counts.where(is_short | ~is_stored | is_silent)
    anywhere = silent_spans.with_hidden_anywhere(short).withColumn("is_unheard", _is_hidden())
    fewer = "{event} was acknowledged with %d copies, %d were durable"
    never = "{event} was acknowledged, but no owner had stored it"
    silent = "{event} was acknowledged without saying how many copies there are"
    return faulty(
        silent_spans.with_hidden_in_ring(anywhere),
        [
            Fault(is_short, "S5", fewer, ("copies", "durable"), is_unknown=_is_hidden()),
            Fault(~is_stored, "S5", never, is_unknown=F.col("is_unheard")),
            Fault(is_silent, "S5", silent),
        ],
    )


def _too_few(tables: Tables, acked: DataFrame, context: AuditContext) -> DataFrame:
    settings = context.settings_of(tables)
    few = acked.where(needs_copies() & (F.col("copies") < settings.copies))
    # Who leaves gracefully is discounted before it closes.
    leaving_us = -settings.beats(LEAVING_BEATS)
    seen_us = F.col("last_us") + F.when(F.col("is_closed"), leaving_us).otherwise(settings.beats(SEEN_BEATS))
    settled_us = F.col("joined_us") + settings.beats(SETTLED_BEATS)
    is_member = (settled_us <= F.col("acked_us")) & (F.col("acked_us") <= seen_us)
    members = F.broadcast(_members(tables))
    counted = few.join(members, (F.col("cluster") == F.col("ring")) & is_member).groupBy("event")
    enough = F.least(F.lit(settings.copies), F.floor(F.count("*") / 2) + 1).alias("required")
    short = few.join(counted.agg(enough), "event").where(F.col("copies") < F.col("required"))
    # What owes nothing any more when its publisher asks again needs no copies.
    short = short.where(F.col("discharged_us").isNull() | (F.col("discharged_us") > F.col("acked_us")))
    # Each part of a ring that is cut counts its own members, after a while.
    short = with_whole_again(short, context.partitions_of(tables), F.col("acked_us"))
    is_unknown = _is_hidden() | F.col("whole_again_us").isNotNull()
    short = context.silent_spans_of(tables).with_hidden_in_ring(short)
    text = "{event} was acknowledged with %d copies, its ring needs %d"
    return finding(short, "S5", text, "copies", "required", is_unknown=is_unknown)


def _is_hidden() -> Column:
    """Whether a copy may have been made in silence: between the publication and the acknowledgement."""
    return is_hidden_before(F.col("acked_us")) & is_hidden_after(F.col("began_us"))


def _members(tables: Tables) -> DataFrame:
    """Each peer in its ring: since when, until when, and whether it ended gracefully."""
    joined = tables.of(Kind.RING).groupBy("node", "process", F.col("cluster").alias("ring"))
    lives = tables.processes.select("process", "last_us", "is_closed")
    starts = joined.agg(F.min("wall_us").alias("joined_us")).join(F.broadcast(lives), "process")
    return starts.groupBy("ring", "node").agg(
        F.min("joined_us").alias("joined_us"),
        F.max("last_us").alias("last_us"),
        F.max_by("is_closed", "last_us").alias("is_closed"),
    )


def _held_by_no_peer(tables: Tables, context: AuditContext) -> DataFrame:
    undischarged = debts(context.acks_of(tables)).where(F.col("discharged_us").isNull() & needs_copies())
    held_on = context.settle(undischarged)
    starts = tables.processes.where(F.col("records") > 0)
    latest = starts.groupBy("node").agg(F.max_by("process", "incarnation").alias("process"))
    copies = tables.of(Kind.STORE, Kind.COPY).select("process", "event")
    held = copies.join(F.broadcast(latest), "process", "left_semi").select("event")
    let_go = tables.of(Kind.DISCHARGE).select("event")
    accounted = let_go.unionByName(held).join(held_on.select("event"), "event", "left_semi")
    gone = context.silent_spans_of(tables).with_hidden_in_ring(held_on.join(accounted, "event", "left_anti"))
    text = "no owner let go of {event}, stored by {process}, and no peer that runs since holds it"
    return finding(gone, "S9", text, is_unknown=is_hidden_after(F.col("began_us")))
