"""S11: a change is stored once, a number names one change, and a broadcast in a settled cube costs N-1 transfers.

The first two stand in `change` and `number`. The third is judged where the trace shows a settled cube: for a while
before and after the cast no super-node came or went and no directory changed, no half was handed on a second time
(links lost something, which is not traced), the overlay was in one part, and N is the number of clusters with a
super-node. Everything else is left to the answers about casts, which count the transfers of all of them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.casts import BROADCAST
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.partitions import with_whole_again
from p2psub.analysis.silent_spans import is_hidden_after, is_hidden_before
from p2psub.analysis.tables import Tables
from p2psub.analysis.terms import terms
from p2psub.model.records import Kind

CALM_BEATS = 3
"""A cast in a settled cube is over by then; nothing may change in this span, the one before and the one after."""


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Changes stored or numbered twice, and broadcasts with the wrong number of transfers."""
    return united([_stored_twice(tables), _numbered_twice(tables), _transfers(tables, context)])


def _stored_twice(tables: Tables) -> DataFrame:
    stored = tables.of(Kind.CHANGE).groupBy("process", "change")
    last = F.max(F.struct("sequence", "wall_us", "cluster")).alias("last")
    counted = stored.agg(F.count("*").alias("times"), last).select("process", "change", "times", "last.*")
    text = "{process} stored the change %s %d times as new"
    return finding(counted.where(F.col("times") > 1), "S11", text, "change", "times")


def _numbered_twice(tables: Tables) -> DataFrame:
    named = F.struct("subscription", "subscribed_version", "advertised")
    last = F.max(F.struct("wall_us", "process", "sequence", "subscription")).alias("last")
    numbers = tables.of(Kind.NUMBER).groupBy("change").agg(F.min(named).alias("one"), F.max(named).alias("other"), last)
    two = numbers.where(F.col("one") != F.col("other"))
    two = two.select("change", "last.wall_us", "last.process", "last.sequence", "last.subscription")
    return finding(two, "S11", "the number %s names {subscription} and another change", "change")


def _transfers(tables: Tables, context: AuditContext) -> DataFrame:
    calm_us, silent_spans = context.settings_of(tables).beats(CALM_BEATS), context.silent_spans_of(tables)
    casts = tables.of(Kind.CAST).where(F.col("payload") == BROADCAST)
    casts = casts.select("cast", "process", "sequence", "wall_us", _span_of("wall_us", calm_us).alias("span"))
    settled = casts.join(_stirred(tables, calm_us), "span", "left_anti")
    settled = with_whole_again(settled, context.partitions_of(tables), F.col("wall_us"))
    settled = settled.where(F.col("whole_again_us").isNull())
    forwards = tables.of(Kind.FORWARD).groupBy("cast")
    counted = forwards.agg(F.count("*").alias("transfers"), F.max("tries").alias("tries"))
    spent = settled.join(counted, "cast", "left").fillna(0, ["transfers", "tries"]).where(F.col("tries") <= 1)
    beside = spent.join(_clusters(tables, settled.select("span").distinct(), calm_us), "span")
    beside = silent_spans.with_hidden_anywhere(beside.where(F.col("transfers") != F.col("clusters") - 1))
    is_unknown = is_hidden_before(F.col("wall_us") + calm_us) & is_hidden_after(F.col("wall_us") - calm_us)
    text = "the broadcast {cast} in a settled cube of %d clusters took %d transfers"
    return finding(beside, "S11", text, "clusters", "transfers", is_unknown=is_unknown)


def _span_of(wall_us: str, calm_us: int) -> Column:
    return F.floor(F.col(wall_us) / calm_us)


def _stirred(tables: Tables, calm_us: int) -> DataFrame:
    """Spans of time in which the cube was not settled, or that are beside one."""
    changed = tables.of(Kind.ROLE, Kind.DIRECTORY).select("wall_us")
    ended = terms(tables).select(F.col("ended_us").alias("wall_us"))
    beside = F.explode(F.array(*[_span_of("wall_us", calm_us) + step for step in (-1, 0, 1)])).alias("span")
    return changed.unionByName(ended).select(beside).distinct()


def _clusters(tables: Tables, spans: DataFrame, calm_us: int) -> DataFrame:
    """How many clusters had a super-node throughout each of the spans; a term may last for a million others."""
    since, until = _span_of("began_us", calm_us).alias("since"), _span_of("ended_us", calm_us).alias("until")
    led = terms(tables).select("cluster", since, until)
    during = spans.join(F.broadcast(led), F.col("span").between(F.col("since"), F.col("until")))
    return during.groupBy("span").agg(F.count_distinct("cluster").alias("clusters"))
