"""The command lines of admission's experiment: what they print, keep and write, and what a bad option says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app
from sims.experiments.admission.gate import DemandChoice
from sims.experiments.admission.trial import ADMISSION_RUNS, AdmissionTrial
from sims.experiments.archive import kept

SMALL = ["--subscribers", "60", "--seconds", "4", "--seeds", "0..1", "--jobs", "1"]
FIGURES = {
    "criterion", "demand", "subscribers", "seed", "asked", "admitted", "reject_rate", "advertisements_asked",
    "advertisements_reject_rate", "published", "discarded_per_s", "discarded_per_s_total", "cpu_utilisation",
    "link_utilisation", "workload_digest", "cpu_seconds",
}  # fmt: skip
PAGE = "# Page\n\n<!-- table: discards -->\nold\n<!-- end -->\n\nwords\n\n<!-- table: cost -->\n<!-- end -->\n"


def run(*options: str) -> dict[str, Any]:
    """The JSON that the command prints."""
    result = CliRunner().invoke(app, ["sim", "admission", *options, "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.output))


def test_every_criterion_demand_and_seed_has_its_figures() -> None:
    """In the order in which they were asked for; where nobody is asked no demand matters, and it is run once."""
    told = run(*SMALL, "--criteria", "none,full,percent:20", "--demand", "route,shared")
    results = told["results"]
    assert [(r["criterion"], r["demand"], r["seed"]) for r in results] == [
        ("none", None, 0), ("none", None, 1),
        ("full", "route", 0), ("full", "route", 1), ("full", "shared", 0), ("full", "shared", 1),
        ("percent:20", "route", 0), ("percent:20", "route", 1),
        ("percent:20", "shared", 0), ("percent:20", "shared", 1),
    ]  # fmt: skip
    for result in results:
        assert set(result) == FIGURES
        assert result["admitted"] == round(result["asked"] * (1 - result["reject_rate"]))
        assert result["discarded_per_s_total"] == pytest.approx(50 * result["discarded_per_s"])
        assert 0 < result["link_utilisation"] < result["cpu_utilisation"] < 1
    assert len({result["workload_digest"] for result in results}) == 2
    assert [(order["demand"], order["criteria"], order["runs"]) for order in told["orders"]] == [
        ("route", ["full", "percent:20", "none"], 2), ("shared", ["full", "percent:20", "none"], 2),
    ]  # fmt: skip
    assert [(one["criterion"], one["demand"]) for one in told["admitted_ratios"]] == [
        ("full", "route"), ("percent:20", "route"),
    ]  # fmt: skip
    assert told["readings"] == {
        "topology": "rooted", "selectivity": 0.05, "says": "name", "advertisements": "changing",
        "is_voting_on_advertisements": False, "share_of": "asked",
    }  # fmt: skip


def test_readings_are_options() -> None:
    """Each changes what comes out, or is told at least."""
    options = ["--topology", "spanning", "--selectivity", "0.1", "--says", "event", "--advertisements", "fixed"]
    options += ["--votes-on-advertisements", "--share-of", "all"]
    told = run(*SMALL, "--criteria", "percent:20", "--demand", "shared", *options)
    assert told["readings"] == {
        "topology": "spanning", "selectivity": 0.1, "says": "event", "advertisements": "fixed",
        "is_voting_on_advertisements": True, "share_of": "all",
    }  # fmt: skip


def test_few_subscribers_are_in_no_order() -> None:
    """Nothing is discarded that could be compared."""
    told = run("--subscribers", "5", "--seconds", "4", "--seeds", "0", "--jobs", "1", "--criteria", "none,full")
    assert (told["orders"], told["admitted_ratios"]) == ([], [])


def test_processes_do_not_matter() -> None:
    """Two of them find what one finds."""
    options = ["--subscribers", "5", "--seconds", "4", "--seeds", "0..1", "--criteria", "none,full"]
    one, two = run(*options, "--jobs", "1"), run(*options, "--jobs", "2")
    for result in (*one["results"], *two["results"]):
        result.pop("cpu_seconds")
    assert one == two


def test_finished_runs_are_kept_and_not_run_again(tmp_path: Path) -> None:
    """What is in the directory is taken as it is."""
    options = [*SMALL, "--criteria", "full", "--demand", "shared", "--keep", str(tmp_path)]
    run(*options)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    for file in files:
        told = json.loads(file.read_bytes())
        told["result"]["asked"] = 7_000
        file.write_text(json.dumps(told), encoding="utf-8")
    assert [result["asked"] for result in run(*options)["results"]] == [7_000, 7_000]


def test_people_see_means_orders_and_ratios() -> None:
    """A line for each criterion and demand, and what they are to each other."""
    result = CliRunner().invoke(
        app, ["sim", "admission", *SMALL, "--criteria", "none,full", "--demand", "route,shared"]
    )
    assert result.exit_code == 0, result.output
    assert "shared, from 60 subscribers, full < none: discards" in result.output
    assert "full: shared admits" in result.output


def test_the_page_gets_the_tables_and_plots_of_what_is_finished(tmp_path: Path) -> None:
    """Its own words stay; nothing is run for it if that is asked."""
    pytest.importorskip("matplotlib")
    page, keep = tmp_path / "page.md", tmp_path / "kept"
    page.write_text(PAGE, encoding="utf-8")
    run(*SMALL, "--criteria", "none,full", "--demand", "shared", "--keep", str(keep))
    command = ["sim", "admission-page", str(page), "--keep", str(keep), *SMALL[:-2], "--finished"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith(
        "# Page\n\n<!-- table: discards -->\n\n| subscribers | none | percent:40 | percent:20 | full |"
    )
    assert "old" not in text
    assert "words" in text
    assert "(admission-discards.png)" in text
    assert "| runs finished | 4 of " in text
    assert kept(ADMISSION_RUNS, AdmissionTrial("full", DemandChoice.SHARED, 60, 0, 4.0), keep) is not None
    assert {path.name for path in tmp_path.glob("*.png")} == {"admission-discards.png", "admission-use.png"}


@pytest.mark.parametrize(
    "options",
    [
        ["--criteria", "some"],
        ["--criteria", "percent:101"],
        ["--demand", "more"],
        ["--subscribers", "0"],
        ["--subscribers", "few"],
        ["--seeds", "x"],
        ["--topology", "star"],
        ["--selectivity", "0.2"],
        ["--says", "nothing"],
        ["--advertisements", "never"],
        ["--share-of", "some"],
        ["--master", "local[1]"],
    ],
)
def test_bad_options_exit_with_advice(options: list[str]) -> None:
    """One line, and exit code 1."""
    result = CliRunner().invoke(app, ["sim", "admission", *options])
    assert result.exit_code == EXIT_REFUSED
    assert "Traceback" not in result.output


def test_a_page_without_tables_is_refused(tmp_path: Path) -> None:
    """Before anything is run."""
    page = tmp_path / "page.md"
    page.write_text("no marks", encoding="utf-8")
    result = CliRunner().invoke(app, ["sim", "admission-page", str(page), "--keep", str(tmp_path / "kept")])
    assert result.exit_code == EXIT_REFUSED
    assert not (tmp_path / "kept").exists()
