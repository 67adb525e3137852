"""A whole overlay on this machine, run to its end and told of: what `demo` and `soak` have in common."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from p2psub.cli.interrupts import run_interruptible

if TYPE_CHECKING:
    from p2psub.demo.directories import RunDirectories
    from p2psub.demo.stages import ProgressReporter

EXIT_BROKEN = 3


class RunReport(Protocol):
    """What came of a run."""

    @property
    def is_sound(self) -> bool:
        """Whether every promise was kept."""
        ...


R = TypeVar("R", bound=RunReport)


def run_overlay(directories: RunDirectories, keep: bool, story: Callable[[ProgressReporter], Awaitable[R]]) -> R:
    """Run, with progress for people; one that is broken off leaves no files unless they are to be kept."""
    from p2psub.demo.progress import open_reporter  # noqa: PLC0415, `--help` must be quick

    try:
        with open_reporter(Console(stderr=True), time.monotonic) as reporter:
            reporter.note(f"everything is in {directories.root}")
            return run_interruptible(lambda: story(reporter))
    except typer.Exit:
        if not keep:
            directories.leave_nothing()
        raise


def tell(report: RunReport, rows: list[tuple[str, str]], as_json: bool) -> None:
    """Print the report, and exit as it says."""
    if as_json:
        print(json.dumps(msgspec.to_builtins(report)))
    else:
        Console().print(report_table(rows))
    if not report.is_sound:
        raise typer.Exit(EXIT_BROKEN)


def report_table(rows: list[tuple[str, str]]) -> Table:
    """The report for people."""
    table = Table(title="what came of it", show_header=False)
    for name, value in rows:
        table.add_row(name, value)
    return table
