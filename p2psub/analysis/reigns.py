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
    """One row per reign: cluster, epoch_counter, process, node, sequence, began_us, ended_us, end.

    `sequence` is of the `role` record that begins it. `end` is the reason of the process's next `role` record, else
    `closed` or `cut`: then it lasted until the last record of its process, as far as the trace knows.
    """
    own = Window.partitionBy("process").orderBy("sequence")
    after = {"next_us": F.lead("wall_us").over(own), "next_reason": F.lead("reason").over(own)}
    begun = tables.of(Kind.ROLE).withColumns(after).where(F.col("reason") == SUPER_NODE)
    last = tables.processes.select("process", "last_us", "is_closed")
    unsaid = F.when(F.col("is_closed"), "closed").otherwise("cut")
    return begun.join(F.broadcast(last), "process").select(
        "cluster",
        "epoch_counter",
        "process",
        "node",
        "sequence",
        F.col("wall_us").alias("began_us"),
        F.coalesce("next_us", "last_us").alias("ended_us"),
        F.coalesce("next_reason", unsaid).alias("end"),
    )


def splits(tables: Tables) -> list[tuple[int, int]]:
    """When some cluster had more than one super-node, with the time to notice before it and to mend after it.

    Collected: reigns are few.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for row in reigns(tables).collect():
        spans.setdefault(row.cluster, []).append((row.began_us, row.ended_us))
    split: list[tuple[int, int]] = []
    for several in spans.values():
        until_us = 0
        for began_us, ended_us in sorted(several):
            if began_us < min(until_us, ended_us):
                split.append((began_us - NOTICING_US, min(until_us, ended_us) + MENDING_US))
            until_us = max(until_us, ended_us)
    return sorted(split)


def whole_again(split: list[tuple[int, int]], at_us: int) -> int:
    """From when on something said at an instant holds for the whole overlay: at once, or when the split is mended."""
    for since_us, until_us in split:
        if since_us <= at_us < until_us:
            at_us = until_us
    return at_us
