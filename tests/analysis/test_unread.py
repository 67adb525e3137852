"""Files that cannot be read, or are not there: what they held is unknown, and nobody is blamed for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from p2psub.analysis.answers.coverage import coverage_totals
from p2psub.analysis.audits import copies, losses, sequences
from p2psub.analysis.audits.findings import told, united
from p2psub.analysis.compacting import compact
from p2psub.cli.main import app
from p2psub.runtime.trace_files import segments_of, short_name
from tests.analysis.planting import Planting


def shop() -> Planting:
    """Ann publishes, Bob owns and does nothing else, Dan subscribes; of two events one ended otherwise."""
    trace = Planting()
    ann, bob, dan = (trace.process(name, at_ms=0) for name in ("ann", "bob", "dan"))
    wanted = dan.subscribe(at_ms=10)
    dan.verdict(wanted, at_ms=20)
    for number, at_ms in enumerate((100.0, 200.0)):
        event = ann.publish(at_ms=at_ms)
        bob.store(event, owed=1, at_ms=at_ms + 1)
        ann.acknowledge(event, count=1, peer=bob.node, at_ms=at_ms + 2)
        if number:
            bob.outcome(event, wanted, reason="expired", at_ms=at_ms + 3)
        else:
            dan.deliver(event, wanted, at_ms=at_ms + 3)
        bob.discharge(event, at_ms=at_ms + 4)
    for process in trace.processes:
        process.close(at_ms=500)
    return trace


def segments_below(directory: Path, short: str) -> list[Path]:
    """The segments of one peer, in order."""
    return [path for segment, path in segments_of(directory.rglob("*.ndjson")) if segment.node == short]


def damage(path: Path) -> None:
    """Cut off its end."""
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.usefixtures("_lent")
def test_what_is_unknown_is_no_failure(tmp_path: Path) -> None:
    """Bob's file is damaged, and nobody names a start of his: its name tells that he was there."""
    trace = shop()
    trace.write(tmp_path)
    bob = short_name(trace.processes[1].node)
    (segment,) = segments_below(tmp_path, bob)
    damage(segment)
    result = CliRunner().invoke(app, ["analyze", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["delivered"], figures["ended"], figures["lost"], figures["unknown"]) == (1, 0, 0, 1)
    assert (figures["violations"], figures["files_skipped"]) == ([], 1)
    assert (figures["processes"], figures["cut"], figures["unheard"]) == (2, 0, 1)
    assert f"all files of {bob[:8]}.1 were skipped" in {one["text"] for one in figures["doubts"]}


def test_an_owner_without_any_file_is_doubted_not_accused(spark: SparkSession, tmp_path: Path) -> None:
    """That Bob was there is known from the acknowledgements alone."""
    trace = shop()
    trace.write(tmp_path / "in")
    for path in segments_below(tmp_path / "in", short_name(trace.processes[1].node)):
        path.unlink()
    tables = compact(spark, [tmp_path / "in"], tmp_path / "out").tables
    (sums,) = coverage_totals(tables).collect()
    assert (sums.delivered, sums.ended, sums.lost, sums.unknown, sums.still_owed) == (1, 0, 0, 1, 0)
    found = united([audit.audit(tables) for audit in (copies, losses, sequences)]).collect()
    assert {row.verdict for row in found} == {"unknown"}


def test_a_hole_that_a_skipped_file_leaves_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    """Of Ann's segments the second is damaged: her records are missing, and it is known why."""
    trace = shop()
    trace.write(tmp_path / "in", batch=2)
    ann = short_name(trace.processes[0].node)
    damage(segments_below(tmp_path / "in", ann)[1])
    tables = compact(spark, [tmp_path / "in"], tmp_path / "out").tables
    (hole,) = told(tables, sequences.audit(tables)).collect()
    assert hole.verdict == "unknown"
    assert hole.text == f"2 records of {ann[:8]}.1 are not there, and files of it were skipped"
