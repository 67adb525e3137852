"""The headline of an analysis under the names of `--json`: the figures, and how much was read."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.compaction import Compacted
from p2psub.analysis.figures import figures
from p2psub.analysis.terms import terms

SKIPPED_NAMED: Final = 25
"""The first; the table has all."""


def headline(compacted: Compacted, known: Mapping[str, DataFrame] = MappingProxyType({})) -> dict[str, Any]:
    """All of it; a few small results come to this process. Answers that are `known`, by name, are not asked again."""
    tables = compacted.tables
    wrote = F.col("records") > 0
    read = tables.processes.agg(
        F.count_if(wrote).alias("processes"),
        F.count_if(wrote & ~F.col("is_closed")).alias("cut"),
        F.count_if(~wrote).alias("unheard"),
    ).collect()[0]
    return {
        **msgspec.to_builtins(figures(tables, known)),
        "failovers": count_failovers(known["timeline"] if "timeline" in known else terms(tables)),
        "rows": compacted.rows,
        "files": compacted.files,
        "files_repeated": compacted.repeated,
        "files_skipped": len(compacted.skipped),
        "skipped": [{"file": str(path), "reason": reason} for path, reason in compacted.skipped[:SKIPPED_NAMED]],
        **read.asDict(),
    }


def count_failovers(rule: DataFrame) -> int:
    """How often a cluster got another peer for its super-node; terms are few.

    Founders of one cluster that meet have the same counter: that all but one give way is not a failover.
    """
    clusters: dict[str, list[tuple[int, int, object]]] = {}
    for row in rule.select("cluster", "epoch_counter", "ended_us", "node").collect():
        clusters.setdefault(row.cluster, []).append((row.epoch_counter, row.ended_us, row.node))
    return sum(
        after[0] > before[0] and after[2] != before[2]
        for several in clusters.values()
        for before, after in pairwise(sorted(several))
    )
