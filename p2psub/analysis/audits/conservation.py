"""Conservation: received = new + duplicate, and matched = delivered + other outcomes + undischarged.

Received: within one reign a process takes a cast for a subcube as new once, and what it calls repeated it had before;
super-nodes remember casts for 120 heartbeats after the last copy. Matched: when an owner lets go of a deed, every pair
has an outcome or was handed over; and an outcome `delivered` is true. A subscriber says `delivered` also for what it
holds back until its verdict, and ends with it if none comes. That an undischarged event is still held is asked in
`copies`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.casts import REPEATED
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.debts import debts, held_back_pairs
from p2psub.analysis.doubts import ALWAYS_US, Doubts, has_holes, is_hidden_after
from p2psub.analysis.tables import Tables, process_of
from p2psub.analysis.terms import NOTHING_TOLD, Terms
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

REMEMBER_BEATS = 120
"""For how long a cast is known (`CubeConfig.remember_ticks`)."""


def audit(tables: Tables, terms: Terms = NOTHING_TOLD) -> DataFrame:
    """What came in and cannot be told apart, and what went out and cannot be found."""
    doubts, owed = terms.doubts_of(tables), debts(terms.acks_of(tables)).where(F.col("discharged_us").isNotNull())
    accounted = _accounted(tables)
    if terms.pairs is None:
        matched = _matched_by_counts(accounted, owed, doubts)
    else:
        matched = _matched_pairs(tables, accounted, owed, terms.pairs, doubts)
    remember_us = terms.settings_of(tables).beats(REMEMBER_BEATS)
    return united([*_received(tables, remember_us), matched, _untrue(tables, accounted, doubts)])


def _received(tables: Tables, remember_us: int) -> list[DataFrame]:
    names = ("process", "cast", "prefix")
    arrived = tables.of(Kind.RECEIVE, Kind.DUPLICATE).where(
        F.col("cast").isNotNull() & ((F.col("kind") == Kind.RECEIVE.value) | (F.col("reason") == REPEATED))
    )
    # Brought together by cast once, and used twice.
    arrived = arrived.select(*names, "kind", "sequence", "wall_us").repartition("cast")
    is_new = F.col("kind") == Kind.RECEIVE.value
    # Most arrive once. Only what arrived again is put in order, reign by reign.
    again = arrived.groupBy(*names).agg(F.count("*").alias("arrivals"), F.max(is_new.cast("int")).alias("was_new"))
    again = again.where((F.col("arrivals") > 1) | (F.col("was_new") == 0))
    several = _of(arrived, again)
    roles = tables.of(Kind.ROLE).select(F.col("process").alias("_ruling"), F.col("sequence").alias("_turn"))
    turns = several.join(
        F.broadcast(roles), (F.col("process") == F.col("_ruling")) & (F.col("_turn") < F.col("sequence")), "left"
    )
    records = turns.groupBy(*names, "kind", "sequence", "wall_us").agg(F.count("_turn").alias("reign"))
    arrival = F.struct("sequence", "wall_us", is_new.alias("is_new"))
    rows = records.groupBy(*names, "reign").agg(F.array_sort(F.collect_list(arrival)).alias("arrivals"))
    each = rows.select("*", F.posexplode("arrivals").alias("place", "arrival"))
    before = F.when(F.col("place") > 0, F.element_at("arrivals", F.col("place")))
    each = each.select(*names, "place", "arrival.*", before["wall_us"].alias("before_us"))
    holed = tables.processes.select(F.col("process").alias("_holed"), has_holes().alias("has_holes"))
    each = each.join(F.broadcast(holed), F.col("process") == F.col("_holed"), "left")
    is_known = F.col("wall_us") - F.col("before_us") < remember_us
    twice = each.where(F.col("is_new") & (F.col("place") > 0) & is_known)
    never = each.where(~F.col("is_new") & (F.col("place") == 0))
    has_holes_ = F.col("has_holes")
    return [
        finding(twice, "conservation", "{process} took {cast} for new twice in one reign", is_unknown=has_holes_),
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
    """Pairs with an outcome of any kind, or handed over: whether they were (`is_given`), and who was told so."""
    told_of = tables.of(Kind.DELIVER, Kind.OUTCOME).where(F.col("event").isNotNull())
    is_given = F.col("kind") == Kind.DELIVER.value
    is_told = ~is_given & (F.col("reason") == Outcome.DELIVERED.value)
    rows = told_of.select(
        "event", "subscription", is_given.alias("is_given"), is_told.alias("is_told"), "process", "sequence", "wall_us"
    )
    teller = F.struct("wall_us", "process", "sequence")
    return (
        rows.repartition("event")
        .groupBy("event", "subscription")
        .agg(F.max("is_given").alias("is_given"), F.max(F.when(F.col("is_told"), teller)).alias("told"))
    )


def _matched_by_counts(accounted: DataFrame, let_go: DataFrame, doubts: Doubts) -> DataFrame:
    counted = accounted.groupBy("event").agg(F.count("*").alias("known"))
    beside = let_go.join(counted, "event", "left").fillna(0, ["known"])
    short = doubts.with_hidden_anywhere(beside.where(F.col("owed") > F.col("known")))
    text = "{event} was let go of by its owners, though it was owed to %d subscriptions and has %d outcomes"
    is_unknown = is_hidden_after(F.col("began_us"))
    return finding(short, "conservation", text, "owed", "known", is_unknown=is_unknown)


def _matched_pairs(
    tables: Tables, accounted: DataFrame, let_go: DataFrame, pairs: DataFrame, doubts: Doubts
) -> DataFrame:
    missing = pairs.where("is_owed").join(accounted, ["event", "subscription"], "left_anti")
    beside = missing.join(let_go, "event")
    ends = tables.processes.select(F.col("process").alias("_subscriber"), "last_us", "is_closed")
    beside = beside.join(F.broadcast(ends), process_of(F.col("subscription")) == F.col("_subscriber"))
    # What was owed to a process that has ended is owed to nobody.
    beside = beside.where(~F.col("is_closed") | (F.col("last_us") >= F.col("discharged_us")))
    is_unknown = is_hidden_after(F.col("began_us")) | ~F.col("is_closed")
    text = "{event} was let go of by its owners, though nothing says what became of it for {subscription}"
    return finding(doubts.with_hidden_in_ring(beside), "conservation", text, is_unknown=is_unknown)


def _untrue(tables: Tables, accounted: DataFrame, doubts: Doubts) -> DataFrame:
    """One finding per pair, at the last who was told."""
    ended = tables.of(Kind.UNSUBSCRIBE).select("subscription")
    untrue = accounted.where(~F.col("is_given") & F.col("told").isNotNull()).select("event", "subscription", "told.*")
    untrue = untrue.join(held_back_pairs(tables), ["event", "subscription"], "left_anti")
    untrue = untrue.join(F.broadcast(ended), "subscription", "left_anti")
    beside = doubts.with_hidden_of(untrue, process_of(F.col("subscription")))
    is_unknown = is_hidden_after(F.lit(ALWAYS_US))
    text = "{process} was told that {event} was delivered to {subscription}, but nobody handed it over"
    return finding(beside, "conservation", text, is_unknown=is_unknown)
