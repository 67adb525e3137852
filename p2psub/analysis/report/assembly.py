"""From answers to the page: each part is a handful of rows, whatever the size of the traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.latency import ALL
from p2psub.analysis.compaction import Compacted
from p2psub.analysis.names import named
from p2psub.analysis.report.grids import make_grids
from p2psub.analysis.report.page import Bucket, Cell, NodeDuplicates, Page, ShownFinding, Slice, TermSpan
from p2psub.analysis.report.plots.duplicates import NODES_SHOWN
from p2psub.analysis.report.scales import moment_text
from p2psub.analysis.tables import Tables
from p2psub.analysis.verdicts import AuditVerdicts
from p2psub.model.places import Standing
from p2psub.model.records import Kind

SLICES: Final = 48
CELLS_MAX: Final = 4_096
TERMS_MAX: Final = 2_000
"""Beyond these a picture shows nothing, and says how many it leaves out."""
FILES_SHOWN: Final = 500

_PAIRS: Final = {name: name for name in ("delivered", "ended", "still_owed", "missed", "unknown", "lost")}
_REACH: Final = {"reached": "reached", "unknown": "unknown", "missed": "missing - unknown"}
"""What is summed, and how."""


class Known(NamedTuple):
    """All that a page is made from."""

    compacted: Compacted
    answers: Mapping[str, DataFrame]
    verdicts: AuditVerdicts
    figures: Mapping[str, Any]
    directories: Iterable[Path]


def assemble(known: Known) -> Page:
    """The page of an analysis."""
    tables, answers = known.compacted.tables, known.answers
    cells, terms = _cells(answers), _terms(answers["timeline"])
    return Page(
        sources=tuple(str(directory) for directory in known.directories),
        made_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        figures=known.figures,
        violated=known.figures["violated"],
        unknown=known.figures["undecided"],
        findings=tuple(_finding(one) for one in known.verdicts.shown),
        pairs=_slices(answers["coverage"], "published_us", _PAIRS),
        reach=_slices(answers["casts"], "started_us", _REACH),
        latency=_latency(answers["latency_buckets"]),
        duplicates=_duplicates(tables, answers["duplicates"]),
        cells=cells,
        cells_left_out=_present(answers).count() - len(cells),
        terms=terms,
        terms_left_out=answers["timeline"].count() - len(terms),
        grids=make_grids(answers),
        skipped=tuple((str(path), reason) for path, reason in known.compacted.skipped[:FILES_SHOWN]),
        cut=_cut(tables),
    )


def _slices(frame: DataFrame, at: str, counts: Mapping[str, str]) -> tuple[Slice, ...]:
    """Sums over equal slices of the time in which anything happened."""
    begin_us, end_us = frame.agg(F.min(at), F.max(at)).collect()[0]
    if begin_us is None:
        return ()
    width_us = max(-(-(end_us - begin_us + 1) // SLICES), 1)
    number = F.floor((F.col(at) - begin_us) / width_us).cast("int").alias("number")
    sums = [F.sum(F.coalesce(F.expr(count), F.lit(0))).alias(name) for name, count in counts.items()]
    rows = {row.number: row for row in frame.where(F.col(at).isNotNull()).groupBy(number).agg(*sums).collect()}
    slices = []
    for place in range(max(rows) + 1):
        told = rows.get(place)
        summed = {name.replace("_", " "): int(told[name]) if told else 0 for name in counts}
        slices.append(Slice(begin_us + place * width_us, begin_us + (place + 1) * width_us, summed))
    return tuple(slices)


def _latency(buckets: DataFrame) -> dict[str, tuple[Bucket, ...]]:
    is_wanted = (F.col("measure") == "delivery") & (F.col("guarantee") != ALL)
    lines: dict[str, list[Bucket]] = defaultdict(list)
    for row in buckets.where(is_wanted).orderBy("guarantee", "bucket").collect():
        lines[row.guarantee].append(Bucket(row.greatest_us, row.spans))
    return {name: tuple(line) for name, line in lines.items()}


def _duplicates(tables: Tables, per_node: DataFrame) -> tuple[NodeDuplicates, ...]:
    """Those with most, and why."""
    repeated = per_node.where("repeated > 0").select("id", "new", "repeated")
    most = repeated.orderBy(F.desc("repeated"), "id").limit(NODES_SHOWN + 1)
    times = F.sum(F.coalesce("count", F.lit(1))).alias("times")
    why = tables.of(Kind.DUPLICATE).groupBy("node", "reason").agg(times).join(F.broadcast(tables.nodes), "node")
    why = why.join(F.broadcast(most), "id")
    nodes: dict[str, NodeDuplicates] = {}
    for row in why.collect():
        node = nodes.setdefault(row.id, NodeDuplicates(row.id, row.new + row.repeated, {}))
        nodes[row.id] = NodeDuplicates(node.node, node.received, {**node.causes, str(row.reason): row.times})
    return tuple(nodes.values())


def _cells(answers: Mapping[str, DataFrame]) -> tuple[Cell, ...]:
    carried = (F.col("forwarded") + F.col("received")).alias("carried")
    load = answers["load_by_cluster"].groupBy("cluster").agg(F.sum(carried).alias("carried"))
    rows = _present(answers).join(load, "cluster", "left").orderBy("prefix", "cluster").limit(CELLS_MAX).collect()
    return tuple(Cell(row.prefix, row.cluster, row.node or "", row.carried or 0) for row in rows)


def _present(answers: Mapping[str, DataFrame]) -> DataFrame:
    return answers["places"].where(F.col("standing") == Standing.PRESENT.value)


def _terms(timeline: DataFrame) -> tuple[TermSpan, ...]:
    rows = timeline.orderBy("began_us").limit(TERMS_MAX).collect()
    return tuple(_term(row) for row in rows)


def _term(row: Row) -> TermSpan:
    # Gracefully or not known: what ended with its process at the end of the trace is not news.
    ending = "" if row.end == "closed" else row.end
    return TermSpan(row.cluster or "?", row.id or "?", row.epoch_counter or 0, row.began_us, row.ended_us, ending)


def _finding(row: Mapping[str, Any]) -> ShownFinding:
    about = [f"{name} {_short(row[name])}" for name in ("event", "subscription", "cast") if row[name]]
    about += [f"cluster {row['cluster']}"] if row["cluster"] else []
    record = "" if row["process"] is None else f"{_short(row['process'])} #{row['sequence']}"
    return ShownFinding(row["invariant"], row["verdict"], row["text"], row["wall_us"], record, ", ".join(about))


def _short(name: str) -> str:
    """An event or a process, by the first ten digits of its peer."""
    node, _, rest = name.partition(".")
    return f"{node[:10]}.{rest}"


def _cut(tables: Tables) -> tuple[tuple[str, str], ...]:
    silent = tables.processes.where("not is_closed and records > 0").orderBy(F.desc("last_us")).limit(FILES_SHOWN)
    rows = named(tables, silent.select("process", "last_us")).collect()
    return tuple(sorted((_short(row.process), moment_text(row.last_us)) for row in rows))
