"""A bar for jobs that say how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from p2psub.analysis.progress import OnProgress


@contextmanager
def spark_progress() -> Iterator[OnProgress]:
    """A bar on a terminal; elsewhere nothing, for the answer is what counts."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("starting Spark", total=1)
        yield lambda what, done, total: progress.update(bar, description=what, completed=done, total=total)
