"""Conservation: received = new + duplicate, and matched = delivered + other outcomes + undischarged.

Received: within one term a process takes a cast for a subcube as new once, and what it calls repeated it had before;
super-nodes remember casts for 120 heartbeats after the last copy. Matched: when an owner lets go of an owed event,
every pair has an outcome or was handed over; and an outcome `delivered` is true. A subscriber says `delivered` also for
what it holds back until its verdict, and ends with it if none comes. That an undischarged event is still held is asked
in `copies`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.casts import REPEATED
from p2psub.analysis.answers.coverage import covered
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.debts import debts, is_unread, unanswered
from p2psub.analysis.silent_spans import ALWAYS_US, SilentSpans, has_holes, is_hidden_after
from p2psub.analysis.tables import Tables, process_of
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

REMEMBER_BEATS = 120
"""For how long a cast is known (`CubeConfig.remember_ticks`)."""


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """What came in and cannot be told apart, and what went out and cannot be found."""
    context = context._replace(acks=context.acks_of(tables), silent_spans=context.silent_spans_of(tables))
    let_go = debts(context.acks_of(tables)).where(F.col("discharged_us").isNotNull())
    if context.pairs is None:
        matched = [_matched_by_counts(tables, let_go, context)]
    else:
        # Without its content an event is in no pair.
        unread = _matched_by_counts(tables, let_go.where(is_unread()), context)
        matched = [_matched_pairs(tables, let_go, context.pairs, context.silent_spans_of(tables)), unread]
    return united([*_received(tables, context), *matched, _untrue(tables, context)])


def _received(tables: Tables, context: AuditContext) -> list[DataFrame]:
    names = ("process", "cast", "prefix")
    arrived = tables.of(Kind.RECEIVE, Kind.DUPLICATE).where(
        F.col("cast").isNotNull() & ((F.col("kind") == Kind.RECEIVE.value) | (F.col("reason") == REPEATED))
    )
    arrived = arrived.select(*names, "kind", "sequence", "wall_us")
    is_new = F.col("kind") == Kind.RECEIVE.value
    # Most arrive once. Only what arrived again is put in order, term by term.
    arrivals = arrived.repartition("cast").groupBy(*names)
    again = arrivals.agg(F.count("*").alias("arrivals"), F.max(is_new.cast("int")).alias("was_new"))
    several = _of(arrived, context.settle(again.where((F.col("arrivals") > 1) | (F.col("was_new") == 0))))
    roles = tables.of(Kind.ROLE).select(F.col("process").alias("_leading"), F.col("sequence").alias("_turn"))
    turns = several.join(
        F.broadcast(roles), (F.col("process") == F.col("_leading")) & (F.col("_turn") < F.col("sequence")), "left"
    )
    records = turns.groupBy(*names, "kind", "sequence", "wall_us").agg(F.count("_turn").alias("term"))
    arrival = F.struct("sequence", "wall_us", is_new.alias("is_new"))
    rows = records.groupBy(*names, "term").agg(F.array_sort(F.collect_list(arrival)).alias("arrivals"))
    each = rows.select("*", F.posexplode("arrivals").alias("place", "arrival"))
    before = F.when(F.col("place") > 0, F.element_at("arrivals", F.col("place")))
    each = each.select(*names, "place", "arrival.*", before["wall_us"].alias("before_us"))
    holed = tables.processes.select(F.col("process").alias("_holed"), has_holes().alias("has_holes"))
    each = each.join(F.broadcast(holed), F.col("process") == F.col("_holed"), "left")
    is_known = F.col("wall_us") - F.col("before_us") < context.settings_of(tables).beats(REMEMBER_BEATS)
    twice = each.where(F.col("is_new") & (F.col("place") > 0) & is_known)
    never = each.where(~F.col("is_new") & (F.col("place") == 0))
    has_holes_ = F.col("has_holes")
    return [
        finding(twice, "conservation", "{process} took {cast} for new twice in one term", is_unknown=has_holes_),
        finding(never, "conservation", "{process} calls {cast} repeated, which it never had", is_unknown=has_holes_),
    ]


def _of(arrived: DataFrame, again: DataFrame) -> DataFrame:
    """The arrivals of what arrived again; the whole cube's prefix is empty, not missing."""
    one, other = arrived.alias("one"), again.alias("other")
    same = (
        (F.col("one.process") == F.col("other.process"))
        & (F.col("one.cast") == F.col("other.cast"))
        & F.col("one.prefix").eqNullSafe(F.col("other.prefix"))
    )
    return one.join(other, same, "left_semi")


def _accounted(tables: Tables) -> DataFrame:
    """Pairs with an outcome of any kind, or handed over. A pair may be there twice."""
    told_of = tables.of(Kind.DELIVER, Kind.OUTCOME).where(F.col("event").isNotNull())
    return told_of.select("event", "subscription")


def _matched_by_counts(tables: Tables, let_go: DataFrame, context: AuditContext) -> DataFrame:
    # Coverage counts no pair that was not handed over and has no outcome: where it misses none, none is missing here.
    missing = context.settle(covered(tables, context).where(F.col("missing") > 0).select("event"))
    accounted = _accounted(tables).join(missing, "event", "left_semi").distinct()
    counted = accounted.groupBy("event").agg(F.count("*").alias("known"))
    beside = let_go.join(missing, "event", "left_semi").join(counted, "event", "left").fillna(0, ["known"])
    short = context.silent_spans_of(tables).with_hidden_anywhere(beside.where(F.col("owed") > F.col("known")))
    text = "{event} was let go of by its owners, though it was owed to %d subscriptions and has %d outcomes"
    is_unknown = is_hidden_after(F.col("began_us"))
    return finding(short, "conservation", text, "owed", "known", is_unknown=is_unknown)


def _matched_pairs(tables: Tables, let_go: DataFrame, pairs: DataFrame, silent_spans: SilentSpans) -> DataFrame:
    missing = pairs.where("is_owed").join(_accounted(tables), ["event", "subscription"], "left_anti")
    beside = missing.join(let_go, "event")
    ends = tables.processes.select(F.col("process").alias("_subscriber"), "last_us", "is_closed")
    beside = beside.join(F.broadcast(ends), process_of(F.col("subscription")) == F.col("_subscriber"))
    # What was owed to a process that has ended is owed no more.
    beside = beside.where(~F.col("is_closed") | (F.col("last_us") >= F.col("discharged_us")))
    is_unknown = is_hidden_after(F.col("began_us")) | ~F.col("is_closed")
    text = "{event} was let go of by its owners, though nothing says what became of it for {subscription}"
    return finding(silent_spans.with_hidden_in_ring(beside), "conservation", text, is_unknown=is_unknown)


def _untrue(tables: Tables, context: AuditContext) -> DataFrame:
    """One finding per pair, at the last who was told."""
    pair = ("event", "subscription")
    is_told = (F.col("outcome") == Outcome.DELIVERED.value) & F.col("event").isNotNull()
    told = tables.of(Kind.OUTCOME).where(is_told).select(*pair, "process", "sequence", "wall_us")
    # Those who gave up, or held back to the end, say so of what they never handed over.
    ended = tables.of(Kind.UNSUBSCRIBE).select("subscription").unionByName(unanswered(tables))
    told = told.join(F.broadcast(ended), "subscription", "left_anti")
    given = tables.of(Kind.DELIVER).where(F.col("event").isNotNull()).select(*pair, F.lit(True).alias("is_given"))
    both = given.unionByName(told.select(*pair, F.lit(False).alias("is_given"))).repartition("event")
    pairs = both.groupBy(*pair).agg(F.max("is_given").alias("is_given"))
    untrue = context.settle(pairs.where(~F.col("is_given")).select(*pair))
    last = F.max(F.struct("wall_us", "process", "sequence")).alias("last")
    shown = told.join(untrue, [*pair], "left_semi").groupBy(*pair).agg(last).select(*pair, "last.*")
    beside = context.silent_spans_of(tables).with_hidden_of(shown, process_of(F.col("subscription")))
    is_unknown = is_hidden_after(F.lit(ALWAYS_US))
    text = "{process} was told that {event} was delivered to {subscription}, but no subscriber handed it over"
    return finding(beside, "conservation", text, is_unknown=is_unknown)
