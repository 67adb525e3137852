"""Files that cannot be read, or are not there: what they held is unknown, and nobody is blamed for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.casts import casts
from p2psub.analysis.answers.coverage import coverage, coverage_totals
from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits import conservation, copies, losses, sequences
from p2psub.analysis.audits.findings import told, united
from p2psub.analysis.compaction import compact
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.headline import headline
from p2psub.analysis.rematch import rematch
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables
from p2psub.model.records import Kind
from p2psub.traces.segments import segments_of, short_name
from tests.analysis.planted_trace import PlantedTrace
from tests.analysis.rows import Numbers


@pytest.fixture(autouse=True)
def _nothing_stays_kept(spark: SparkSession) -> Iterator[None]:
    yield
    spark.catalog.clearCache()


def shop() -> PlantedTrace:
    """Ann publishes, Bob owns and does nothing else, Dan subscribes; of two events one ended otherwise."""
    trace = PlantedTrace()
    ann, bob, dan = (trace.process(name, at_ms=0) for name in ("ann", "bob", "dan"))
    wanted = dan.subscribe(at_ms=10)
    dan.verdict(wanted, at_ms=20)
    for number, at_ms in enumerate((100.0, 200.0)):
        event = ann.publish(at_ms=at_ms)
        bob.store(event, owed=1, at_ms=at_ms + 1)
        ann.acknowledge(event, count=1, peer=bob.node, at_ms=at_ms + 2)
        if number:
            bob.outcome(event, wanted, outcome="ended", at_ms=at_ms + 3)
        else:
            dan.deliver(event, wanted, at_ms=at_ms + 3)
        bob.discharge(event, at_ms=at_ms + 4)
    for process in trace.processes:
        process.close(at_ms=500)
    return trace


def segments_below(directory: Path, short: str) -> list[Path]:
    """The segments of one peer, in order."""
    return [path for segment, path in segments_of(directory.rglob("*.ndjson")) if segment.node == short]


def context_of(tables: Tables) -> AuditContext:
    """What several audits ask for, found out once."""
    context = AuditContext(acks=acknowledged(tables).persist(), silent_spans=SilentSpans.of(tables))
    return context._replace(covered=coverage(tables, context).persist())


def findings(tables: Tables, context: AuditContext) -> list[DataFrame]:
    """What audits say, one by one."""
    return [audit.audit(tables, context) for audit in (copies, losses, sequences)]


def test_what_damaged_files_held_is_unknown(spark: SparkSession, tmp_path: Path) -> None:
    """Nobody names a start of Bob's: the names of his damaged files do. One of Ann's explains the hole in her trace."""
    trace = shop()
    trace.write(tmp_path / "in", batch=2)
    ann, bob = (short_name(process.node) for process in trace.processes[:2])
    for path in [segments_below(tmp_path / "in", ann)[1], *segments_below(tmp_path / "in", bob)]:
        path.write_bytes(path.read_bytes()[:-9])
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    tables = compacted.tables
    context = context_of(tables)
    assert context.covered is not None
    said = headline(compacted, {"coverage": context.covered, "casts": casts(tables, context)})
    found = told(tables, united(findings(tables, context))).collect()
    assert [said[name] for name in ("delivered", "ended", "lost", "unknown", "still_owed")] == [1, 0, 0, 1, 0]
    assert (said["processes"], said["cut"], said["unheard"]) == (2, 0, 1)
    assert said["files_skipped"] == 1 + len(segments_below(tmp_path / "in", bob))
    assert {row.verdict for row in found} == {"unknown"}
    assert {
        f"all files of {bob[:8]}.1 were skipped",
        f"2 records of {ann[:8]}.1 are not there, and files of it were skipped",
    } <= {row.text for row in found}


def test_an_owner_whose_first_start_is_missing_is_unknown_and_not_accused(spark: SparkSession) -> None:
    """Bob came back, and only what he wrote then was handed in."""
    trace = shop()
    bob = trace.processes[1]
    trace.process("bob", bob.incarnation + 1).close()
    trace.processes.remove(bob)
    tables = trace.tables(spark)
    assert verdicts(findings(tables, context_of(tables))) == {"unknown"}


def test_an_owner_without_any_file_is_unknown_and_not_accused(spark: SparkSession) -> None:
    """Nobody handed Bob's files in; that he acknowledged is all that is known of him."""
    trace = shop()
    trace.processes.pop(1)
    tables = trace.tables(spark)
    context = context_of(tables)
    (total,) = coverage_totals(tables, context.covered).collect()
    assert [total[name] for name in ("delivered", "ended", "lost", "unknown", "still_owed")] == [1, 0, 0, 1, 0]
    assert verdicts(findings(tables, context)) == {"unknown"}


def test_an_event_without_its_content_is_judged_by_counts_where_others_are_matched_anew(spark: SparkSession) -> None:
    """Ann's record of the publication is missing: nobody can match it, and that it was not handed over is unknown."""
    trace = shop()
    ann, _, dan = trace.processes
    published, *_ = (record for record in ann.records if record.kind is Kind.PUBLISH)
    ann.records.remove(published)
    dan.records = [record for record in dan.records if record.kind is not Kind.DELIVER]
    dan.records = [structs.replace(record, sequence=n) for n, record in enumerate(dan.records, 1)]
    tables = trace.tables(spark)
    context = context_of(tables)
    context = context._replace(pairs=rematch(tables, context.acks).persist())
    event = Numbers.of(trace.records).key(published.event)
    for audit, invariant in ((losses, "S1"), (conservation, "conservation")):
        found = audit.audit(tables, context).where(F.col("event") == event).collect()
        assert [(row.invariant, row.verdict) for row in found if row.subscription is None] == [(invariant, "unknown")]


def verdicts(several: list[DataFrame]) -> set[str]:
    """Of all findings."""
    return {row.verdict for found in several for row in found.select("verdict").collect()}
