"""Segments to rows: JSON lines read in parallel, flattened, with every file judged as a whole.

A segment in which one line is not a record is left out whole, and named: half of it would be a trace with holes that no
sequence number explains. What it held then shows as missing records of its process, never as a figure.

Names stay names here (base64, as in the segments), and a run stays one row; `numbers` replaces names, `runs` takes
runs apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlparse

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, IntegerType, LongType, MapType, StringType, StructField, StructType

from p2psub.analysis.schemas import KEY_BITS
from p2psub.analysis.sources import Skipped
from p2psub.model.records import IN_RUNS, RUN_MAX, Kind
from p2psub.model.seals import LEAF_BYTES
from p2psub.traces.segments import SegmentName

_TEXTS: Final = ArrayType(StringType())
_CORRUPT: Final = "corrupt"

BOOKS: Final = StructType(
    [
        StructField("on_time", LongType()),
        StructField("earned", LongType()),
        StructField("penalties", LongType()),
        StructField("expired", MapType(StringType(), LongType())),
    ]
)
"""`p2psub.model.books.BookSums`."""

LINES: Final = StructType(
    [
        StructField("kind", StringType()),
        StructField("node", StringType()),
        StructField("incarnation", LongType()),
        StructField("sequence", LongType()),
        StructField("stamp", ArrayType(LongType())),
        StructField("cluster", StringType()),
        StructField("epoch", _TEXTS),
        StructField("event", _TEXTS),
        StructField("subscription", _TEXTS),
        StructField("peer", StringType()),
        StructField("cast", _TEXTS),
        # Nested things are kept as the JSON that they are.
        StructField("number", StringType()),
        StructField("vector", StringType()),
        StructField("prefix", StringType()),
        StructField("reason", StringType()),
        StructField("outcome", StringType()),
        StructField("count", LongType()),
        StructField("run", LongType()),
        StructField("age_us", LongType()),
        StructField("earned", LongType()),
        StructField("guarantee", StringType()),
        StructField("matched", LongType()),
        StructField("copies", IntegerType()),
        StructField("digest", StringType()),
        StructField("payload", StringType()),
        StructField("hops", IntegerType()),
        StructField("tries", IntegerType()),
        StructField("status", StringType()),
        StructField("state", StringType()),
        StructField("unreached", IntegerType()),
        StructField("version", LongType()),
        StructField("owners", IntegerType()),
        StructField("standing", StringType()),
        StructField("heartbeat_us", LongType()),
        StructField("copies_required", IntegerType()),
        StructField("published", StringType()),
        StructField("subscribed", StringType()),
        StructField("advertised", StringType()),
        StructField("books", BOOKS),
        StructField(_CORRUPT, StringType()),
    ]
)
"""`p2psub.model.records.Record` as Spark reads it; a tuple of unlike parts is an array of texts."""

READING: Final[dict[str, str]] = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "lineSep": "\n",
    # A peer that writes discards its oldest segments when it has too many; then their records are missing, as they are.
    "ignoreMissingFiles": "true",
}
"""How Spark reads segments, at rest or as they appear."""

KEYS: Final = ("event", "subscription", "cast")
"""What is named by a process and a number there."""
_ID: Final = "^[A-Za-z0-9+/]{27}=$"
"""A node's 20 bytes in base64."""


class Taken(NamedTuple):
    """A file that is taken: whose records it holds, from which to which, how many, and how many rows they become."""

    file: str
    node: str
    incarnation: int
    first: int
    last: int
    records: int
    rows: int


class Judged(NamedTuple):
    """Which of the files are taken, and how many rows their records become."""

    rows: int = 0
    taken: Sequence[Taken] = ()
    refused: Sequence[Skipped] = ()
    repeated: Sequence[Path] = ()
    """Copies of files that are taken."""
    left_out: Sequence[str] = ()
    """All of these, as rows name their `file`."""


def read_segments(spark: SparkSession, paths: Iterable[Path]) -> DataFrame:
    """The rows of segments, with their `file` and whether they are `bad`."""
    lines = spark.read.options(**READING).schema(LINES).json([escaped(path) for path in paths])
    return flat(lines.withColumn("file", F.col("_metadata.file_path")))


def escaped(path: Path) -> str:
    """A path as Spark takes it: it would read signs like * as a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path))


def flat(lines: DataFrame) -> DataFrame:
    """Lines as Spark read them, with their `file`, as rows."""
    parts = lines.withColumns({f"{name}_parts": F.from_json(name, _TEXTS) for name in ("published", "subscribed")})
    bid = F.from_json(F.get("subscribed_parts", 8), _TEXTS)
    flat = parts.select(
        "file",
        _CORRUPT,
        "kind",
        "node",
        "incarnation",
        "sequence",
        F.get("stamp", 0).alias("wall_us"),
        F.get("stamp", 1).try_cast("int").alias("ticks"),
        "cluster",
        F.get("epoch", 0).try_cast("long").alias("epoch_counter"),
        F.get("epoch", 1).alias("epoch_node"),
        F.get("epoch", 2).try_cast("long").alias("epoch_incarnation"),
        *(part for name in KEYS for part in _named(name)),
        "peer",
        F.col("number").alias("change"),
        "vector",
        "prefix",
        "reason",
        "outcome",
        "count",
        "run",
        F.lit(0).alias("place"),
        "age_us",
        "earned",
        F.coalesce("guarantee", F.get("published_parts", 5)).alias("guarantee"),
        "matched",
        "copies",
        "digest",
        "payload",
        "hops",
        "tries",
        "status",
        F.coalesce("state", F.get("subscribed_parts", 3)).alias("state"),
        "unreached",
        "version",
        "owners",
        "standing",
        "heartbeat_us",
        "copies_required",
        F.get("published_parts", 1).alias("topic"),
        F.get("published_parts", 4).try_cast("long").alias("retain_us"),
        F.get("published_parts", 6).try_cast("long").alias("timeout_us"),
        "published",
        F.get("subscribed_parts", 2).try_cast("long").alias("subscribed_version"),
        F.get("subscribed_parts", 6).try_cast("boolean").alias("is_replayed"),
        F.get(bid, 0).try_cast("long").alias("deadline_us"),
        F.get(bid, 1).try_cast("long").alias("price"),
        F.get(bid, 2).try_cast("long").alias("penalty"),
        "subscribed",
        "advertised",
        F.col("books.on_time").alias("booked_on_time"),
        F.aggregate(F.map_values("books.expired"), F.lit(0).cast("long"), lambda one, other: one + other).alias(
            "booked_expired"
        ),
        F.col("books.earned").alias("booked_earned"),
        F.col("books.penalties").alias("booked_penalties"),
        *(F.col(name).isNotNull().alias(f"has_{name}") for name in (*KEYS, "epoch")),
    )
    return flat.withColumn("bad", _is_bad()).drop(_CORRUPT, *(f"has_{name}" for name in (*KEYS, "epoch")))


def _named(name: str) -> list[Column]:
    """The three parts of a name like that of an event."""
    return [
        F.get(name, 0).alias(f"{name}_node"),
        F.get(name, 1).try_cast("long").alias(f"{name}_incarnation"),
        F.get(name, 2).try_cast("long").alias(f"{name}_sequence"),
    ]


def _is_bad() -> Column:
    """Whether a line is not a record: not JSON, a part missing or of the wrong type, or of an unknown kind."""

    def absent(*names: str) -> Column:
        return reduce(or_, (F.col(name).isNull() for name in names))

    def no_id(name: str) -> Column:
        return F.col(name).isNotNull() & ~F.col(name).rlike(_ID)

    digest = F.try_to_binary("digest", F.lit("base64"))
    # As `p2psub.traces.runs.is_run` has it.
    is_run = (
        F.col("kind").isin([kind.value for kind in IN_RUNS])
        & F.col("run").between(1, RUN_MAX)
        & F.col("event_sequence").isNotNull()
        & F.col("count").isNull()
        & (F.col("digest").isNull() | (F.length(digest) == F.col("run") * LEAF_BYTES))
    )
    ways = [
        F.col(_CORRUPT).isNotNull(),
        absent("kind", "node", "incarnation", "sequence", "wall_us", "ticks"),
        ~F.col("kind").isin([kind.value for kind in Kind]),
        F.col("has_epoch") & absent("epoch_counter", "epoch_node", "epoch_incarnation"),
        F.col("published").isNotNull() & absent("topic"),
        F.col("subscribed").isNotNull() & absent("subscribed_version"),
        F.col("digest").isNotNull() & digest.isNull(),
        F.col("run").isNotNull() & ~is_run,
        *(no_id(name) for name in ("node", "peer", "epoch_node", *(f"{name}_node" for name in KEYS))),
    ]
    for name in KEYS:
        ways.append(F.col(f"has_{name}") & absent(f"{name}_node", f"{name}_incarnation", f"{name}_sequence"))
        # No peer counts as far as the bits of a key.
        last = F.col(f"{name}_sequence") + (F.coalesce("run", F.lit(1)) - 1 if name == "event" else 0)
        ways.append(last.isNotNull() & ~last.between(0, (1 << KEY_BITS) - 1))
    return F.coalesce(reduce(or_, ways), F.lit(True))


def judge(rows: DataFrame) -> Judged:
    """Look at each file as a whole; one small row per file comes to the driver."""
    is_good = ~F.col("bad")
    found = (
        rows.groupBy("file")
        .agg(
            F.count_if(F.col("bad")).alias("bad"),
            F.count_if(is_good).alias("records"),
            F.sum(F.when(is_good, F.coalesce("run", F.lit(1)))).alias("rows"),
            *(F.min(F.when(is_good, F.col(name))).alias(f"{name}_min") for name in ("node", "incarnation", "sequence")),
            *(F.max(F.when(is_good, F.col(name))).alias(f"{name}_max") for name in ("node", "incarnation", "sequence")),
            F.sum(F.when(is_good, F.col("sequence"))).alias("sequence_sum"),
        )
        .collect()
    )
    refused = {row.file: Skipped(path_of(row.file), reason) for row in found if (reason := _wrong_with(row))}
    taken, repeated = _without_copies([row for row in found if row.file not in refused])
    return Judged(
        sum(one.rows for one in taken),
        taken,
        sorted(refused.values()),
        sorted(map(path_of, repeated)),
        [*refused, *repeated],
    )


def path_of(file: str) -> Path:
    """Where a file lies that rows name by its address."""
    return Path(unquote(urlparse(file).path))


def _wrong_with(row: Row) -> str | None:
    if row.bad:
        return f"{row.bad} of {row.bad + row.records} lines are not records: truncated or damaged"
    if row.node_min != row.node_max or row.incarnation_min != row.incarnation_max:
        return "holds records of several processes"
    segment = SegmentName.named(path_of(row.file).name)
    assert segment is not None, "only segments are read"
    if (segment.incarnation, segment.first) != (row.incarnation_min, row.sequence_min):
        return "begins with another record than its name says"
    span = row.sequence_max - row.sequence_min + 1
    # Where the trace overflowed a segment has a gap; where it has none, the numbers must be the whole row of them.
    is_whole = 2 * row.sequence_sum == (row.sequence_min + row.sequence_max) * row.records
    if row.records > span or (row.records == span and not is_whole):
        return "numbers its records twice"
    return None


def _without_copies(rows: list[Row]) -> tuple[list[Taken], list[str]]:
    """Of segments that begin with the same record one is taken, the longest; and the files of the others."""
    taken: dict[tuple[str, int, int], Taken] = {}
    for row in sorted(rows, key=lambda row: (-row.records, row.file)):
        span = (row.sequence_min, row.sequence_max)
        one = Taken(row.file, row.node_min, row.incarnation_min, *span, row.records, row.rows)
        taken.setdefault((one.node, one.incarnation, one.first), one)
    files = {one.file for one in taken.values()}
    return list(taken.values()), [row.file for row in rows if row.file not in files]


def is_overlapping(taken: Iterable[Taken]) -> bool:
    """Whether two of the files hold the same record: then rows must be made unique one by one."""
    spans = defaultdict(list)
    for one in taken:
        spans[one.node, one.incarnation].append((one.first, one.last))
    return any(after[0] <= before[1] for several in spans.values() for before, after in pairwise(sorted(several)))


def without(rows: DataFrame, files: Sequence[str]) -> DataFrame:
    """The rows of all other files."""
    if not files:
        return rows
    names = rows.sparkSession.createDataFrame([(file,) for file in files], "file string")
    return rows.join(F.broadcast(names), "file", "left_anti")
