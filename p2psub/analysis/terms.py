"""When each cluster had which super-node, as the `role` records tell it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.tables import Tables
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind

SUPER_NODE: Final = Reason.SUPER_NODE.value
"""The reason of the `role` record that begins a term."""


def terms(tables: Tables) -> DataFrame:
    """One row per term: cluster, epoch_counter, process, node, sequence, began_us, ended_us, end.

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
