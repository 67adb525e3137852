"""S8, the ring, as far as a trace goes: members of one table, and processes that found no ring.

Successor lists are not traced, so live successors and principals cannot be checked here; the simulator does it, and a
running peer shows its own at `/ringz`. What a trace has: `ring` when a member entered, and `table` when it obeyed one.
A table's version (term and number) names one table: each member that follows it must count the same owners. That a
process ran for 60 heartbeats and never entered a ring is a finding too, but an unknown one: the trace does not know
whether it could reach another peer.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.silent_spans import has_holes
from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind

JOIN_BEATS = 60
"""Six times the bound on joining in quiet (10 heartbeats): faults take their time."""


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Tables in two versions, and processes without a ring."""
    return united([_two_tables(tables), _without_ring(tables, context.settings_of(tables).beats(JOIN_BEATS))])


def _two_tables(tables: Tables) -> DataFrame:
    versions = tables.of(Kind.TABLE).groupBy("epoch_counter", "epoch_process", "version")
    odd = F.max(F.struct("owners", "process", "sequence", "wall_us")).alias("odd")
    sizes = versions.agg(F.min("owners").alias("fewest"), F.max("owners").alias("most"), odd)
    two = sizes.where(F.col("fewest") != F.col("most")).select("*", "odd.process", "odd.sequence", "odd.wall_us")
    text = "table %d of one term has %d owners for {process} and %d for another member"
    return finding(two, "S8", text, "version", "most", "fewest")


def _without_ring(tables: Tables, join_us: int) -> DataFrame:
    joined = tables.of(Kind.RING).select("process").distinct()
    lonely = tables.processes.where(~has_holes() & (F.col("last_us") - F.col("first_us") >= join_us))
    lonely = lonely.join(joined, "process", "left_anti")
    lonely = lonely.withColumns({"sequence": F.col("last_sequence"), "wall_us": F.col("last_us")})
    text = "{process} ran for more than %d heartbeats and never entered a ring"
    return finding(lonely, "S8", text, F.lit(JOIN_BEATS), is_unknown=F.lit(True))
