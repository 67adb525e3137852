"""Names for people instead of the numbers of one compaction: peers in hex, events as `peer.start.number`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.schemas import KEY_BITS
from p2psub.analysis.tables import Tables, process_of

NODES: Final = frozenset({"node", "peer", "from_node", "to_node"})
PROCESSES: Final = frozenset({"process"})
KEYS: Final = frozenset({"event", "subscription", "cast"})


def named(tables: Tables, frame: DataFrame) -> DataFrame:
    """The frame with names in all columns that hold numbers; what no trace names stays empty."""
    for column in frame.columns:
        if column in NODES:
            frame = _joined(frame, column, tables.nodes.select(F.col("node").alias("_of"), F.col("id").alias("_name")))
        elif column in PROCESSES:
            frame = _joined(frame, column, process_names(tables))
        elif column in KEYS:
            number = F.concat(F.lit("."), F.col(column).bitwiseAND((1 << KEY_BITS) - 1).cast("string"))
            frame = _joined(frame, column, process_names(tables), process_of(F.col(column)), number)
    return frame


def process_names(tables: Tables) -> DataFrame:
    """`_of`, the number of a process, and its `_name`: the peer's id and how often it had started."""
    name = F.concat_ws(".", "id", F.col("incarnation").cast("string"))
    starts = tables.processes.join(F.broadcast(tables.nodes), "node")
    return starts.select(F.col("process").alias("_of"), name.alias("_name"))


def _joined(
    frame: DataFrame, column: str, names: DataFrame, of: Column | None = None, suffix: Column | None = None
) -> DataFrame:
    order: Sequence[str] = frame.columns
    of = F.col(column) if of is None else of
    name = F.col("_name") if suffix is None else F.concat("_name", suffix)
    beside = frame.withColumn("_wanted", of).join(F.broadcast(names), F.col("_wanted") == F.col("_of"), "left")
    return beside.withColumn(column, name).select(*order)
