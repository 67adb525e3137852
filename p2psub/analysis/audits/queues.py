"""S13: every drop says why.

How full a queue was is not traced: its bound is checked in the simulator, and a running peer shows it at `/queuez`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind


def audit(tables: Tables, _: AuditContext = NO_CONTEXT) -> DataFrame:
    """Drops without a reason."""
    dropped = tables.of(Kind.DROP).where(F.coalesce(F.col("reason"), F.lit("")) == "")
    return united([finding(dropped, "S13", "{process} dropped something and does not say why")])
