"""Compaction keeps every record once, numbers every name, and leaves nothing half done."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from p2psub.analysis import compaction
from p2psub.analysis.compaction import Compacted, compact, open_compacted
from p2psub.analysis.schemas import NODES, PROCESSES, RECORDS
from p2psub.analysis.sources import NoTraces
from p2psub.analysis.tables import Tables
from p2psub.errors import ConfigError
from p2psub.model.content import Filter, Moment, Operator, Predicate, Value
from p2psub.model.records import Kind
from tests.analysis.planted_trace import PlantedTrace, node_of


def rich_trace() -> PlantedTrace:
    """Every kind of field, peers and processes that left no trace of their own, and values that JSON finds hard."""
    trace = PlantedTrace()
    alice, bob, owner = trace.process("alice"), trace.process("bob", incarnation=7), trace.process("owner")
    stranger = trace.process("stranger", incarnation=2, started=False)
    hard: dict[str, Value] = {
        "nan": math.nan,
        "inf": -math.inf,
        "large": 2**64 - 1,
        "date": Moment(5),
        "set": frozenset(["é"]),
    }
    event = alice.publish("a\n\u2028'\"[x]", {**hard, "$float": "inf"}, body=b"\x00\xff", retain_us=9)
    wanted = Filter(((Predicate("price", Operator.LESS, math.inf),), ()))
    subscription = bob.subscribe(wanted=wanted)
    owner.role("super_node")
    owner.number(subscription, 1)
    owner.store(event, owed=1, vector=owner.vector_to(1))
    owner.keep(event)
    cast = stranger.cast()
    stranger.records.clear()
    owner.forward(cast, to=bob, prefix="", tries=2)
    bob.receive(cast, came_from=owner, hops=3)
    bob.duplicate("cast_repeated", cast=cast, peer=node_of("nobody"))
    bob.deliver(event, subscription)
    alice.acknowledge(event, count=1, copies=3, peer=owner.node)
    bob.lose(4)
    for process in (alice, bob):
        process.close()
    return trace


def rows(frame: DataFrame) -> list[str]:
    """The content of a table, in an order of its own."""
    return sorted(map(repr, frame.collect()))


def assert_same(found: Tables, wanted: Tables) -> None:
    """The three tables are equal, in their columns and in every row."""
    for one, other, schema in zip(found, wanted, (RECORDS, PROCESSES, NODES), strict=True):
        assert [(field.name, field.dataType) for field in one.schema] == [(f.name, f.dataType) for f in schema]
        assert rows(one) == rows(other)


def files(compacted: Compacted) -> tuple[int, int, int]:
    """How many files were read, repeated and skipped."""
    return compacted.files, compacted.repeated, len(compacted.skipped)


def test_every_record_comes_through_whole(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark makes of segments is what plain Python makes of the records: all fields, names, processes."""
    trace = rich_trace()
    trace.write(tmp_path / "in", batch=3)
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert_same(compacted.tables, trace.tables(spark))
    assert (compacted.rows, files(compacted)) == (len(trace.records), (6, 0, 0))
    assert_same(open_compacted(spark, tmp_path / "out").tables, trace.tables(spark))
    unknown = compacted.tables.processes.where("records = 0").collect()
    assert [(row.is_closed, row.missing, row.first_us) for row in unknown] == [(False, 0, None)]


def test_a_record_counts_once_however_often_it_lies_there(spark: SparkSession, tmp_path: Path) -> None:
    """Copied directories, and segments that hold parts of each other, change nothing."""
    trace = rich_trace()
    trace.write(tmp_path / "one", batch=4)
    shutil.copytree(tmp_path / "one", tmp_path / "two" / "copy")
    compacted = compact(spark, [tmp_path, tmp_path / "two"], tmp_path / "out")
    assert_same(compacted.tables, trace.tables(spark))
    assert files(compacted) == (5, 5, 0)
    trace.write(tmp_path / "three", batch=3)
    compacted = compact(spark, [tmp_path], tmp_path / "out")
    assert_same(compacted.tables, trace.tables(spark))
    assert compacted.rows == len(trace.records)


@pytest.mark.slow
def test_what_was_compacted_can_be_compacted_again(spark: SparkSession, tmp_path: Path) -> None:
    """Alone, and together with other traces, some of them the same."""
    trace = rich_trace()
    trace.write(tmp_path / "some", of=trace.processes[1:])
    trace.write(tmp_path / "all")
    first = compact(spark, [tmp_path / "some"], tmp_path / "tables")
    second = compact(spark, [tmp_path / "tables", tmp_path / "all"], tmp_path / "more")
    assert_same(second.tables, trace.tables(spark))
    assert first.rows < second.rows == len(trace.records)
    assert_same(compact(spark, [tmp_path / "more"], tmp_path / "again").tables, trace.tables(spark))


def test_tables_are_partitioned_and_sorted(spark: SparkSession, tmp_path: Path) -> None:
    """A question reads the kinds it is about; records of one event lie beside each other, in time."""
    trace = PlantedTrace()
    alice, bob = trace.process("alice"), trace.process("bob")
    events = [alice.publish() for _ in range(20)]
    for event in reversed(events + events):
        bob.keep(event)
    trace.write(tmp_path / "in", batch=7)
    compact(spark, [tmp_path / "in"], tmp_path / "out")
    kept = spark.read.parquet(str(tmp_path / "out" / "records" / "kind=copy")).collect()
    assert len(kept) == 40
    assert [(row.event, row.wall_us) for row in kept] == sorted((row.event, row.wall_us) for row in kept)
    assert {path.name for path in (tmp_path / "out" / "records").glob("kind=*")} == {
        f"kind={kind}" for kind in (Kind.START, Kind.PUBLISH, Kind.COPY)
    }


def test_a_crash_leaves_no_half_result(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where compaction ends early, what was there before is still there, and no draft is."""
    trace = PlantedTrace()
    trace.process("alice")
    trace.write(tmp_path / "in")
    compact(spark, [tmp_path / "in"], tmp_path / "out")
    trace.process("bob")
    trace.write(tmp_path / "in")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("p2psub.analysis.compaction.processes_of", fail)
        with pytest.raises(KeyboardInterrupt):
            compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert open_compacted(spark, tmp_path / "out").tables.records.count() == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert compact(spark, [tmp_path / "in"], tmp_path / "out").rows == 2


@pytest.mark.parametrize("part", ["records", "records/kind=copy", "processes"])
def test_a_compaction_that_was_copied_in_part_is_refused(spark: SparkSession, tmp_path: Path, part: str) -> None:
    """Its mark may have come before its data; a figure of the rest would be wrong."""
    rich_trace().write(tmp_path / "in")
    compact(spark, [tmp_path / "in"], tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / part)
    with pytest.raises(NoTraces, match="is not whole"):
        compact(spark, [tmp_path / "out"], tmp_path / "again")


@pytest.mark.parametrize("moment", ["find_sources", "read_segments"])
def test_a_segment_that_goes_meanwhile_is_missing_and_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before Spark lists the files, or after: peers discard their oldest when they have too many."""
    rich_trace().write(tmp_path / "in", batch=3)
    gone = min((tmp_path / "in").rglob("*.ndjson"))
    before = getattr(compaction, moment)

    def go_after(*words: object) -> object:
        done = before(*words)
        gone.unlink()
        return done

    monkeypatch.setattr(compaction, moment, go_after)
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert compacted.skipped == [(gone, "went while it was being read")]
    assert files(compacted) == (5, 0, 1)
    assert [row.unread for row in compacted.tables.processes.where("unread > 0").collect()] == [1]


def test_only_compacted_traces_are_replaced(spark: SparkSession, tmp_path: Path) -> None:
    """A directory that holds something else is not touched, and half a compaction is not opened."""
    trace = PlantedTrace()
    trace.process("alice")
    trace.write(tmp_path / "in")
    with pytest.raises(ConfigError, match="name a directory that is not there"):
        compact(spark, [tmp_path / "in"], tmp_path / "in")
    with pytest.raises(NoTraces, match="p2psub trace compact"):
        open_compacted(spark, tmp_path / "in")
