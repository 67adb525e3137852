"""Pages of experiments: what is between their marks is written by a command, and plots are drawn beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from p2psub.cli.plots import check_plot
from p2psub.errors import ConfigError

if TYPE_CHECKING:
    from sims.experiments.archive import Experiment
    from sims.experiments.page import Table

T = TypeVar("T")
R = TypeVar("R")

Page = Annotated[Path, typer.Argument(help="Markdown: what is between its marks is written anew.")]
Kept = Annotated[Path, typer.Option("--keep", help="Directory for finished runs; those in it are not run again.")]
ShowFinished = Annotated[bool, typer.Option("--finished", help="Run nothing: show what is finished.")]


def write_page(
    page: Path,
    experiment: Experiment[T, R],
    trials: Sequence[T],
    keep: Path,
    run: Callable[[], object] | None,
    tables_of: Callable[[Mapping[T, R]], Mapping[str, Table]],
    draw: Callable[[Path, Mapping[T, R]], list[Path]],
) -> None:
    """Write the tables and draw the plots of what is finished of an experiment, after running it, if that is asked."""
    from sims.experiments.archive import kept  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.page import written  # noqa: PLC0415

    check_plot(page.with_suffix(".png"))
    text = _read(page)
    # A page without marks is refused before anything is run for it.
    written(text, tables_of({}))
    if run is not None:
        run()
    found = {trial: result for trial in trials if (result := kept(experiment, trial, keep)) is not None}
    page.write_text(written(text, tables_of(found)), encoding="utf-8")
    drawn = ", ".join(path.name for path in draw(page.parent, found)) or "no plot"
    print(f"{len(found):,} of {len(trials):,} runs shown in {page}, {drawn}")


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError("page", f"{page} cannot be read: {error.strerror}; name a page with marks") from error
