"""The command lines of MTEP's experiment: what they print, keep and write, and what a bad option says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app
from sims.experiments.archive import kept
from sims.experiments.mtep.trial import MESH_RUNS, MeshTrial

SMALL = ["--rates", "0.5", "--minutes", "0.5", "--seeds", "0..1", "--jobs", "1"]
FIGURES = {
    "policy", "rate", "weight", "seed", "minutes", "drops", "paths", "earning", "success_rate", "matched", "on_time",
    "late", "dropped", "transmissions", "copies_max", "workload_digest", "cpu_seconds",
}  # fmt: skip
PAGE = "# Page\n\n<!-- table: policies -->\nold\n<!-- end -->\n\nwords\n\n<!-- table: cost -->\n<!-- end -->\n"


def run(*options: str) -> dict[str, Any]:
    """The JSON that the command prints."""
    result = CliRunner().invoke(app, ["sim", "mtep", *options, "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.output))


def test_every_policy_and_seed_has_its_figures() -> None:
    """In the order in which they were asked for, and MTEP once for each weight; then what it is over the others."""
    told = run(*SMALL, "--weights", "0.4,0.9", "--policies", "fcfs,mtep")
    results = told["results"]
    assert [(r["policy"], r["weight"], r["seed"]) for r in results] == [
        ("fcfs", None, 0), ("fcfs", None, 1), ("mtep", 0.4, 0), ("mtep", 0.4, 1), ("mtep", 0.9, 0), ("mtep", 0.9, 1),
    ]  # fmt: skip
    for result in results:
        assert set(result) == FIGURES
        assert result["matched"] == result["on_time"] + result["late"] + result["dropped"] > 0
        assert result["copies_max"] == 1
    assert len({result["workload_digest"] for result in results}) == 2
    assert [(ratio["policy"], ratio["weight"], ratio["seeds"]) for ratio in told["ratios"]] == [
        ("fcfs", 0.4, 2), ("fcfs", 0.9, 2),
    ]  # fmt: skip
    for ratio in told["ratios"]:
        assert {"rate", "policy", "earning_mean", "earning_sd", "success_mean", "success_sd"} <= set(ratio)


def test_other_paths_are_compared_with_the_papers() -> None:
    """Run by run: their earning is a multiple of what the same events earned on the shortest ways."""
    told = run(*SMALL, "--policies", "mtep", "--paths", "paper,climb")
    paper, climb = told["results"][:2], told["results"][2:]
    (gain,) = told["gains"]
    of_each = [ours["earning"] / theirs["earning"] for ours, theirs in zip(climb, paper, strict=True)]
    assert gain["earning_mean"] == pytest.approx(sum(of_each) / 2)
    assert gain["earning_min"] == pytest.approx(min(of_each))
    assert told["ratios"] == []


def test_processes_do_not_matter() -> None:
    """Two of them find what one finds."""
    options = ["--rates", "0.5", "--minutes", "0.2", "--seeds", "0..1", "--policies", "fcfs"]
    one, two = run(*options, "--jobs", "1"), run(*options, "--jobs", "2")
    for result in (*one["results"], *two["results"]):
        result.pop("cpu_seconds")
    assert one == two


def test_finished_runs_are_kept_and_not_run_again(tmp_path: Path) -> None:
    """What is in the directory is taken as it is; a run that was torn or is of other code is made anew."""
    options = [*SMALL, "--policies", "fcfs,fix", "--keep", str(tmp_path)]
    first = run(*options)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    for file in files:
        told = json.loads(file.read_bytes())
        told["result"]["late"] = 7_000 + told["trial"]["seed"]
        file.write_text(json.dumps(told), encoding="utf-8")
    assert sorted(r["late"] for r in run(*options)["results"]) == [7_000, 7_000, 7_001, 7_001]
    files[0].write_bytes(files[0].read_bytes()[:40])
    other = json.loads(files[1].read_bytes())
    files[1].write_text(json.dumps(other | {"code": "other"}), encoding="utf-8")
    again = run(*options)["results"]
    assert sum(r["late"] < 7_000 for r in again) == 2
    assert [r["earning"] for r in again] == [r["earning"] for r in first["results"]]


def test_people_see_means_and_ratios() -> None:
    """A line for each policy, and what MTEP is over the others."""
    result = CliRunner().invoke(app, ["sim", "mtep", *SMALL, "--policies", "fcfs,mtep", "--paths", "paper,climb"])
    assert result.exit_code == 0, result.output
    assert "mtep 0.4 / fcfs at rate 0.5 on paper paths: earning" in result.output
    assert "climb / paper paths at rate 0.5: earning" in result.output


def test_the_page_gets_the_tables_and_plots_of_what_is_finished(tmp_path: Path) -> None:
    """Its own words stay; nothing is run for it if that is asked."""
    pytest.importorskip("matplotlib")
    page, keep = tmp_path / "page.md", tmp_path / "kept"
    page.write_text(PAGE, encoding="utf-8")
    run("--rates", "1", "--minutes", "0.5", "--seeds", "0..1", "--jobs", "1", "--keep", str(keep))
    command = ["sim", "mtep-page", str(page), "--keep", str(keep), "--minutes", "0.5", "--seeds", "0..1"]
    result = CliRunner().invoke(app, [*command, "--judged", "5", "--finished"])
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Page\n\n<!-- table: policies -->\n\n| ")
    assert "old" not in text
    assert "words" in text
    assert "(mtep-policies.png)" in text
    assert "| MTEP / FCFS | 2.84 | " in text
    assert "| runs finished | 8 of " in text
    assert kept(MESH_RUNS, MeshTrial("mtep", 1.0, 0, 0.5, 0.4), keep) is not None
    assert {path.name for path in tmp_path.glob("*.png")} == {"mtep-policies.png", "mtep-rates.png"}


@pytest.mark.parametrize(
    "options",
    [
        ["--policies", "mtep,edf"],
        ["--rates", "0"],
        ["--rates", "fast"],
        ["--weights", "1.1"],
        ["--drops", "sometimes"],
        ["--paths", "scenic"],
        ["--seeds", "x"],
        ["--arrivals", "late"],
        ["--transfers", "slow"],
        ["--occupies", "disk"],
        ["--master", "local[1]"],
    ],
)
def test_bad_options_exit_with_advice(options: list[str]) -> None:
    """One line, and exit code 1."""
    result = CliRunner().invoke(app, ["sim", "mtep", *options])
    assert result.exit_code == EXIT_REFUSED
    assert "Traceback" not in result.output


@pytest.mark.parametrize("text", ["no marks", "<!-- table: weather -->\n<!-- end -->\n"])
def test_a_page_without_tables_is_refused(tmp_path: Path, text: str) -> None:
    """Before anything is run."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["sim", "mtep-page", str(page), "--keep", str(tmp_path / "kept")])
    assert result.exit_code == EXIT_REFUSED
    assert page.read_text(encoding="utf-8") == text
