"""Running figures while peers write, by Structured Streaming.

Every round reads the segments that are new (each is whole as soon as it has its name), numbers the names in them and
appends their rows as Parquet; then the same questions are asked as over traces at rest. So the last figures are those
that an analysis afterwards gives. A round is a query that ends by itself, when all that was there at its begin is read:
on Spark 4.3.0 stopping one that runs can overflow the stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.compaction import ROW, Compacted, processes_of
from p2psub.analysis.headline import headline
from p2psub.analysis.loader import (
    LINES,
    READING,
    Taken,
    escaped,
    flat,
    is_overlapping,
    judge,
    path_of,
    without,
)
from p2psub.analysis.numbers import Unread, number_names, numbered
from p2psub.analysis.schemas import NODES, PROCESSES, RECORDS
from p2psub.analysis.sources import NoTraces, Skipped, find_sources, unread_starts
from p2psub.analysis.tables import Tables
from p2psub.model.records import SCHEMA_VERSION
from p2psub.traces.segments import SHORT_CHARS

_SEGMENT: Final = rf"^[0-9a-f]{{10}}-\d+-\d+\.v{SCHEMA_VERSION}\.ndjson$"
_FOR_EVER: Final = "36500d"
_NAMES: Final = "name string, id string, incarnation long, process int, node int"


class _Name(NamedTuple):
    """A row of `numbers.number_names`, with numbers that hold for the whole time."""

    name: str
    id: str
    incarnation: int | None
    process: int | None
    node: int


class Follower:
    """Reads what peers write below some directories. `workspace` is for its own files."""

    def __init__(self, spark: SparkSession, directories: Sequence[Path], workspace: Path) -> None:
        self._spark = spark
        self._directories = _roots(directories)
        self._workspace = workspace
        self._names: dict[tuple[str, int | None], _Name] = {}
        self._nodes: dict[str, int] = {}
        self._starts = 0
        self._taken: dict[str, Taken] = {}
        self._refused: list[Skipped] = []
        self._repeated = 0
        self._is_overlapping = False
        (workspace / "records").mkdir(parents=True)

    def read(self) -> bool:
        """Take all segments that are there now; whether any was new."""
        before = len(self._taken) + len(self._refused) + self._repeated
        stream = reduce(DataFrame.unionByName, [self._stream(directory) for directory in self._directories])
        query = (
            stream.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", str(self._workspace / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return len(self._taken) + len(self._refused) + self._repeated > before

    def figures(self) -> dict[str, Any]:
        """The headline over all that was taken so far; audits are for traces at rest."""
        return headline(self.compacted())

    def compacted(self) -> Compacted:
        """All that was taken so far, as an analysis has it."""
        records = self._spark.read.schema(RECORDS).parquet(str(self._workspace / "records"))
        if self._is_overlapping:
            records = records.dropDuplicates([*ROW])
        skipped = sorted({*self._refused, *_unfit(self._directories)})
        unread = unread_starts(skipped)
        names = [*self._names.values(), *self._unheard(unread)]
        # Few, and asked for by nearly every question: found out once in a round.
        processes = processes_of(records, self._frame_of(names), unread).collect()
        nodes = sorted({(name.node, name.id) for name in names})
        create = self._spark.createDataFrame
        tables = Tables(records, create(processes, PROCESSES), create(nodes, NODES))
        return Compacted(tables, records.count(), len(self._taken), self._repeated, skipped)

    def _stream(self, directory: Path) -> DataFrame:
        # Traces may be weeks old.
        reader = self._spark.readStream.options(**READING).option("maxFileAge", _FOR_EVER).schema(LINES)
        lines = reader.json(escaped(directory), recursiveFileLookup=True, pathGlobFilter="*.ndjson")
        return flat(
            lines.where(F.col("_metadata.file_name").rlike(_SEGMENT)).withColumn("file", F.col("_metadata.file_path"))
        )

    def _take(self, batch: DataFrame, _: int) -> None:
        batch = batch.persist()
        judged = judge(batch)
        again = [one.file for one in judged.taken if not self._is_longer(one)]
        rows = without(batch, [*judged.left_out, *again])
        names = self._learn(number_names(rows).collect())
        records = numbered(rows, names).coalesce(1)
        records.write.mode("append").parquet(str(self._workspace / "records"))
        new = [one for one in judged.taken if one.file not in again]
        longer = [one for one in new if path_of(one.file).name in self._taken]
        self._refused.extend(judged.refused)
        self._repeated += len(judged.repeated) + len(again) + len(longer)
        self._is_overlapping |= bool(longer) or is_overlapping([*self._taken.values(), *new])
        self._taken.update((path_of(one.file).name, one) for one in new)
        batch.unpersist()

    def _is_longer(self, one: Taken) -> bool:
        """Of segments that begin with the same record the longest counts, as in an analysis afterwards."""
        before = self._taken.get(path_of(one.file).name)
        return before is None or before.records < one.records

    def _learn(self, found: Iterable[Row]) -> DataFrame:
        for row in found:
            node = self._nodes.setdefault(row.id, len(self._nodes) + 1)
            key = (row.name, row.incarnation)
            if key not in self._names:
                self._starts += row.incarnation is not None
                process = None if row.incarnation is None else self._starts
                self._names[key] = _Name(row.name, row.id, row.incarnation, process, node)
        return self._frame_of(self._names.values())

    def _unheard(self, unread: Unread) -> Iterator[_Name]:
        """Starts of which nothing but skipped segments is known so far; numbered for this round alone."""
        heard = {(name.id[:SHORT_CHARS], name.incarnation) for name in self._names.values()}
        known = {id_[:SHORT_CHARS]: id_ for id_ in self._nodes}
        nodes = dict(self._nodes)
        for number, (short, incarnation) in enumerate(sorted(unread.keys() - heard), self._starts + 1):
            id_ = known.get(short, short)
            yield _Name("", id_, incarnation, number, nodes.setdefault(id_, len(nodes) + 1))

    def _frame_of(self, names: Iterable[_Name]) -> DataFrame:
        return self._spark.createDataFrame(list(names), _NAMES)


def _roots(directories: Iterable[Path]) -> list[Path]:
    """The directories without those that lie below another: each file is to be read once."""
    several = {directory.resolve() for directory in directories}
    return sorted(one for one in several if several.isdisjoint(one.parents))


def _unfit(directories: Iterable[Path]) -> list[Skipped]:
    try:
        return find_sources(directories).skipped
    except NoTraces:
        return []
