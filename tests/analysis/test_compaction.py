"""Compaction keeps every record once, numbers every name, and leaves nothing half done."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from p2psub.analysis import compaction
from p2psub.analysis.compaction import Compacted, compact, open_compacted
from p2psub.analysis.schemas import NODES, PROCESSES, RECORDS
from p2psub.analysis.sources import NoTraces
from p2psub.analysis.tables import Tables
from p2psub.errors import ConfigError
from p2psub.model.content import Filter, Moment, Operator, Predicate, Value
from p2psub.traces.segments import SegmentName, segments_of, short_name
from tests.analysis.planted_trace import PlantedTrace, node_of

BATCH = 8
"""Records in a segment."""


class Whole(NamedTuple):
    """A trace, and the directory of its compaction."""

    trace: PlantedTrace
    compacted: Compacted
    out: Path

    def copy_to(self, out: Path) -> None:
        """The same tables at a place where a test may spoil them."""
        shutil.copytree(self.out, out)


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A compaction takes seconds: one for all tests that look at what it leaves."""
    trace, place = rich_trace(), tmp_path_factory.mktemp("whole")
    trace.write(place / "in", batch=BATCH)
    return Whole(trace, compact(spark, [place / "in"], place / "out"), place / "out")


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
    many = [alice.publish() for _ in range(20)]
    for event in reversed(many + many):
        bob.keep(event)
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


def segments_below(directory: Path) -> list[tuple[SegmentName, Path]]:
    """Every segment that was written there, those of a process in order."""
    return segments_of(directory.rglob("*.ndjson"))


def test_every_record_comes_through_whole(spark: SparkSession, whole: Whole) -> None:
    """What Spark makes of segments is what plain Python makes of the records: all fields, names, processes."""
    trace, compacted, out = whole
    wanted = trace.tables(spark)
    assert_same(compacted.tables, wanted)
    written = sum(math.ceil(len(process.records) / BATCH) for process in trace.processes)
    assert (compacted.rows, files(compacted)) == (len(trace.records), (written, 0, 0))
    assert_same(open_compacted(spark, out).tables, wanted)
    unknown = compacted.tables.processes.where("records = 0").collect()
    assert [(row.is_closed, row.missing, row.first_us) for row in unknown] == [(False, 0, None)]


def test_a_record_counts_once_however_often_it_lies_there(spark: SparkSession, tmp_path: Path) -> None:
    """Copied directories, and segments that hold parts of each other, change nothing."""
    trace = rich_trace()
    wanted = trace.tables(spark)
    trace.write(tmp_path / "one", batch=12)
    written = len(segments_below(tmp_path))
    shutil.copytree(tmp_path / "one", tmp_path / "two" / "copy")
    compacted = compact(spark, [tmp_path, tmp_path / "two"], tmp_path / "out")
    assert_same(compacted.tables, wanted)
    assert files(compacted) == (written, written, 0)
    trace.write(tmp_path / "three", batch=BATCH)
    compacted = compact(spark, [tmp_path], tmp_path / "out")
    assert_same(compacted.tables, wanted)
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


def test_tables_are_partitioned_and_sorted(spark: SparkSession, whole: Whole) -> None:
    """A question reads the kinds it is about; records of one event lie beside each other, in time."""
    kept = spark.read.parquet(str(whole.out / "records" / "kind=copy")).collect()
    assert len(kept) == 41
    assert [(row.event, row.wall_us) for row in kept] == sorted((row.event, row.wall_us) for row in kept)
    assert {path.name for path in (whole.out / "records").glob("kind=*")} == {
        f"kind={record.kind}" for record in whole.trace.records
    }


def test_a_crash_leaves_no_half_result(
    spark: SparkSession, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where compaction ends early, what was there before is still there, and no draft is."""
    whole.copy_to(tmp_path / "out")
    trace = PlantedTrace()
    trace.process("alice")
    trace.write(tmp_path / "in")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("p2psub.analysis.compaction.processes_of", fail)
        with pytest.raises(KeyboardInterrupt):
            compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert open_compacted(spark, tmp_path / "out").rows == len(whole.trace.records)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert compact(spark, [tmp_path / "in"], tmp_path / "out").rows == 1


@pytest.mark.parametrize("part", ["records", "records/kind=copy", "processes"])
def test_a_compaction_that_was_copied_in_part_is_refused(
    spark: SparkSession, whole: Whole, tmp_path: Path, part: str
) -> None:
    """Its mark may have come before its data; a figure of the rest would be wrong."""
    whole.copy_to(tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / part)
    with pytest.raises(NoTraces, match="is not whole"):
        compact(spark, [tmp_path / "out"], tmp_path / "again")


def test_a_segment_that_goes_meanwhile_is_missing_and_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One before Spark lists the files, and one after: peers discard their oldest when they have too many."""
    trace = rich_trace()
    alice, bob = trace.processes[:2]
    trace.write(tmp_path / "in", batch=BATCH)
    written = segments_below(tmp_path)
    gone = {
        moment: next(path for segment, path in written if segment.node == short_name(process.node))
        for moment, process in {"find_sources": alice, "read_segments": bob}.items()
    }

    def go_after(moment: str) -> Callable[..., object]:
        do = getattr(compaction, moment)

        def done(*words: object) -> object:
            result = do(*words)
            gone[moment].unlink(missing_ok=True)
            return result

        return done

    for moment in gone:
        monkeypatch.setattr(compaction, moment, go_after(moment))
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert compacted.skipped == [(path, "went while it was being read") for path in sorted(gone.values())]
    assert files(compacted) == (len(written) - 2, 0, 2)
    unread = compacted.tables.processes.where("unread > 0").join(compacted.tables.nodes, "node").collect()
    assert {(row.id, row.unread) for row in unread} == {(alice.node.hex(), 1), (bob.node.hex(), 1)}


def test_only_compacted_traces_are_replaced(spark: SparkSession, tmp_path: Path) -> None:
    """A directory that holds something else is not touched, and half a compaction is not opened."""
    trace = PlantedTrace()
    trace.process("alice")
    trace.write(tmp_path / "in")
    with pytest.raises(ConfigError, match="name a directory that is not there"):
        compact(spark, [tmp_path / "in"], tmp_path / "in")
    with pytest.raises(NoTraces, match="p2psub trace compact"):
        open_compacted(spark, tmp_path / "in")
