"""What acknowledged events owe, and to whom it was paid: one meaning for answers and audits.

A pair is (event, subscription). `at_most_once` promises nothing: such an event is neither stored nor acknowledged. The
promise behind an acknowledgement is the storing that it speaks of; the pairs that this counted are owed.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.silent_spans import ALWAYS_US, is_whole
from p2psub.analysis.tables import Tables
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

NOT_ENDED: Final = (Outcome.DELIVERED, Outcome.DEFERRED)
"""Outcomes that end nothing: handed over, or still owed."""

_ACK: Final = ("wall_us", "ticks", "process", "sequence", "peer", "copies", "matched")
_STORE: Final = ("wall_us", "ticks", "process", "sequence", "matched", "cluster")


def acknowledged(tables: Tables, of: DataFrame | None = None) -> DataFrame:
    """One row per acknowledged event, or per such event in `of`: its first acknowledgement, and the storing behind it.

    The storing is the one by the peer that the acknowledgement names, else the last before it, in the order of the
    hybrid clock, which extends "happened before". `process`, `sequence`, `stored_us` and `cluster` are of the `store`
    record, and empty where there is none.

    began_us       when it was published: nothing that became of it is older. 0 if no record says so
    owed           how many subscriptions the storing counted; without one, how many the acknowledgement repeats
    discharged_us  when an owner first let go of an owed event with as many matches; with others it is another debt
    retain_us      for how long it is retained, by its `publish`; 0 if no record says so

    Many ask for this: it is worth keeping.
    """
    if of is not None:
        tables = tables._replace(records=tables.records.join(F.broadcast(of), "event", "left_semi"))
    behind = F.struct(
        F.max(F.when(_is_store() & _is_before(), F.struct(_is_named(), "owed_event"))).alias("best"),
        (F.col("matched") == F.min("ack.matched")).alias("is_repeated"),
        F.min(F.when(~_is_store(), F.col("owed_event.wall_us"))).alias("discharged_us"),
    )
    by_matched = _acks(tables).join(_owed_events(tables).hint("shuffle_hash"), "event", "left")
    known = by_matched.groupBy("event", "matched").agg(
        F.min("ack").alias("ack"), F.min("said").alias("said"), behind.alias("behind")
    )
    one = known.groupBy("event").agg(F.min("ack").alias("ack"), F.min("said").alias("said"), F.max("behind").alias("b"))
    store, is_stored = F.col("b.best.owed_event"), F.col("b.best").isNotNull()
    is_known_owed_event = is_stored | F.col("b.is_repeated")
    return one.select(
        "event",
        F.coalesce("said.wall_us", F.lit(ALWAYS_US)).alias("began_us"),
        F.col("ack.wall_us").alias("acked_us"),
        F.col("ack.ticks").alias("acked_ticks"),
        F.col("ack.process").alias("acked_process"),
        F.col("ack.sequence").alias("acked_sequence"),
        F.col("ack.copies").alias("copies"),
        store["wall_us"].alias("stored_us"),
        store["process"].alias("process"),
        store["sequence"].alias("sequence"),
        F.coalesce(store["matched"], F.col("ack.matched")).alias("owed"),
        store["cluster"].alias("cluster"),
        F.coalesce("said.retain_us", F.lit(0)).alias("retain_us"),
        F.when(is_known_owed_event, F.col("b.discharged_us")).alias("discharged_us"),
    )


def _acks(tables: Tables) -> DataFrame:
    """The first acknowledgement of each event, and its publication."""
    told = tables.of(Kind.PUBLISH, Kind.ACKNOWLEDGE).where(F.col("event").isNotNull())
    is_ack = F.col("kind") == Kind.ACKNOWLEDGE.value
    told = told.select("event", "kind", "retain_us", *_ACK).repartition("event")
    both = told.groupBy("event").agg(
        F.min(F.when(is_ack, F.struct(*_ACK))).alias("ack"),
        F.min(F.when(~is_ack, F.struct("wall_us", "retain_us"))).alias("said"),
    )
    return both.where(F.col("ack").isNotNull())


def _owed_events(tables: Tables) -> DataFrame:
    """What owners said of each event: that they are responsible, and that they let go."""
    said = F.struct(*_STORE).alias("owed_event")
    return tables.of(Kind.STORE, Kind.DISCHARGE).select("event", "kind", "node", "matched", said).repartition("event")


def _is_store() -> Column:
    return F.col("kind") == Kind.STORE.value


def _is_before() -> Column:
    return F.struct("owed_event.wall_us", "owed_event.ticks") <= F.struct("ack.wall_us", "ack.ticks")


def _is_named() -> Column:
    return F.coalesce(F.col("node") == F.col("ack.peer"), F.lit(False)).alias("is_named")


def debts(acks: DataFrame) -> DataFrame:
    """Acknowledged events, shown by the `store` record behind the acknowledgement."""
    return acks.where(F.col("stored_us").isNotNull()).withColumn("wall_us", F.col("stored_us"))


def needs_copies() -> Column:
    """Of an acknowledged event: whether it is owed or retained; what nobody wants is acknowledged without a copy."""
    return F.coalesce(F.col("owed") > 0, F.lit(True)) | (F.col("retain_us") > 0)


def is_unread() -> Column:
    """Of an acknowledged event: whether its `publish`, which alone has the content, is not in the trace."""
    return F.col("began_us") == ALWAYS_US


def reached_pairs(tables: Tables) -> DataFrame:
    """Pairs that need nothing more: handed over, or ended.

    That an owner was told `delivered` is not enough: the subscriber's own record is what counts.
    """
    delivered = tables.of(Kind.DELIVER).where(F.col("event").isNotNull() & F.col("subscription").isNotNull())
    return delivered.select("event", "subscription").unionByName(ended_pairs(tables)).distinct()


def ended_pairs(tables: Tables) -> DataFrame:
    """Pairs with an outcome that ends them without a hand-over, or held back to the end. A pair may be there twice."""
    ended = tables.of(Kind.OUTCOME).where(is_end() & F.col("event").isNotNull() & F.col("subscription").isNotNull())
    return ended.select("event", "subscription").unionByName(held_back_pairs(tables))


def is_end() -> Column:
    """Of an `outcome`: whether it ends the pair without a hand-over."""
    return ~F.col("outcome").isin([outcome.value for outcome in NOT_ENDED])


def held_back_pairs(tables: Tables) -> DataFrame:
    """Pairs of which a subscriber said `delivered` and that it held back until it ended, for want of a verdict."""
    said = tables.of(Kind.OUTCOME).where(F.col("outcome") == Outcome.DELIVERED.value).select("event", "subscription")
    return said.join(F.broadcast(unanswered(tables)), "subscription", "left_semi").select(*said.columns)


def unanswered(tables: Tables) -> DataFrame:
    """Subscriptions that never had a verdict, of processes that have ended: nothing is owed to them any more.

    Only a trace that is whole shows that no verdict came.
    """
    whole = tables.processes.where(is_whole()).select(F.col("process").alias("_whole"))
    answered = tables.of(Kind.VERDICT).select("subscription").distinct()
    asked = tables.of(Kind.SUBSCRIBE).join(answered, "subscription", "left_anti")
    return asked.join(F.broadcast(whole), F.col("process") == F.col("_whole"), "left_semi").select("subscription")
