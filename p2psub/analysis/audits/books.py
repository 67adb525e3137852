"""S19, books: what an owner's process says that pairs earned and cost is the sum of the pairs that it settled.

A process tells its trace where its books stand; here the last of these is compared with the outcomes before it. A pair
counts once in a process, unless several owners stored its event. Each counts by what its subscription bids. Unknown is
what rests on records that are missing. What promises nothing is traced by a sample, so its books are not audited.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.earnings import MISSES, amount
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.silent_spans import has_holes
from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind

_SUMS: Final = ("on_time", "expired", "earned", "penalties")
_PAIR: Final = ("process", "event", "subscription")


def audit(tables: Tables, _: AuditContext = NO_CONTEXT) -> DataFrame:
    """Books that are not the sum of their pairs, and pairs that are not what was bid."""
    return united([_unlike_their_pairs(tables), _unlike_their_bids(tables)])


def _settled(tables: Tables) -> DataFrame:
    is_settled = F.col("outcome").isin(Outcome.DELIVERED.value, *MISSES) & F.col("event").isNotNull()
    names = (*_PAIR, "sequence", "wall_us", "outcome", "reason")
    return tables.of(Kind.OUTCOME).where(is_settled).select(*names, amount().alias("amount"))


def _unlike_their_pairs(tables: Tables) -> DataFrame:
    told = tables.of(Kind.BOOKS).where(F.col("guarantee") == Guarantee.EFFECTIVELY_ONCE.value)
    last = F.max(F.struct("sequence", "wall_us", *(f"booked_{name}" for name in _SUMS))).alias("last")
    books = told.groupBy("process").agg(last).select("process", "last.*")
    settled = _settled(tables).join(F.broadcast(books.select("process", F.col("sequence").alias("_told"))), "process")
    settled = settled.where(F.col("sequence") < F.col("_told")).repartition("event")
    # Two owners that are cut apart store an event under two names; one that comes to hold both settles both.
    stores = tables.of(Kind.STORE).groupBy("event").agg((F.count("*") > 1).alias("is_stored_again"))
    first = F.min(F.struct("sequence", *_SUMS)).alias("first")
    pairs = settled.withColumns(_worth()).groupBy(*_PAIR).agg(first, *(F.sum(name).alias(name) for name in _SUMS))
    pairs = pairs.join(stores, "event", "left")
    once = {name: F.when(F.col("is_stored_again"), F.col(name)).otherwise(F.col(f"first.{name}")) for name in _SUMS}
    sums = pairs.groupBy("process").agg(*(F.sum(one).alias(name) for name, one in once.items()))
    beside = books.join(sums, "process", "left").fillna(0, [*_SUMS])
    differs = ~F.struct(*_SUMS).eqNullSafe(F.struct(*(F.col(f"booked_{name}").alias(name) for name in _SUMS)))
    holed = tables.processes.select("process", has_holes().alias("has_holes"))
    wrong = beside.where(differs).join(F.broadcast(holed), "process")
    text = "books of {process} say on time, expired, earned, penalties %d, %d, %d, %d, their pairs %d, %d, %d, %d"
    columns = (*(f"booked_{name}" for name in _SUMS), *_SUMS)
    return finding(wrong, "S19", text, *columns, is_unknown=F.col("has_holes"))


def _worth() -> dict[str, Column]:
    """What one settled pair adds to each of the sums."""
    is_on_time, nothing = F.col("outcome") == Outcome.DELIVERED.value, F.lit(0).cast("long")
    return {
        "on_time": is_on_time.cast("long"),
        "expired": (~is_on_time).cast("long"),
        "earned": F.when(is_on_time, F.col("amount")).otherwise(nothing),
        "penalties": F.when(is_on_time, nothing).otherwise(-F.col("amount")),
    }


def _unlike_their_bids(tables: Tables) -> DataFrame:
    """A full channel excuses, and what is replayed costs nothing."""
    bids = tables.of(Kind.SUBSCRIBE).where(F.col("price").isNotNull())
    said = [F.first(name).alias(name) for name in ("price", "penalty", "is_replayed")]
    bids = bids.groupBy("subscription").agg(*said)
    beside = _settled(tables).join(bids, "subscription")
    is_on_time = F.col("outcome") == Outcome.DELIVERED.value
    is_free = F.col("reason").eqNullSafe(Reason.CHANNEL_FULL.value)
    due = F.when(is_on_time, F.col("price")).when(is_free, F.lit(0)).otherwise(-F.col("penalty"))
    beside = beside.withColumn("due", due)
    is_replay = F.col("is_replayed") & ~is_on_time & (F.col("amount") == 0)
    wrong = beside.where((F.col("amount") != F.col("due")) & ~is_replay)
    return finding(wrong, "S19", "{event} earned %d with {subscription}, though by its bid it is %d", "amount", "due")
