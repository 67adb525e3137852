"""Traces to Parquet: many small segments become three tables, sorted by what questions group by.

    records/kind=.../    sorted by (event or cast or subscription, time)
    processes/, nodes/   who is meant by the numbers
    p2psub-tables.json   that it is complete, and what it was made from

Written under a dot name and renamed at the end: a crash leaves no half result. Work and space are linear in the rows,
and nothing but one line per file and per process comes to the driver.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.loader import Judged, is_overlapping, judge, path_of, read_segments, without
from p2psub.analysis.numbers import Unread, number_names, numbered, restored, short_of
from p2psub.analysis.progress import OnProgress, no_progress
from p2psub.analysis.runs import IS_RECORD
from p2psub.analysis.schemas import NODES, PROCESSES, RECORDS
from p2psub.analysis.sources import MARK, NoTraces, Skipped, Sources, find_sources, told, unread_starts
from p2psub.analysis.tables import Tables
from p2psub.errors import ConfigError
from p2psub.model.records import SCHEMA_VERSION, Kind

_ROWS_PER_FILE: Final = 1_000_000
"""Of one kind: enough to be read at one go, few enough to be sorted in memory."""


ROW: Final = ("process", "sequence", "place")
"""What tells rows apart."""
_STEPS: Final = 4
"""Read, judge, number, sort: what a person who waits is told."""


class Compacted(NamedTuple):
    """What came out, and what was left out."""

    tables: Tables
    rows: int
    """One per event where a record speaks of several."""
    files: int
    """Segments that were read, without those that were skipped or repeated."""
    repeated: int
    """Copies of segments that were read."""
    skipped: list[Skipped]


class _Mark(msgspec.Struct):
    """The content of the mark."""

    schema: int
    rows: int
    files: int
    repeated: int
    skipped: list[tuple[str, str]]


def compact(
    spark: SparkSession, directories: Iterable[Path], out: Path, progress: OnProgress = no_progress
) -> Compacted:
    """Make tables in `out` of all traces below the directories, compacted ones too. An older `out` is replaced."""
    check_out(out)
    out = out.resolve()
    sources = find_sources(directories)
    # What is to be replaced is not a source, even if it lies among the traces.
    sources = sources._replace(compacted=[path for path in sources.compacted if path != out])
    draft = out.parent / f".{out.name}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        mark = _write(spark, sources, draft, progress)
        (draft / MARK).write_bytes(msgspec.json.format(msgspec.json.encode(mark), indent=1))
        _put_in_place(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return _open(spark, out, _read_mark(out))


def open_compacted(spark: SparkSession, path: Path) -> Compacted:
    """What `compact` wrote; NoTraces if it did not, or if not all of it is there."""
    mark = _read_mark(path)
    lacking = [name for name in ("records", "processes", "nodes") if not (path / name).is_dir()]
    if not lacking:
        compacted = _open(spark, path, mark)
        said = compacted.tables.processes.agg(F.sum("records")).collect()[0][0]
        there = compacted.tables.records.agg(F.count("*"), F.count_if(F.expr(IS_RECORD))).collect()[0]
        if tuple(there) == (mark.rows, said):
            return compacted
    what = f"{', '.join(lacking)} of it" if lacking else "some of its records"
    raise NoTraces(f"{path} is not whole: {what} are not there", "copy it again, or compact the traces again")


def _open(spark: SparkSession, path: Path, mark: _Mark) -> Compacted:
    tables = Tables(
        spark.read.schema(RECORDS).parquet(str(path / "records")).select(*RECORDS.names),
        spark.read.schema(PROCESSES).parquet(str(path / "processes")),
        spark.read.schema(NODES).parquet(str(path / "nodes")),
    )
    skipped = [Skipped(Path(name), reason) for name, reason in mark.skipped]
    return Compacted(tables, mark.rows, mark.files, mark.repeated, skipped)


def is_compacted(path: Path) -> bool:
    """Whether a directory holds compacted traces."""
    return (path / MARK).is_file()


def _write(spark: SparkSession, sources: Sources, draft: Path, progress: OnProgress) -> _Mark:
    parts, judged = [], Judged()
    if sources.segments:
        staged = str(draft / ".staged")
        progress("reading segments", 0, _STEPS)
        # JSON is read once; everything after that reads columns.
        _read_those_there(spark, sources.segments).write.parquet(staged)
        progress("judging files", 1, _STEPS)
        judged = _with_gone(judge(spark.read.parquet(staged)), sources.segments)
        parts.append(without(spark.read.parquet(staged), judged.left_out).drop("file", "bad"))
    older = [open_compacted(spark, path) for path in sources.compacted]
    parts += [restored(compacted.tables) for compacted in older]
    count = judged.rows + sum(compacted.rows for compacted in older)
    if not count:
        raise NoTraces(f"no segment is sound:{told(judged.refused)}", "read the traces of other peers, or older copies")
    rows = reduce(DataFrame.unionByName, parts)
    progress("numbering names", 2, _STEPS)
    skipped = [*sources.skipped, *judged.refused, *(one for compacted in older for one in compacted.skipped)]
    unread = unread_starts(skipped)
    names = _written(number_names(rows, unread).coalesce(1), draft / ".names")
    names.select("node", "id").distinct().coalesce(1).sortWithinPartitions("node").write.parquet(str(draft / "nodes"))
    records = numbered(rows, names)
    may_repeat = is_overlapping(judged.taken) or len(parts) > 1
    if may_repeat:
        records = records.dropDuplicates([*ROW])
    progress("sorting records", 3, _STEPS)
    _sorted(records, count).write.partitionBy("kind").parquet(str(draft / "records"))
    written = spark.read.schema(RECORDS).parquet(str(draft / "records"))
    processes_of(written, names, unread).coalesce(1).write.parquet(str(draft / "processes"))
    for part in (".staged", ".names"):
        shutil.rmtree(draft / part, ignore_errors=True)
    return _Mark(
        SCHEMA_VERSION,
        written.count() if may_repeat else count,
        len(judged.taken) + sum(compacted.files for compacted in older),
        len(judged.repeated) + sum(compacted.repeated for compacted in older),
        [(str(path), reason) for path, reason in sorted(set(skipped))],
    )


def _read_those_there(spark: SparkSession, segments: list[Path]) -> DataFrame:
    """A peer that writes discards its oldest segments; Spark refuses a list with one that is not there."""
    while True:
        there = [path for path in segments if path.exists()]
        if not there:
            raise NoTraces("all segments went while they were being read", "read the traces of other peers, or again")
        try:
            return read_segments(spark, there)
        except AnalysisException:
            if all(path.exists() for path in there):
                raise


def _with_gone(judged: Judged, segments: list[Path]) -> Judged:
    """No segment is empty: one without a row went while it was being read."""
    read = {path_of(one.file) for one in judged.taken} | {path for path, _ in judged.refused} | {*judged.repeated}
    gone = [Skipped(path, "went while it was being read") for path in segments if path not in read]
    return judged._replace(refused=[*judged.refused, *gone])


def _written(frame: DataFrame, path: Path) -> DataFrame:
    """A small frame, computed once."""
    frame.write.parquet(str(path))
    return frame.sparkSession.read.schema(frame.schema).parquet(str(path))


def _sorted(records: DataFrame, count: int) -> DataFrame:
    """In files of one kind each, as far as that goes; records of one thing beside each other, in time."""
    by = [F.col("kind"), F.coalesce("event", "cast", "subscription"), F.col("wall_us"), F.col("process")]
    return records.repartitionByRange(count // _ROWS_PER_FILE + 1, *by).sortWithinPartitions(*by, "sequence")


def processes_of(records: DataFrame, names: DataFrame, unread: Unread) -> DataFrame:
    """The table of processes: all that are named, with how much of their traces is there."""
    skipped = names.sparkSession.createDataFrame(
        [(*start, count) for start, count in unread.items()], "short string, incarnation long, unread long"
    )
    read = records.groupBy("process").agg(
        F.count_if(F.expr(IS_RECORD)).alias("records"),
        F.min("sequence").alias("first_sequence"),
        F.max("sequence").alias("last_sequence"),
        F.min("wall_us").alias("first_us"),
        F.max("wall_us").alias("last_us"),
        F.max(F.col("kind") == Kind.CLOSE.value).alias("is_closed"),
    )
    known = names.where("process is not null").withColumn("short", short_of(F.col("id"))).join(read, "process", "left")
    known = known.join(F.broadcast(skipped), ["short", "incarnation"], "left")
    filled = known.fillna(0, ["records", "unread"]).fillna(False, ["is_closed"])
    span = F.col("last_sequence") - F.col("first_sequence") + 1
    missing = F.coalesce(span - F.col("records"), F.lit(0)).alias("missing")
    return filled.withColumn("missing", missing).select(*PROCESSES.names).sort("process")


def check_out(out: Path) -> None:
    """Refuse what could only fail after all the work: the tables take the place of `out`."""
    above = next(parent for parent in out.resolve().parents if parent.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise ConfigError("out", f"{above} cannot be written; name another directory")
    if out.exists() and not is_compacted(out) and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(
            "out", f"{out} holds something else than compacted traces; name a directory that is not there"
        )


def _put_in_place(draft: Path, out: Path) -> None:
    if out.exists():
        before = out.parent / f".{out.name}.before"
        shutil.rmtree(before, ignore_errors=True)
        out.rename(before)
        draft.rename(out)
        shutil.rmtree(before)
    else:
        draft.rename(out)


def _read_mark(path: Path) -> _Mark:
    try:
        mark = msgspec.json.decode((path / MARK).read_bytes(), type=_Mark)
    except FileNotFoundError:
        raise NoTraces(f"{path} holds no compacted traces", "make some with p2psub trace compact") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise NoTraces(f"{path / MARK} cannot be read: {error}", "compact the traces again") from error
    if mark.schema != SCHEMA_VERSION:
        message = f"{path} was compacted with schema version {mark.schema}, and this p2psub reads {SCHEMA_VERSION}"
        raise NoTraces(message, "compact the traces again")
    return mark
