"""The command line of the broadcast experiment: what it prints and draws, and what a bad option says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app

SMALL = ["--nodes", "4..8,100", "--seeds", "0..1", "--simulated-max", "8", "--jobs", "1"]


def run(*options: str) -> dict[str, Any]:
    """The JSON that the command prints."""
    result = CliRunner().invoke(app, ["sim", "broadcast", *options, "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.output))


def test_every_algorithm_size_and_seed_has_its_figures() -> None:
    """In the order in which they were asked for, with the engine that made them."""
    results = run(*SMALL)["results"]
    assert [(r["algorithm"], r["nodes"], r["seed"]) for r in results] == [
        (algorithm, nodes, seed)
        for algorithm in ("flooding", "gossip", "hypercube")
        for nodes in (4, 8, 100)
        for seed in (0, 1)
    ]
    for result in results:
        assert set(result) == {
            "algorithm", "nodes", "seed", "failed", "coverage", "duplicate_rate", "messages", "hops", "engine"
        }  # fmt: skip
        assert result["engine"] == ("simulated" if result["nodes"] <= 8 else "vectorised")
        if result["algorithm"] == "hypercube":
            assert (result["coverage"], result["duplicate_rate"]) == (1.0, 0.0)
            assert result["messages"] == result["nodes"] - 1


def test_processes_do_not_matter() -> None:
    """Two of them print what one prints."""
    options = ["--nodes", "50", "--seeds", "0..2", "--failed", "0.1", "--simulated-max", "0"]
    assert run(*options, "--jobs", "2") == run(*options, "--jobs", "1")


def test_readings_are_told_and_matter() -> None:
    """The reading is part of what is printed; a shorter gossip reaches fewer."""
    options = ["--nodes", "300", "--algorithms", "gossip", "--seeds", "1", "--jobs", "1"]
    short = run(*options, "--rounds", "3", "--choice", "links", "--overlay", "cube", "--fanout", "2")
    assert short["reading"] == {"overlay": "cube", "degree": 5.5, "fanout": 2.0, "rounds": 3, "choice": "links"}
    assert short["results"][0]["hops"] == 3
    assert short["results"][0]["coverage"] < run(*options)["results"][0]["coverage"]


def test_people_see_means_over_the_seeds() -> None:
    """One line per algorithm and size."""
    result = CliRunner().invoke(app, ["sim", "broadcast", *SMALL, "--algorithms", "hypercube"])
    assert result.exit_code == 0, result.output
    assert result.output.count("1.0000") == 3


def test_the_plot_needs_no_display(tmp_path: Path) -> None:
    """Figures 5 and 6 as a picture, the same for the same results."""
    pytest.importorskip("matplotlib")
    one, other = tmp_path / "one.svg", tmp_path / "other.svg"
    for path in (one, other):
        run(*SMALL, "--plot", str(path))
    assert one.read_text(encoding="utf-8").startswith("<?xml")
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["--algorithms", "flooding,teleport"],
        ["--nodes", "4-8"],
        ["--nodes", "0"],
        ["--seeds", "x"],
        ["--overlay", "torus"],
        ["--choice", "friends"],
        ["--plot", "figure.docx"],
        ["--master", "local[1]"],
    ],
)
def test_bad_options_exit_with_advice(options: list[str]) -> None:
    """Nothing is run, and the field at fault is named."""
    result = CliRunner().invoke(app, ["sim", "broadcast", *options])
    assert result.exit_code == EXIT_REFUSED
    assert options[-2].strip("-") in result.output


@pytest.mark.parametrize("options", [["--failed", "1.5"], ["--fanout", "0"], ["--rounds", "0"], ["--degree", "1"]])
def test_bad_numbers_are_bad_usage(options: list[str]) -> None:
    """Out of the range that makes sense."""
    assert CliRunner().invoke(app, ["sim", "broadcast", *options]).exit_code == 2


@pytest.mark.parametrize(
    ("command", "option", "module", "advice"),
    [
        ("broadcast", "--spark", "pyspark", "p2psub[spark]"),
        ("overlay", "--spark", "pyspark", "p2psub[spark]"),
        ("broadcast", "--plot=x.svg", "matplotlib", "p2psub[plots]"),
    ],
)
def test_what_is_not_installed_is_named(
    command: str, option: str, module: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that brings it."""
    find = importlib.util.find_spec
    for place in ("importlib.util.find_spec", "p2psub.cli.spark_extra.find_spec"):
        monkeypatch.setattr(place, lambda name: None if name == module else find(name))
    result = CliRunner().invoke(app, ["sim", command, option])
    assert result.exit_code == EXIT_REFUSED
    assert advice in result.output
