"""Figures 7, 8 and 9 of MTEP, and what ways by load earn, as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from sims.experiments.mtep.plan import PagePlan
from sims.experiments.mtep.tables import BASELINES, Results, plotted
from sims.experiments.mtep.trial import MTEP, MeshResult, PathChoice
from sims.experiments.pictures import Figures, drawn, lines, name_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS: Final = {"mtep": "o", "fix": "s", "lrt": "^", "fcfs": "x"}
FIGURES: Final[Figures[MeshResult]] = (
    ("total earning", lambda result: result.earning),
    ("successful arrival rate, %", lambda result: 100 * result.success_rate),
)


def draw(plan: PagePlan, directory: Path, found: Results) -> list[Path]:
    """Draw those figures for which there are results, as `mtep-*.png`."""
    pictures = {"policies": _policies, "rates": _rates, "weights": _weights, "load": _load}
    return [
        drawn(directory / f"mtep-{name}.png", partial(pictures[name], results=results))
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
        lines(axes, FIGURES, policy.upper(), MARKS[policy], ours, lambda result: result.rate)
    name_axes(axes, FIGURES, "events per minute and publisher")


def _weights(axes: Sequence[Axes], results: list[MeshResult]) -> None:
    """Figure 9: MTEP over the weight of its expected earning."""
    lines(axes, FIGURES, MTEP.upper(), MARKS[MTEP], results, lambda result: result.weight or 0.0)
    name_axes(axes, FIGURES, "weight")


def _load(axes: Sequence[Axes], results: list[MeshResult]) -> None:
    """What MTEP makes of other ways."""
    for paths, mark in ((PathChoice.PAPER, "s"), (PathChoice.LOAD, "o")):
        ours = [result for result in results if result.paths is paths]
        lines(axes, FIGURES, f"--paths {paths}", mark, ours, lambda result: result.rate)
    name_axes(axes, FIGURES, "events per minute and publisher")
