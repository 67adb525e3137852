"""Small numbers for long names: every peer and every process that a trace speaks of, in the order of their names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.loader import KEYS
from p2psub.analysis.runs import apart
from p2psub.analysis.schemas import KEY_BITS, RECORDS
from p2psub.analysis.tables import Tables, process_of
from p2psub.traces.segments import SHORT_CHARS

Unread = Mapping[tuple[str, int], int]
"""How many segments of a start were skipped, by the short name of its node and its incarnation."""


def number_names(rows: DataFrame, unread: Unread = MappingProxyType({})) -> DataFrame:
    """Columns id, incarnation, process, node, name; a peer that is only named as a peer has no process.

    Also those that left no trace of their own, and are known from others' records, or from the names of `unread` files
    alone; then the id may be the short name. They are few: one row for each start of a peer.
    """
    own = [("node", "incarnation"), ("epoch_node", "epoch_incarnation")]
    of_keys = [(f"{key}_node", f"{key}_incarnation") for key in KEYS]
    processes = [
        rows.select(F.col(node).alias("name"), F.col(start).alias("incarnation")) for node, start in own + of_keys
    ]
    peers = rows.select(F.col("peer").alias("name"), F.lit(None).cast("long").alias("incarnation"))
    # Each made distinct by itself first: that is a scan of two columns, with little to hand on.
    several = [part.where("name is not null").distinct() for part in [*processes, peers]]
    named = reduce(DataFrame.unionByName, several).distinct().withColumn("id", _hex_of(F.col("name")))
    if unread:
        named = named.unionByName(_unheard(named, unread))
    in_order = Window.orderBy("id", F.col("incarnation").asc_nulls_last())
    return named.select(
        "name",
        "id",
        "incarnation",
        F.when(F.col("incarnation").isNotNull(), F.count("incarnation").over(in_order)).cast("int").alias("process"),
        F.dense_rank().over(Window.orderBy("id")).cast("int").alias("node"),
    )


def _unheard(named: DataFrame, unread: Unread) -> DataFrame:
    """Starts of which nothing but skipped segments is known."""
    starts = named.sparkSession.createDataFrame(sorted(unread), "short string, incarnation long")
    ids = named.select(short_of(F.col("id")).alias("short"), "id", "incarnation")
    known = ids.groupBy("short").agg(F.min("id").alias("known"))
    id_ = F.coalesce("known", "short")
    silent = starts.join(ids, ["short", "incarnation"], "left_anti").join(known, "short", "left")
    return silent.select(F.base64(F.unhex(id_)).alias("name"), "incarnation", id_.alias("id"))


def short_of(id_: Column) -> Column:
    """How a node is called in the names of its segments."""
    return F.substring(id_, 1, SHORT_CHARS)


def _hex_of(name: Column) -> Column:
    # Spark may ask this of rows that are left out, before it leaves them out.
    return F.lower(F.hex(F.try_to_binary(name, F.lit("base64"))))


def numbered(rows: DataFrame, names: DataFrame) -> DataFrame:
    """The rows with numbers for names and runs taken apart, as `schemas.RECORDS` says."""
    processes = names.where("process is not null")
    for node, start, process in [
        ("node", "incarnation", "process"),
        ("epoch_node", "epoch_incarnation", "epoch_process"),
        *((f"{key}_node", f"{key}_incarnation", f"{key}_process") for key in KEYS),
    ]:
        known = processes.select(
            F.col("name").alias("known_name"),
            F.col("incarnation").alias("known_start"),
            F.col("process").alias(process),
        )
        is_it = (F.col(node) == F.col("known_name")) & (F.col(start) == F.col("known_start"))
        rows = rows.join(F.broadcast(known), is_it, "left").drop("known_name", "known_start")
    nodes = names.select("name", F.col("node").alias("number")).distinct()
    for node in ("node", "peer"):
        known = nodes.select(F.col("name").alias(node), F.col("number").alias(f"{node}_number"))
        rows = rows.join(F.broadcast(known), node, "left")
    return apart(rows.select(*(_column(name) for name in RECORDS.names), "run"))


def restored(tables: Tables) -> DataFrame:
    """The inverse of `numbered`: names again, so that tables of several compactions can be read together."""
    nodes = tables.nodes.select("node", F.base64(F.unhex("id")).alias("name"))
    processes = tables.processes.select("process", "node", "incarnation").join(nodes, "node").drop("node")
    rows = tables.records.drop("node").withColumn("digest", F.base64("digest"))
    rows = rows.withColumn("run", F.lit(None).cast("long"))
    for key in KEYS:
        number = F.col(key).bitwiseAND((1 << KEY_BITS) - 1).alias(f"{key}_sequence")
        rows = rows.withColumns({f"{key}_sequence": number, f"{key}_process": process_of(F.col(key))}).drop(key)
    for prefix in ("", "epoch_", *(f"{key}_" for key in KEYS)):
        known = processes.select(
            F.col("process").alias(f"{prefix}process"),
            F.col("name").alias(f"{prefix}node"),
            F.col("incarnation").alias(f"{prefix}incarnation"),
        )
        rows = rows.join(F.broadcast(known), f"{prefix}process", "left").drop(f"{prefix}process")
    peers = nodes.select(F.col("node").alias("peer"), F.col("name").alias("peer_name"))
    return rows.join(F.broadcast(peers), "peer", "left").drop("peer").withColumnRenamed("peer_name", "peer")


def _column(name: str) -> Column:
    if name in KEYS:
        key = F.shiftleft(F.col(f"{name}_process").cast("long"), KEY_BITS).bitwiseOR(F.col(f"{name}_sequence"))
        return key.alias(name)
    if name in ("node", "peer"):
        return F.col(f"{name}_number").alias(name)
    return F.try_to_binary(name, F.lit("base64")).alias(name) if name == "digest" else F.col(name)
