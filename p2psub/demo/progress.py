"""How a run is told to the person who waits for it: bars in a terminal, elsewhere a line per stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from p2psub.demo.stages import ProgressReporter


@contextmanager
def open_reporter(console: Console, clock_s: Callable[[], float]) -> Iterator[ProgressReporter]:
    """A reporter on this console, while the block runs."""
    if not console.is_terminal:
        yield LineReporter(console, clock_s)
        return
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        reporter = BarReporter(progress)
        yield reporter
        reporter.finish()


class LineReporter:
    """Says when each stage began."""

    def __init__(self, console: Console, clock_s: Callable[[], float]) -> None:
        self._console = console
        self._clock_s = clock_s
        self._began_s = clock_s()

    def begin(self, stage: str, total: int) -> None:
        self.note(f"{stage} ({total})" if total else stage)

    def progress(self, done: int) -> None:
        """Too much for lines."""

    def note(self, text: str) -> None:
        self._console.print(
            f"{self._clock_s() - self._began_s:6.1f} s  {text}", highlight=False, markup=False, soft_wrap=True
        )


class BarReporter:
    """A bar per stage; those that are over stay."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar: TaskID | None = None

    def begin(self, stage: str, total: int) -> None:
        self.finish()
        self._bar = self._progress.add_task(stage, total=total or None)

    def progress(self, done: int) -> None:
        if self._bar is not None:
            self._progress.update(self._bar, completed=done)

    def note(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False)

    def finish(self) -> None:
        """The stage is over."""
        if self._bar is None:
            return
        total = next(task.total for task in self._progress.tasks if task.id == self._bar)
        self._progress.update(self._bar, total=total or 1, completed=total or 1)
        self._progress.stop_task(self._bar)
