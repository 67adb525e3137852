"""The experiments and benchmarks of matching, small: what they print, and that all engines find the same."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from p2psub.cli.main import app
from p2psub.cli.matching import EXIT_CONFIG


@pytest.fixture(autouse=True)
def _collector_passes_over_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every measurement it is asked to look at everything, and most of that is pytest's."""
    gc.freeze()
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


def run(*arguments: str) -> dict[str, Any]:
    """The JSON that a command prints."""
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.output))


@pytest.mark.parametrize("options", [[], ["--interleaved"], ["--connected", "--categories", "3"]])
def test_all_engines_find_the_same(options: list[str]) -> None:
    """The paper's experiments, with the figures of each engine."""
    report = run("sim", "matching", "--subscriptions", "120", "--events", "600", *options)
    engines = report["engines"]
    assert set(engines) == {"p2psub", "siena", "linear"}
    assert len({(figures["digest"], figures["matches"]) for figures in engines.values()}) == 1
    assert report["operations"] == 600
    for figures in engines.values():
        assert figures["matches"] > 0
        assert figures["seconds"] > 0
        assert figures["bytes"] > 0


def test_a_workload_from_a_file(tmp_path: Path) -> None:
    """Dates are dates to filters that compare with dates, and texts to others; lists are sets; null is missing."""
    lines: list[dict[str, object]] = [
        {"sub": "later", "filter": "at > DATE '2026-01-15'"},
        {"sub": 2, "filter": "at STARTS WITH '2026-02'"},
        {"sub": 3, "filter": "tags CONTAINS 1 OR price IS NULL"},
        {"event": {"at": "2026-02-01", "price": 1}},
        {"event": {"at": "2026-01-01", "price": None}},
        {"event": {"topic": "t", "tags": [1, "x"], "price": 1.5}},
    ]
    path = tmp_path / "workload.ndjson"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    engines = run("sim", "matching", "--workload", str(path))["engines"]
    assert [figures["matches"] for figures in engines.values()] == [4, 4, 4]


@pytest.mark.parametrize(
    "line", ["{", '{"sub": 1, "filter": "price >"}', '{"event": 5}', '{"event": {"topic": 5}}', "[]"]
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    """Which line, and what is wrong with it."""
    path = tmp_path / "workload.ndjson"
    path.write_text('{"sub": 1, "filter": "a = 1"}\n' + line, encoding="utf-8")
    result = CliRunner().invoke(app, ["sim", "matching", "--workload", str(path)])
    assert result.exit_code == EXIT_CONFIG
    assert "line 2" in result.output


@pytest.mark.parametrize("workload", ["once", "uniform"])
def test_the_benchmark_reports_every_figure(workload: str) -> None:
    """Rates, costs of changes, memory, and baselines of the same run."""
    report = run("bench", "matching", "--workload", workload, "--subscriptions", "120")
    for name in ("events_per_cpu_s", "insert_us", "remove_us", "forest_insert_us", "bytes_per_subscription"):
        assert report[name] > 0
    assert report["linear"]["events_per_cpu_s"] > 0
    assert ("siena" in report) == (workload == "once")


@pytest.mark.slow
def test_the_plot_needs_no_display(tmp_path: Path) -> None:
    """Time and memory over tenths of the size, as a picture."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "matching.png"
    report = run("sim", "matching", "--subscriptions", "40", "--events", "20", "--plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert len(report["plot"]) == 20
