"""The tables on the page: the few rows of each answer that a person looks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.report.page import Grid
from p2psub.analysis.report.scales import moment_text, span_text

ROWS_SHOWN: Final = 25

_SPANS: Final = ("count", "min_us", "p50_us", "p99_us", "max_us")


def make_grids(answers: Mapping[str, DataFrame]) -> tuple[Grid, ...]:
    """All of them, in the order in which one asks."""
    return tuple(_grids(answers))


def _grids(answers: Mapping[str, DataFrame]) -> Iterator[Grid]:
    latency = answers["latency"]
    yield _grid(
        "How long things took",
        "delivery: publish to hand-over; D_diff: publish to an event's last hand-over; D_sub: subscribe to stable.",
        latency.orderBy("measure", "guarantee"),
        ("measure", "guarantee", *_SPANS),
    )
    yield _grid(
        "Where the time went",
        "Each stage by itself, with the queues before it; offsets of clocks are in those that cross a link.",
        answers["delays"].orderBy("stage"),
        ("stage", *_SPANS),
    )
    incomplete = answers["coverage"].where("missing > 0").orderBy(F.desc("lost"), F.desc("unknown"), "published_us")
    yield _grid(
        "Events that did not reach everybody",
        "By pairs; what is unknown may have been delivered.",
        incomplete,
        ("event", "guarantee", "published_us", "expected", "delivered", "ended", "still_owed", "unknown", "lost"),
    )
    yield _grid(
        "Casts that did not reach everybody",
        "Receivers are super-nodes.",
        answers["casts"].where("missing > 0").orderBy(F.desc("missing"), "started_us"),
        ("cast", "payload", "started_us", "expected", "reached", "unknown", "transfers", "hops"),
    )
    yield _grid(
        "What pairs earned",
        "Promised pairs of event and subscription by how they ended, each counted once; age is that of the oldest.",
        answers["earnings"].orderBy("ended", "reason"),
        ("ended", "reason", "pairs", "earned", "penalties", "age_max_us"),
    )
    yield _grid(
        "Load of peers",
        "Those that recorded most.",
        answers["load"].orderBy(F.desc("records"), "id"),
        ("id", "cluster", "prefix", "records", "published", "owned", "kept", "delivered", "forwarded", "received"),
    )
    yield _grid(
        "How evenly it is spread",
        "Gini is 0 where all peers do the same, and nears 1 where one does everything.",
        answers["load_balance"].orderBy("measure"),
        ("measure", "nodes", "total", "mean", "max", "max_over_mean", "gini"),
    )
    yield _grid(
        "Conservation",
        "What came in, and what became of it. Casts are counted per node; their difference went missing on links.",
        answers["conservation"].orderBy("law", F.desc(F.abs("difference")), "at"),
        ("law", "at", "total", "taken", "other", "open", "difference"),
    )


def _grid(title: str, note: str, frame: DataFrame, columns: Sequence[str]) -> Grid:
    rows = frame.select(*columns).limit(ROWS_SHOWN + 1).collect()
    cells = tuple(tuple(_cell(name, row[name]) for name in columns) for row in rows[:ROWS_SHOWN])
    shown = tuple(name.removesuffix("_us").replace("_", " ") for name in columns)
    return Grid(title, note, shown, cells, len(rows) > ROWS_SHOWN)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in ("published_us", "started_us"):
        return moment_text(value)
    if name.endswith("_us"):
        return span_text(value)
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
