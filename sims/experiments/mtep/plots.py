"""Figures 7, 8 and 9 of MTEP, and what ways by load earn, as pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from sims.experiments.mtep.plan import PagePlan
from sims.experiments.mtep.tables import BASELINES, Results, plotted
from sims.experiments.mtep.trial import MTEP, MeshResult, PathChoice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS: Final = {"mtep": "o", "fix": "s", "lrt": "^", "fcfs": "x"}
FIGURES: Final[Sequence[tuple[str, Callable[[MeshResult], float]]]] = (
    ("total earning", lambda result: result.earning),
    ("successful arrival rate, %", lambda result: 100 * result.success_rate),
)


def draw(directory: Path, plan: PagePlan, found: Results) -> list[Path]:
    """Draw those figures for which there are results, as `mtep-*.png`."""
    import matplotlib as mpl  # noqa: PLC0415, an extra that only this needs

    mpl.use("Agg")
    pictures = {"policies": _policies, "rates": _rates, "weights": _weights, "load": _load}
    return [
        _drawn(directory / f"mtep-{name}.png", results, pictures[name])
        for name, results in plotted(plan, found).items()
    ]


def _policies(axes: Sequence[Axes], results: list[MeshResult]) -> None:
    """Figure 7: bars of each policy, in the mean over the topologies."""
    policies = [policy for policy in (MTEP, *BASELINES) if any(r.policy == policy for r in results)]
    for one, (label, figure) in zip(axes, FIGURES, strict=True):
        one.bar(
            [policy.upper() for policy in policies],
            [fmean(figure(r) for r in results if r.policy == policy) for policy in policies],
        )
        one.set_ylabel(label)


def _rates(axes: Sequence[Axes], results: list[MeshResult]) -> None:
    """Figure 8: each policy over the rate."""
    for policy in (MTEP, *BASELINES):
        ours = [result for result in results if result.policy == policy]
        _lines(axes, policy.upper(), MARKS[policy], ours, lambda result: result.rate)
    _named(axes, "events per minute and publisher")


def _weights(axes: Sequence[Axes], results: list[MeshResult]) -> None:
    """Figure 9: MTEP over the weight of its expected earning."""
    _lines(axes, MTEP.upper(), MARKS[MTEP], results, lambda result: result.weight or 0.0)
    _named(axes, "weight")


def _load(axes: Sequence[Axes], results: list[MeshResult]) -> None:
    """What MTEP makes of other ways."""
    for paths, mark in ((PathChoice.PAPER, "s"), (PathChoice.LOAD, "o")):
        ours = [result for result in results if result.paths is paths]
        _lines(axes, f"--paths {paths}", mark, ours, lambda result: result.rate)
    _named(axes, "events per minute and publisher")


def _lines(
    axes: Sequence[Axes], label: str, mark: str, results: list[MeshResult], along: Callable[[MeshResult], float]
) -> None:
    at = sorted({along(result) for result in results})
    for one, (_, figure) in zip(axes, FIGURES, strict=True):
        means = [fmean(figure(result) for result in results if along(result) == where) for where in at]
        one.plot(at, means, marker=mark, mfc="none", label=label)


def _named(axes: Sequence[Axes], along: str) -> None:
    for one, (label, _) in zip(axes, FIGURES, strict=True):
        one.set_xlabel(along)
        one.set_ylabel(label)
        one.legend()


def _drawn(path: Path, results: list[MeshResult], picture: Callable[[Any, list[MeshResult]], None]) -> Path:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    picture(axes, results)
    for one in axes:
        one.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return path
