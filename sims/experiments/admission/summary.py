"""What many runs of the experiment show together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

from p2psub.admission.criteria import read_criterion
from sims.experiments.admission.gate import DemandChoice
from sims.experiments.admission.trial import AdmissionResult, AdmissionTrial

LOADED_FROM: Final = 60
"""With fewer subscribers hardly anything is discarded."""

Runs = dict[tuple[int, int], AdmissionResult]
"""By seed and number of subscribers."""


@dataclass(frozen=True, slots=True)
class CriteriaOrder:
    """In what share of the runs discarded events, and CPU use, go up from each criterion to the next laxer one."""

    demand: DemandChoice
    subscribers_min: int
    criteria: tuple[str, ...]
    """The strictest first."""
    runs: int
    """Pairs of seed and number of subscribers with a result for each criterion."""
    discarded_rises: float
    discarded_never_falls: float
    """Where equal figures are in order, too."""
    cpu_rises: float
    cpu_never_falls: float


@dataclass(frozen=True, slots=True)
class AdmittedRatio:
    """How many times as many subscriptions are admitted by what is shared as by another demand, in the mean of runs."""

    criterion: str
    demand: DemandChoice
    subscribers_min: int
    ratio: float | None
    """None if the other admitted nothing."""
    runs: int


def work_of(trials: Sequence[AdmissionTrial]) -> list[tuple[AdmissionTrial, ...]]:
    """Trials that share a workload together, and those that take longest first."""
    found: dict[tuple[object, ...], list[AdmissionTrial]] = {}
    for trial in sorted(trials, key=lambda trial: -trial.subscribers * trial.seconds):
        found.setdefault((trial.subscribers, trial.seed, trial.seconds, trial.reading), []).append(trial)
    return [tuple(some) for some in found.values()]


def orders(results: Sequence[AdmissionResult]) -> Iterator[CriteriaOrder]:
    """By demand, among the criteria that there are."""
    by_kind = _by_kind(results)
    criteria = sorted({r.criterion for r in results}, key=lambda text: read_criterion(text).refused_percent_max)
    for demand in _demands(results):
        kinds = [by_kind.get((text, demand)) or by_kind.get((text, None), {}) for text in criteria]
        shared = [run for run in kinds[0] if all(run in runs for runs in kinds)]
        if len(criteria) > 1 and shared:
            rows = [[runs[run] for runs in kinds] for run in shared]
            yield CriteriaOrder(
                demand, LOADED_FROM, tuple(criteria), len(rows), *_rising(rows, _discarded), *_rising(rows, _cpu)
            )


def admitted_ratios(results: Sequence[AdmissionResult]) -> Iterator[AdmittedRatio]:
    """What is shared over each other demand, run by run."""
    by_kind = _by_kind(results)
    for criterion in dict.fromkeys(r.criterion for r in results):
        ours = by_kind.get((criterion, DemandChoice.SHARED), {})
        for demand in _demands(results):
            theirs = by_kind.get((criterion, demand), {})
            runs = [run for run in ours if run in theirs]
            if demand is not DemandChoice.SHARED and runs:
                some = sum(theirs[run].admitted for run in runs)
                ratio = sum(ours[run].admitted for run in runs) / some if some else None
                yield AdmittedRatio(criterion, demand, LOADED_FROM, ratio, len(runs))


def _by_kind(results: Sequence[AdmissionResult]) -> dict[tuple[str, DemandChoice | None], Runs]:
    """The runs under load."""
    found: dict[tuple[str, DemandChoice | None], Runs] = {}
    for result in results:
        if result.subscribers >= LOADED_FROM:
            found.setdefault((result.criterion, result.demand), {})[result.seed, result.subscribers] = result
    return found


def _demands(results: Sequence[AdmissionResult]) -> list[DemandChoice]:
    return list(dict.fromkeys(result.demand for result in results if result.demand is not None))


def _rising(
    rows: Sequence[Sequence[AdmissionResult]], figure: Callable[[AdmissionResult], float]
) -> tuple[float, float]:
    """The shares of rows in which a figure rises from each to the next, and in which it never falls."""
    figures = [[figure(result) for result in row] for row in rows]
    return (
        fmean(all(one < other for one, other in pairwise(row)) for row in figures),
        fmean(all(one <= other for one, other in pairwise(row)) for row in figures),
    )


def _discarded(result: AdmissionResult) -> float:
    return result.discarded_per_s_total


def _cpu(result: AdmissionResult) -> float:
    return result.cpu_utilisation
