"""Two plots side by side in one file, and lines of means in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

R = TypeVar("R")

Figures = Sequence[tuple[str, Callable[[R], float]]]
"""What each of the plots shows of a result, and its name."""


def lines(
    axes: Sequence[Axes],
    figures: Figures[R],
    label: str,
    mark: str,
    results: Sequence[R],
    along: Callable[[R], float],
) -> None:
    """A line in each plot, through the means of those results that are at one place."""
    at = sorted({along(result) for result in results})
    for one, (_, figure) in zip(axes, figures, strict=True):
        means = [fmean(figure(result) for result in results if along(result) == where) for where in at]
        one.plot(at, means, marker=mark, mfc="none", label=label)


def name_axes(axes: Sequence[Axes], figures: Figures[R], along: str) -> None:
    """Say what is what."""
    for one, (label, _) in zip(axes, figures, strict=True):
        one.set_xlabel(along)
        one.set_ylabel(label)
        one.legend()


def drawn(path: Path, picture: Callable[[Sequence[Axes]], None]) -> Path:
    """Let two plots be drawn into a file."""
    import matplotlib as mpl  # noqa: PLC0415, an extra that only this needs

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    picture(axes)
    for one in axes:
        one.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return path
