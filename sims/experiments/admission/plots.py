"""Figures 9 and 10 of RacsCBPS as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sims.experiments.admission.gate import DemandChoice
from sims.experiments.admission.plan import CRITERIA, AdmissionPlan
from sims.experiments.admission.tables import Results
from sims.experiments.admission.trial import AdmissionResult
from sims.experiments.page import results_of
from sims.experiments.pictures import Figures, drawn, lines, name_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS: Final = dict(zip(CRITERIA, "x^so", strict=True))
PICTURES: Final[dict[str, Figures[AdmissionResult]]] = {
    "discards": (
        ("events discarded a second at a broker", lambda result: result.discarded_per_s),
        ("subscriptions rejected, %", lambda result: 100 * result.reject_rate),
    ),
    "use": (
        ("CPU used, %", lambda result: 100 * result.cpu_utilisation),
        ("links used, %", lambda result: 100 * result.link_utilisation),
    ),
}


def draw(plan: AdmissionPlan, directory: Path, found: Results) -> list[Path]:
    """Draw them, if there are results, as `admission-*.png`."""
    results = results_of(plan.figures(DemandChoice.SHARED), found)
    return [
        drawn(directory / f"admission-{name}.png", partial(_picture, figures=figures, results=results))
        for name, figures in PICTURES.items()
        if results
    ]


def _picture(axes: Sequence[Axes], figures: Figures[AdmissionResult], results: Sequence[AdmissionResult]) -> None:
    for criterion, mark in MARKS.items():
        ours = [result for result in results if result.criterion == criterion]
        lines(axes, figures, criterion, mark, ours, lambda result: result.subscribers)
    name_axes(axes, figures, "subscribers")
