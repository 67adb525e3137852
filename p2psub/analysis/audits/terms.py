"""S10: one acting super-node per cluster and epoch.

`role` records show it whole: two processes that began a term under one epoch are two records. Whom the members follow
in the end is not traced; the simulator's checkers look at that.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.tables import Tables
from p2psub.analysis.terms import SUPER_NODE
from p2psub.model.records import Kind


def audit(tables: Tables, _: AuditContext = NO_CONTEXT) -> DataFrame:
    """Epochs under which more than one process acted, at the last of them."""
    begun = tables.of(Kind.ROLE).where(F.col("reason") == SUPER_NODE)
    last = F.max(F.struct("wall_us", "ticks", "process", "sequence")).alias("last")
    epochs = begun.groupBy("cluster", "epoch_counter", "epoch_process").agg(
        F.min("process").alias("one"), F.max("process").alias("other"), last
    )
    shared = epochs.where(F.col("one") != F.col("other"))
    shared = shared.select("cluster", "epoch_counter", "last.wall_us", "last.process", "last.sequence")
    text = "{process} acts for %s under epoch %d, under which another process acts too"
    return united([finding(shared, "S10", text, "cluster", "epoch_counter")])
