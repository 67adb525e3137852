"""The command line of the simulator: seeds as people write them, and what a bad option says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app
from p2psub.cli.ranges import read_seeds, read_sizes
from p2psub.cli.sim import EXIT_TOO_SHORT
from p2psub.errors import ConfigError
from p2psub.model.records import Kind, Record
from p2psub.traces.segments import read_segments


@pytest.mark.parametrize(
    ("text", "seeds"), [("0..3", [0, 1, 2, 3]), ("7", [7]), ("1,5,9", [1, 5, 9]), ("1,4..6", [1, 4, 5, 6])]
)
def test_seeds_are_ranges_and_lists(text: str, seeds: list[int]) -> None:
    """A..B includes both ends."""
    assert read_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1..", "..3", "5..2", "1-3"])
def test_what_is_no_seed_is_refused(text: str) -> None:
    """A bad range names itself."""
    with pytest.raises(ConfigError, match="seeds"):
        read_seeds(text)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("7", [7]),
        ("4..64", [4, 8, 16, 32, 64]),
        ("5..30", [5, 10, 20]),
        ("4..8,6,8", [4, 8, 6]),
        ("100, 1000", [100, 1000]),
    ],
)
def test_sizes_double(text: str, sizes: list[int]) -> None:
    """A..B begins with A and doubles; lists are as written, and nothing comes twice."""
    assert read_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "a", "0", "0..4", "8..4", "4..", "4-8", "1..1000000000"])
def test_what_is_no_size_is_refused(text: str) -> None:
    """A bad size names its field."""
    with pytest.raises(ConfigError, match="nodes"):
        read_sizes(text)


@pytest.mark.parametrize(
    "options",
    [
        ["--faults", "flood"],
        ["--schedules", "tsunami"],
        ["--seeds", "x"],
        ["--seeds", "²"],
        ["--seeds", "0..1", "--trace-out", "t"],
        ["--seconds", "nan"],
        ["--seconds", "inf"],
    ],
)
def test_bad_options_exit_with_advice(options: list[str]) -> None:
    """Nothing is run, and the field at fault is named."""
    result = CliRunner().invoke(app, ["sim", "overlay", *options])
    assert result.exit_code == EXIT_REFUSED
    assert options[-2].strip("-").replace("-", "_") in result.output


@pytest.mark.parametrize(("content", "advice"), [(None, "check the path"), (b"\xff", "write it in UTF-8")])
def test_a_scenario_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None, advice: str) -> None:
    """With advice."""
    file = tmp_path / "s.toml"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(app, ["sim", "overlay", "--scenario", str(file)])
    assert result.exit_code == EXIT_REFUSED
    assert advice in result.output


@pytest.mark.parametrize("command", ["broadcast", "matching"])
@pytest.mark.parametrize("name", ["plot.bmp", "nowhere/plot.svg"])
def test_a_plot_that_cannot_be_written_is_refused_before_anything_runs(command: str, name: str, tmp_path: Path) -> None:
    """An experiment takes long."""
    result = CliRunner().invoke(app, ["sim", command, "--plot", str(tmp_path / name)])
    assert result.exit_code == EXIT_REFUSED
    assert "plot" in result.output


def test_a_simulated_trace_is_what_peers_would_have_written(tmp_path: Path) -> None:
    """Segments that any reader of traces reads: every process in order, closed if it ran to the end."""
    out = tmp_path / "trace"
    options = ["--clusters", "2", "--members", "3", "--seconds", "90", "--seeds", "3", "--faults", "none"]
    options += ["--schedules", "none", "--trace-out", str(out)]
    assert CliRunner().invoke(app, ["sim", "overlay", *options]).exit_code in (0, EXIT_TOO_SHORT)
    processes: dict[tuple[bytes, int], list[Record]] = {}
    for record in read_segments(out):
        processes.setdefault((record.node, record.incarnation), []).append(record)
    assert len(processes) >= 6
    for records in processes.values():
        assert [record.sequence for record in records] == list(range(1, len(records) + 1))
        assert records[-1].kind is Kind.CLOSE
        assert [record.stamp for record in records] == sorted(record.stamp for record in records)
    again = CliRunner().invoke(app, ["sim", "overlay", *options])
    assert (again.exit_code, "name a new directory" in again.output) == (EXIT_REFUSED, True)


def test_a_run_that_is_too_short_is_no_violation() -> None:
    """It has its own words and exit code: nothing is broken, and nothing is shown."""
    words = ["sim", "overlay", "--clusters", "1", "--members", "3", "--seconds", "90", "--seeds", "1", "--jobs", "1"]
    result = CliRunner().invoke(app, [*words, "--faults", "crash,partition", "--schedules", "none", "--json"])
    assert result.exit_code == EXIT_TOO_SHORT, result.output
    summary = json.loads(result.stdout)
    assert summary["violations"] == []
    assert {one["seed"] for one in summary["too_short"]} == {1}
    assert result.stderr.startswith("seed 1 was too short to judge: ")
    assert "more --seconds" in result.stderr
