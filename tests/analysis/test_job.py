"""A whole analysis, as a person runs it: figures, violations, report and tables of a planted trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.outputs import WORK, keep, make_out, write_table
from p2psub.analysis.questions import QUESTIONS
from p2psub.cli.analyze import EXIT_VIOLATION
from p2psub.errors import ConfigError
from p2psub.model.records import SCHEMA_VERSION
from tests.analysis.conftest import Analysed

PROMISED = (
    "coverage duplicate_rate messages_per_cast hops_max published matched delivered lost unknown duplicates latency_ms "
    "violations rows files_skipped"
)


def lines_of(table: Path) -> list[dict[str, Any]]:
    """A table of JSON lines."""
    return [json.loads(line) for line in table.read_text().splitlines()]


def test_a_loss_is_found_told_and_shown(analysed_market: Analysed) -> None:
    """One of six events never reached its subscriber, and no trace is cut: S1 is violated, the exit code says so.

    Beside the figures there are a report and all tables, as Parquet and JSON, with names instead of numbers.
    """
    trace, out, result = analysed_market.trace, analysed_market.out, analysed_market.result
    assert result.exit_code == EXIT_VIOLATION, result.output
    figures = json.loads(result.stdout)
    assert set(PROMISED.split()) <= figures.keys()
    assert (figures["published"], figures["matched"], figures["delivered"]) == (6, 6, 5)
    assert (figures["lost"], figures["unknown"], figures["coverage"]) == (1, 0, 5 / 6)
    assert (figures["duplicates"], figures["messages_per_cast"], figures["hops_max"]) == (2, 1.0, 1)
    assert figures["latency_ms"] == {"p50": 10.0, "p99": 10.0, "max": 10.0}
    assert (figures["rows"], figures["files"], figures["files_skipped"]) == (len(trace.records), 4, 1)
    assert (figures["failovers"], figures["processes"], figures["cut"]) == (1, 4, 0)
    losses = [one for one in figures["violations"] if one["invariant"] == "S1"]
    assert [one["event"] for one in losses] == [f"{trace.processes[1].node.hex()}.1.4"]
    assert figures == json.loads((out / "figures.json").read_text())
    assert figures["undecided_findings"] == []
    (skipped,) = figures["skipped"]
    assert skipped["reason"].startswith(f"schema version 9, newer than {SCHEMA_VERSION}")
    names = {question.name for question in QUESTIONS} | {"violations", "skipped"}
    assert {path.name for path in (out / "tables").iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("json", "parquet")
    }
    told = lines_of(out / "tables" / "coverage.json")
    assert pq.read_table(out / "tables" / "coverage.parquet").num_rows == len(told) == 6
    assert {one["event"] for one in told if one["lost"]} == {losses[0]["event"]}
    assert lines_of(out / "tables" / "skipped.json") == [skipped]
    ann, _, cid, _ = (process.node.hex() for process in trace.processes)
    assert [(one["from_node"], one["to_node"]) for one in lines_of(out / "tables" / "links.json")] == [(cid, ann)]
    assert [one["process"] for one in lines_of(out / "tables" / "processes.json")] == sorted(
        f"{process.node.hex()}.1" for process in trace.processes
    )
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 6
    assert losses[0]["text"] in page
    assert f"schema version 9, newer than {SCHEMA_VERSION}" in page
    assert {path.name for path in out.iterdir()} == {"report.html", "figures.json", "tables"}


def test_a_killed_run_does_not_block_the_next(tmp_path: Path) -> None:
    """What it had in its workspace is taken away, if there is nothing else."""
    (make_out(tmp_path / "out") / WORK / "traces").mkdir(parents=True)
    assert list(make_out(tmp_path / "out").iterdir()) == []
    (tmp_path / WORK).mkdir()
    with pytest.raises(ConfigError, match="is not empty"):
        make_out(tmp_path)
    assert (tmp_path / WORK).is_dir()


def test_a_table_without_rows_is_written_too(spark: SparkSession, tmp_path: Path) -> None:
    """With its columns, so that whoever reads it need not ask whether it is there."""
    keep(spark.createDataFrame([], "event string, lost long"), tmp_path / "kept")
    write_table("nothing", tmp_path / "kept", make_out(tmp_path / "out"))
    assert pq.read_table(tmp_path / "out" / "tables" / "nothing.parquet").column_names == ["event", "lost"]
    assert (tmp_path / "out" / "tables" / "nothing.json").read_text() == ""


def test_results_go_where_nothing_is(tmp_path: Path) -> None:
    """Neither into a directory that is in use nor over a file."""
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="out: "):
            make_out(place)
    assert make_out(tmp_path / "new" / "deep").is_dir()
