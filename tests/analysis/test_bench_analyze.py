"""`p2psub bench analyze` adds up rightly, notices when the engines disagree, and says what to do when it cannot run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from p2psub.analysis.benchmark.comparison import EngineFailed, _compared, bench_analyze
from p2psub.analysis.benchmark.engines import ANSWERS, AUDITED, Rows, duckdb_engine
from p2psub.analysis.benchmark.traces import write_trace
from p2psub.analysis.benchmark.worker import Cost, Run, cpu_s, peak_mib
from p2psub.cli.bench_analyze import EXIT_DIFFERENT
from p2psub.cli.main import app


def test_costs_are_summed_and_differences_named() -> None:
    """The ratio is of CPU seconds; an answer that differs is named."""
    same, other = [("a", 1.0)], [("a", 2.0)]
    duckdb = Run("duckdb", 0.1, 50, {"casts": Cost(1.0, 0.5, same), "audit rings": Cost(1.0, 0.5, same)})
    spark = Run("spark", 9.0, 900, {"casts": Cost(2.0, 1.0, same), "audit rings": Cost(4.0, 3.0, other)})
    size = _compared(1_000, 0.2, duckdb, spark)
    assert (size.all.ratio, size.all.spark.rows_per_s, size.all.duckdb.rows_per_s) == (3.0, 250.0, 1_000.0)
    assert ([found.ratio for found in size.questions.values()], size.differing) == ([2.0, 4.0], ["audit rings"])
    assert (size.answers.ratio, size.audits.ratio) == (2.0, 4.0)


def test_every_question_can_be_asked_of_duckdb(tmp_path: Path) -> None:
    """A small synthetic trace has an answer to each, and asking costs CPU and memory."""
    rows = write_trace(tmp_path, 500_000)
    with duckdb_engine(tmp_path, rows, 1, 512) as (ask, pids):
        before_s = cpu_s(pids)
        answers = {name: ask(name) for name in (*ANSWERS, *AUDITED)}
        assert cpu_s(pids) > before_s
        assert sum(map(peak_mib, pids)) > 10
    assert {name for name, answer in answers.items() if not answer} == {"audit terms", "audit books"}
    [promised] = [row for row in answers["coverage"] if row[0] == "effectively_once"]
    assert promised[1] == pytest.approx(500_000 / 14.2 * 0.9, rel=0.1)


def test_a_disk_that_is_too_small_is_said_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice names the space it takes."""

    class Full:
        free = 1 << 20

    def usage(_: Any) -> Full:
        return Full()

    monkeypatch.setattr("shutil.disk_usage", usage)
    with pytest.raises(EngineFailed, match="set TMPDIR"):
        bench_analyze([10_000_000], 1, 512, lambda _: None)


@pytest.mark.parametrize(("other", "code"), [([(1.0,)], 0), ([(2.0,)], EXIT_DIFFERENT)], ids=["agreed", "different"])
def test_the_command_tells_costs_and_disagreement(monkeypatch: pytest.MonkeyPatch, other: Rows, code: int) -> None:
    """To people as a table, to programs as JSON; the exit code is for both."""

    def run(engine: str, *_: object) -> Run:
        answer = [(1.0,)] if engine == "duckdb" else other
        return Run(engine, 1.0, 100.0, {name: Cost(2.0, 1.0, answer) for name in (*ANSWERS, *AUDITED)})

    monkeypatch.setattr("p2psub.analysis.benchmark.comparison._run", run)
    said = CliRunner().invoke(app, ["bench", "analyze", "--rows", "2e3", "--json"])
    (size,) = json.loads(said.stdout)["sizes"]
    assert (said.exit_code, size["all"]["ratio"], len(size["differing"])) == (code, 1.0, 21 if code else 0)
    assert size["answers"]["spark"]["rows_per_s"] == pytest.approx(size["rows"] / len(ANSWERS))
    shown = CliRunner().invoke(app, ["bench", "analyze", "--rows", "2e3"], env={"COLUMNS": "200"})
    assert shown.exit_code == code
    assert all(name in shown.output for name in ("audit losses", "all answers", "all audits"))


@pytest.mark.parametrize("rows", ["", "many", "0", "1e6,-1", "inf"])
def test_sizes_that_are_none_are_refused(rows: str) -> None:
    """With an example of what to say."""
    said = CliRunner().invoke(app, ["bench", "analyze", "--rows", rows])
    assert said.exit_code != 0
    assert "1e6,1e7" in said.output
