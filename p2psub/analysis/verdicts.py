"""What the audits found, counted, and as much of it as a person reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audits.findings import UNKNOWN, VIOLATED

SHOWN_OF_EACH: Final = 25
"""Of each promise and verdict, the earliest; the table has all."""


@dataclass(frozen=True, slots=True)
class AuditVerdicts:
    """How many there are of each promise and verdict, and the first of them as rows of `schemas.VIOLATIONS`."""

    counts: dict[tuple[str, str], int]
    shown: list[dict[str, Any]]

    def total(self, verdict: str) -> int:
        """How many have it."""
        return sum(count for (_, said), count in self.counts.items() if said == verdict)

    def figures(self) -> dict[str, Any]:
        """As `--json` has them: violations are what was broken; of the undecided the records are missing."""
        return {
            "violated": self.total(VIOLATED),
            "violations": [one for one in self.shown if one["verdict"] == VIOLATED],
            "undecided": self.total(UNKNOWN),
            "undecided_findings": [one for one in self.shown if one["verdict"] == UNKNOWN],
        }


def gather_verdicts(violations: DataFrame) -> AuditVerdicts:
    """Count all, and take the earliest of each promise; what was broken comes first."""
    counts = {(row.invariant, row.verdict): row["count"] for row in _counted(violations).collect()}
    if not counts:
        return AuditVerdicts({}, [])
    # Within a run by the numbers of the events, of which the shorter is the smaller.
    place = ("wall_us", "process", "sequence", F.length("event"), "event", "text")
    order = Window.partitionBy("invariant", "verdict").orderBy(*place)
    first = violations.withColumn("_rank", F.row_number().over(order)).where(F.col("_rank") <= SHOWN_OF_EACH)
    rows = [row.asDict() for row in first.drop("_rank").collect()]
    is_broken_first = sorted(rows, key=lambda row: (row["verdict"] != VIOLATED, row["invariant"], row["wall_us"] or 0))
    return AuditVerdicts(counts, is_broken_first)


def _counted(violations: DataFrame) -> DataFrame:
    return violations.groupBy("invariant", "verdict").count()
