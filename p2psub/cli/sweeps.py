"""Sweeps of simulations: over this machine's processes, or over Spark's tasks, with progress for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from p2psub.cli.interrupts import ended_by_signal
from p2psub.cli.spark_extra import need_spark
from p2psub.errors import ConfigError

if TYPE_CHECKING:
    from sims.experiments.archive import Experiment

T = TypeVar("T")
R = TypeVar("R")

LOCAL: Final = "local[*]"

Keep = Annotated[
    Path | None, typer.Option(help="Directory for finished runs: an interrupted sweep goes on where it was.")
]
Jobs = Annotated[int, typer.Option(help="Processes; 0: one per core.", min=0)]
OnSpark = Annotated[bool, typer.Option("--spark", help="Spread the work over Spark tasks, instead of processes.")]
Master = Annotated[str | None, typer.Option(help=f"With --spark: its master (default: {LOCAL}).")]


def check_spark(spark: bool, master: str | None) -> None:
    """Refuse what could only fail later."""
    if master is not None and not spark:
        raise ConfigError("master", "is Spark's; add --spark")
    if spark:
        need_spark()


def swept(
    experiment: Experiment[T, R],
    workloads: Sequence[tuple[T, ...]],
    keep: Path | None,
    jobs: int,
    spark: bool,
    master: str | None,
) -> dict[T, R]:
    """The results of an experiment's trials, which come by workload; those that are kept are not run again."""
    from sims.experiments.archive import Work, perform_all  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.scenarios.campaign import in_processes  # noqa: PLC0415

    if keep is not None:
        try:
            keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError("keep", f"{keep} is not a directory that can be written: {error.strerror}") from error
    work = [Work(experiment, trials, keep) for trials in workloads]
    found: dict[T, R] = {}
    if spark:
        for some in over_spark(perform_all, work, master, "workloads"):
            found.update(some)
    else:
        with progress_of(len(work)) as progress:
            task = progress.add_task("workloads", total=len(work))
            for some in in_processes(perform_all, work, jobs or os.cpu_count() or 1):
                found.update(some)
                progress.advance(task)
    return found


def over_spark(function: Callable[[T], R], items: Sequence[T], master: str | None, what: str) -> list[R]:
    """What `function` makes of the items, in their order, by Spark's tasks."""
    from p2psub.analysis.session import spark_session  # noqa: PLC0415, only who asks for Spark loads it
    from p2psub.analysis.sweeps import spread_over  # noqa: PLC0415

    with (
        ended_by_signal(),
        spark_session(master or LOCAL) as spark,
        ended_by_signal(),
        progress_of(len(items)) as progress,
    ):
        task = progress.add_task(what, total=len(items))
        return spread_over(spark, function, items, lambda done: progress.update(task, completed=done))


def progress_of(total: int) -> Progress:
    """A bar on the error stream, for people who wait for more than one thing."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=total < 2 or not console.is_terminal,
    )
