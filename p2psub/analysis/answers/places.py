"""Where each cluster stood in the cube in the end, by the newest entry of any directory."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind


def places(tables: Tables) -> DataFrame:
    """One row per cluster: `prefix`, its `version`, `standing` (present, lost or gone), and its last super-node.

    As in the directory the place is the one of the highest version, the voice that of the highest epoch.
    """
    said = tables.of(Kind.DIRECTORY).select(
        "cluster",
        "epoch_counter",
        "epoch_process",
        "wall_us",
        F.coalesce("prefix", F.lit("")).alias("prefix"),
        "standing",
        "version",
    )
    newest = said.groupBy("cluster").agg(
        F.max(F.struct("version", "wall_us", "prefix", "standing")).alias("place"),
        F.max(F.struct("epoch_counter", "wall_us", "epoch_process")).alias("voice"),
    )
    who = tables.processes.select(F.col("process").alias("epoch_process"), "node")
    flat = newest.select(
        "cluster", "place.prefix", "place.version", "place.standing", "voice.epoch_counter", "voice.epoch_process"
    )
    return flat.join(F.broadcast(who), "epoch_process", "left").drop("epoch_process")
