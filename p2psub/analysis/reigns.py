"""When each cluster had which super-node, as the `role` records tell it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind

SUPER_NODE: Final = "super_node"
"""The reason of the `role` record that begins a reign."""

NOTICING_US: Final = 8_000_000
"""How long before a second reign began a verdict may already have spoken for a part alone: a failover takes as long."""
MENDING_US: Final = 20_000_000
"""How long after the second reign's end all changes are everywhere: a ring is ideal again after as long."""


def reigns(tables: Tables) -> DataFrame:
    """`cluster`, `process`, `sequence`, `begun_us`, `ended_us`: until the process's next role, or its last record."""
    own = Window.partitionBy("process").orderBy("sequence")
    roles = tables.of(Kind.ROLE).withColumn("next_us", F.lead("wall_us").over(own))
    begun = roles.where(F.col("reason") == SUPER_NODE)
    last = tables.processes.select("process", "last_us")
    ended_us = F.coalesce("next_us", "last_us").alias("ended_us")
    return begun.join(F.broadcast(last), "process").select(
        "cluster", "process", "sequence", F.col("wall_us").alias("begun_us"), ended_us
    )


def splits(tables: Tables) -> list[tuple[int, int]]:
    """When some cluster had more than one super-node, with the time to notice before it and to mend after it.

    Collected: reigns are few.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for row in reigns(tables).toLocalIterator():
        spans.setdefault(row.cluster, []).append((row.begun_us, row.ended_us))
    split: list[tuple[int, int]] = []
    for several in spans.values():
        until_us = 0
        for begun_us, ended_us in sorted(several):
            if begun_us < min(until_us, ended_us):
                split.append((begun_us - NOTICING_US, min(until_us, ended_us) + MENDING_US))
            until_us = max(until_us, ended_us)
    return sorted(split)


def whole_again(split: list[tuple[int, int]], at_us: int) -> int:
    """From when on something said at an instant holds for the whole overlay: at once, or when the split is mended."""
    for since_us, until_us in split:
        if since_us <= at_us < until_us:
            at_us = until_us
    return at_us
