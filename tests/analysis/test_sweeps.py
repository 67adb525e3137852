"""Sweeps over Spark's tasks: the same results as without, in order, with progress."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from p2psub.analysis.sweeps import spread_over
from p2psub.cli.main import app
from sims.experiments.broadcast import Algorithm, Trial, perform

BROADCAST = ["broadcast", "--nodes", "4..8,2000", "--seeds", "0..1", "--simulated-max", "8"]
OVERLAY = ["overlay", "--clusters", "2", "--members", "4", "--seconds", "90", "--seeds", "0..1"]
OVERLAY += ["--faults", "loss,duplicate", "--schedules", "none"]

MTEP = ["mtep", "--rates", "0.5", "--minutes", "0.2", "--seeds", "0..1", "--policies", "fcfs,mtep"]

ADMISSION = ["admission", "--subscribers", "5,20", "--seconds", "6", "--seeds", "0..1", "--criteria", "none,full"]


def test_results_are_in_the_order_of_the_items(spark: SparkSession) -> None:
    """Each item has its own task, and each task its own result; the last word on progress is that all are done."""
    trials = [Trial(Algorithm.HYPERCUBE, nodes, seed=1, simulated_max=0) for nodes in (500, 3, 40, 1)]
    told: list[int] = []
    assert spread_over(spark, perform, trials, told.append) == [perform(trial) for trial in trials]
    assert told == sorted(told)
    assert told[-1] == len(trials)


def test_nothing_to_do_is_nothing_done(spark: SparkSession) -> None:
    """No items, no job."""
    assert spread_over(spark, perform, []) == []


@pytest.mark.parametrize(
    "command", [BROADCAST, OVERLAY, MTEP, ADMISSION], ids=["broadcast", "overlay", "mtep", "admission"]
)
@pytest.mark.usefixtures("_lent")
def test_spark_and_processes_find_the_same(command: list[str]) -> None:
    """`--spark` changes where the work is done, and nothing that is found."""
    assert figures(*command, "--spark") == figures(*command, "--jobs", "1")


def figures(*arguments: str) -> dict[str, Any]:
    """What a command prints, without what depends on the machine."""
    result = CliRunner().invoke(app, ["sim", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    told = dict(json.loads(result.output))
    told.pop("node_seconds_per_cpu_second", None)
    for one in told.get("results", []):
        one.pop("cpu_seconds", None)
    return told
