"""Records as rows of the three tables, by plain Python: a second way from traces to tables, for small ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from p2psub.analysis.schemas import KEY_BITS, NODES, PROCESSES, RECORDS
from p2psub.analysis.tables import Tables
from p2psub.model.ids import NodeId
from p2psub.model.records import Kind, Record
from p2psub.traces.runs import happenings
from p2psub.traces.segments import encode_records

_Start = tuple[NodeId, int]


class Numbers(NamedTuple):
    """Small numbers for the peers and their starts that a trace speaks of, in the order of their ids."""

    nodes: dict[NodeId, int]
    processes: dict[_Start, int]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Numbers:
        starts = {start for record in records for start in _starts_of(record)}
        peers = {record.peer for record in records if record.peer is not None}
        nodes = sorted({node for node, _ in starts} | peers)
        return cls({id_: n for n, id_ in enumerate(nodes, 1)}, {start: n for n, start in enumerate(sorted(starts), 1)})

    def key(self, name: tuple[NodeId, int, int] | None) -> int | None:
        """The number of an event, a subscription or a cast."""
        return None if name is None else self.processes[name[0], name[1]] << KEY_BITS | name[2]


def tables_of(spark: SparkSession, records: Iterable[Record]) -> Tables:
    """Small tables straight from records; a record that is there twice counts once."""
    once = {(record.node, record.incarnation, record.sequence): record for record in records}
    records = [once[name] for name in sorted(once)]
    numbers = Numbers.of(records)
    nodes = [(n, id_.hex()) for id_, n in numbers.nodes.items()]
    rows = [
        _record_row(happening, place, numbers)
        for record in records
        for place, happening in enumerate(happenings(record))
    ]
    return Tables(
        records=_local(spark, rows, RECORDS),
        processes=_local(spark, _process_rows(records, numbers), PROCESSES),
        nodes=_local(spark, nodes, NODES),
    )


def _local(spark: SparkSession, rows: list[tuple[Any, ...]], schema: StructType) -> DataFrame:
    """A table that Spark knows to be small: rows of Python would be a job of unknown size to it."""
    arrow = to_arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, arrow, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow), schema)


def _starts_of(record: Record) -> Iterable[_Start]:
    yield record.node, record.incarnation
    for name in (record.event, record.subscription, record.cast):
        if name is not None:
            yield name.node, name.incarnation
    if record.epoch is not None:
        yield record.epoch.node, record.epoch.incarnation


def _process_rows(records: list[Record], numbers: Numbers) -> list[tuple[Any, ...]]:
    written: dict[_Start, list[Record]] = {start: [] for start in numbers.processes}
    for record in records:
        written[record.node, record.incarnation].append(record)
    return [_process_row(start, written[start], numbers) for start in numbers.processes]


def _process_row(start: _Start, records: list[Record], numbers: Numbers) -> tuple[Any, ...]:
    name = (numbers.processes[start], numbers.nodes[start[0]], start[1], len(records))
    if not records:
        return (*name, None, None, None, None, False, 0, 0)
    first, last = records[0], records[-1]
    missing = last.sequence - first.sequence + 1 - len(records)
    span = (first.sequence, last.sequence, first.stamp.wall_us, last.stamp.wall_us)
    return (*name, *span, last.kind is Kind.CLOSE, missing, 0)


AS_RECORDED = (
    "reason",
    "outcome",
    "count",
    "age_us",
    "earned",
    "matched",
    "copies",
    "digest",
    "payload",
    "hops",
    "tries",
    "status",
    "unreached",
    "version",
    "owners",
    "standing",
    "heartbeat_us",
    "copies_required",
)
"""Columns that are fields of the record, as they are."""


def _record_row(record: Record, place: int, numbers: Numbers) -> tuple[Any, ...]:
    epoch, published, subscribed, books = record.epoch, record.published, record.subscribed, record.books
    said = msgspec.json.decode(encode_records([record]), type=dict[str, msgspec.Raw])
    row = {
        "kind": record.kind.value,
        "node": numbers.nodes[record.node],
        "process": numbers.processes[record.node, record.incarnation],
        "sequence": record.sequence,
        "wall_us": record.stamp.wall_us,
        "ticks": record.stamp.ticks,
        "cluster": record.cluster,
        "epoch_counter": None if epoch is None else epoch.counter,
        "epoch_process": None if epoch is None else numbers.processes[epoch.node, epoch.incarnation],
        "event": numbers.key(record.event),
        "subscription": numbers.key(record.subscription),
        "cast": numbers.key(record.cast),
        "peer": None if record.peer is None else numbers.nodes[record.peer],
        "change": _json(said.get("number")),
        "vector": _json(said.get("vector")),
        "prefix": record.prefix,
        "place": place,
        **{name: getattr(record, name) for name in AS_RECORDED},
        "topic": None if published is None else published.topic,
        "guarantee": record.guarantee if published is None else published.guarantee,
        "retain_us": None if published is None else published.retain_us,
        "timeout_us": None if published is None else published.timeout_us,
        "published": _json(said.get("published")),
        "subscribed_version": None if subscribed is None else subscribed.version,
        "state": record.state if subscribed is None else subscribed.state,
        "is_replayed": None if subscribed is None else subscribed.replay,
        "deadline_us": None if subscribed is None else subscribed.bid.deadline_us,
        "price": None if subscribed is None else subscribed.bid.price,
        "penalty": None if subscribed is None else subscribed.bid.penalty,
        "subscribed": _json(said.get("subscribed")),
        "advertised": _json(said.get("advertised")),
        "booked_on_time": None if books is None else books.on_time,
        "booked_expired": None if books is None else sum(books.expired.values()),
        "booked_earned": None if books is None else books.earned,
        "booked_penalties": None if books is None else books.penalties,
    }
    return tuple(row[name] for name in RECORDS.fieldNames())


def _json(said: msgspec.Raw | None) -> str | None:
    return None if said is None else bytes(said).decode()
