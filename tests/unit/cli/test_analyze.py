"""`p2psub analyze`: what it says before Spark starts, and how results are told."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from p2psub.analysis.job import Results
from p2psub.analysis.sources import MARK
from p2psub.cli.analyze import EXIT_VIOLATION, LINES_PRINTED, print_results, record_text
from p2psub.cli.exits import EXIT_BAD_INPUT, EXIT_REFUSED
from p2psub.cli.main import app

FIGURES: dict[str, Any] = {
    "coverage": 1.0,
    "cast_coverage": 1.0,
    "duplicate_rate": 0.0,
    "messages_per_cast": 3.0,
    "hops_max": 2,
    "published": 1500,
    "matched": 4000,
    "delivered": 3996,
    "lost": 1,
    "unknown": 3,
    "still_owed": 0,
    "ended": 0,
    "missed": 0,
    "duplicates": 0,
    "latency_ms": {"p50": 20.0, "p99": 400.0, "max": 4000.0},
    "failovers": 1,
    "rows": 20_000,
    "processes": 16,
    "cut": 2,
    "unheard": 0,
    "files": 300,
    "files_skipped": 1,
    "skipped": [{"file": "/srv/[b]ann[/b].ndjson", "reason": "empty"}],
    "violated": 1,
    "undecided": 3,
    "violations": [
        {
            "invariant": "S1",
            "verdict": "violated",
            "text": "a0b1.1.5 is [red]lost[/red]",
            "process": "a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1.1",
            "sequence": 77,
        }
    ],
}


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("p2psub.analysis.session.open_session", fail)


class Shown:
    """Results as the command has them."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.figures = figures


def printed(figures: dict[str, Any]) -> str:
    """What a person reads."""
    paper = io.StringIO()
    print_results(Shown(figures), Console(file=paper, width=120))  # type: ignore[arg-type]
    return paper.getvalue()


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["nowhere"], "there is no directory nowhere"),
        ([".", "--d-diff", "0"], "--d-diff"),
        ([".", "--d-diff", "inf"], "--d-diff"),
        ([".", "--d-diff", "nan"], "--d-diff"),
        ([".", "--follow", "--out", "x"], "leave out --out"),
        ([".", "--follow", "--every", "0"], "--every"),
        ([".", "--for", "3"], "add --follow"),
        ([".", "--once"], "add --follow"),
    ],
)
def test_bad_usage_ends_with_advice_before_spark_starts(options: list[str], advice: str) -> None:
    """Nothing is read, and what to do is said."""
    result = CliRunner().invoke(app, ["analyze", *options])
    assert (result.exit_code, advice in result.output) == (EXIT_BAD_INPUT, True), result.output


def test_compacted_traces_are_not_followed(tmp_path: Path) -> None:
    """Nobody writes there any more, and what is there would not be counted."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / MARK).touch()
    result = CliRunner().invoke(app, ["analyze", "--follow", str(tmp_path)])
    assert (result.exit_code, "leave out --follow" in result.output) == (EXIT_BAD_INPUT, True), result.output


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """To programs as JSON."""
    monkeypatch.setattr("p2psub.cli.spark_extra.find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["analyze", ".", "--json"])
    assert result.exit_code == EXIT_REFUSED
    assert "pip install 'p2psub[spark]'" in json.dumps(json.loads(result.output))


def test_directories_without_traces_are_refused_before_spark_starts(tmp_path: Path) -> None:
    """With the place where a peer writes them."""
    (tmp_path / "letter.txt").touch()
    result = CliRunner().invoke(app, ["analyze", str(tmp_path)])
    assert result.exit_code == EXIT_REFUSED
    assert "no trace" in result.output


def test_results_that_exist_are_not_written_over(tmp_path: Path) -> None:
    """Nor is anything else that is in the way; said before Spark starts."""
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "0123456789-1-000000000001.v5.ndjson").write_text("{}\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "report.html").touch()
    result = CliRunner().invoke(app, ["analyze", str(tmp_path / "traces"), "--out", str(tmp_path / "old")])
    assert result.exit_code == EXIT_REFUSED
    assert "is not empty" in result.output


def test_people_read_what_is_broken_as_it_stands_in_the_trace() -> None:
    """With its record; words of a trace are no markup."""
    said = printed(FIGURES)
    assert "promises were broken once; 3 cannot be told" in said
    assert "S1 violated: a0b1.1.5 is [red]lost[/red] (record a0b1c2d3e4.1 #77)" in said
    assert "3: their end may lie in records that are missing" in said
    assert "skipped /srv/[b]ann[/b].ndjson: empty" in said


@pytest.mark.parametrize(("violated", "code"), [(0, 0), (1, EXIT_VIOLATION)])
def test_only_a_broken_promise_fails(monkeypatch: pytest.MonkeyPatch, violated: int, code: int) -> None:
    """What is unknown does not; programs get all figures either way."""
    figures = {**FIGURES, "violated": violated}
    monkeypatch.setattr("p2psub.cli.analyze._run", lambda *_: Results(figures))
    result = CliRunner().invoke(app, ["analyze", ".", "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (code, figures)


def test_beyond_the_first_lines_it_says_how_many_there_are() -> None:
    """A person reads ten."""
    said = printed({**FIGURES, "violations": 25 * FIGURES["violations"], "violated": 1_234})
    assert said.count("S1 violated") == LINES_PRINTED
    assert "and 1,224 more; --out DIR writes them all" in said


def test_people_read_that_nothing_is_broken() -> None:
    """Also of traces without a single cast or delivery."""
    nothing = {"violated": 0, "undecided": 0, "violations": [], "unknown": 0, "coverage": None, "hops_max": None}
    said = printed({**FIGURES, **nothing, "latency_ms": {"p50": None, "p99": None, "max": None}})
    assert "no promise was broken" in said
    assert "violated" not in said


def test_a_finding_without_a_record_says_so() -> None:
    """A promise can be broken by what is not there."""
    assert record_text({"process": None, "sequence": None}) == ""
