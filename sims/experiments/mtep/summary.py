"""What many runs of the experiment show together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import StatisticsError, correlation, fmean, stdev

from sims.experiments.mtep.trial import MTEP, MeshResult, MeshTrial, PathChoice


@dataclass(frozen=True, slots=True)
class MeshRatio:
    """How many times what a policy earns and hands over in time MTEP does, over the seeds that have both."""

    paths: PathChoice
    rate: float
    weight: float | None
    """That of MTEP."""
    policy: str
    earning_mean: float | None
    """None if a policy earned nothing, or paid, in some run; so below."""
    earning_sd: float | None
    earning_min: float | None
    success_mean: float | None
    success_sd: float | None
    seeds: int


@dataclass(frozen=True, slots=True)
class PathGain:
    """How many times what MTEP earns on the paper's paths it earns on others."""

    paths: PathChoice
    rate: float
    weight: float | None
    earning_mean: float | None
    earning_sd: float | None
    earning_min: float | None
    success_mean: float | None
    seeds: int


def work_of(trials: Sequence[MeshTrial]) -> list[tuple[MeshTrial, ...]]:
    """Trials that share workload and paths side by side, and the workloads that take longest first."""

    def workload(trial: MeshTrial) -> tuple[float, int, str]:
        return -trial.rate * trial.minutes, trial.seed, trial.reading.arrivals

    ordered = sorted(trials, key=lambda trial: (workload(trial), trial.reading.paths))
    return [tuple(some) for _, some in groupby(ordered, key=workload)]


def ratios(results: Sequence[MeshResult]) -> Iterator[MeshRatio]:
    """MTEP over each policy, run by run on the same workload; one rate and weight after the other."""
    for (paths, rate, weight), ours in _mtep_by_kind(results).items():
        for policy in dict.fromkeys(r.policy for r in results if r.policy != MTEP):
            pairs = _paired(ours, [r for r in results if (r.policy, r.paths, r.rate) == (policy, paths, rate)])
            if pairs:
                earning, success = _times(pairs, _earning), _times(pairs, _success)
                yield MeshRatio(
                    paths, rate, weight, policy, _mean(earning), _sd(earning), _min(earning), _mean(success),
                    _sd(success), len(pairs),
                )  # fmt: skip


def gains(results: Sequence[MeshResult]) -> Iterator[PathGain]:
    """MTEP on every choice of paths over MTEP on the paper's, run by run."""
    kinds = _mtep_by_kind(results)
    for (paths, rate, weight), ours in kinds.items():
        pairs = _paired(ours, kinds.get((PathChoice.PAPER, rate, weight), []))
        if pairs and paths is not PathChoice.PAPER:
            earning = _times(pairs, _earning)
            success = _mean(_times(pairs, _success))
            yield PathGain(paths, rate, weight, _mean(earning), _sd(earning), _min(earning), success, len(pairs))


def weight_correlation(results: Sequence[MeshResult]) -> float | None:
    """How success goes with earning when the weight changes: the coefficient of each topology, in the mean."""
    found: list[float] = []
    swept = [r for r in results if r.policy == MTEP]
    for key in dict.fromkeys((r.seed, r.rate, r.paths) for r in swept):
        some = [r for r in swept if (r.seed, r.rate, r.paths) == key]
        if len(some) > 2:
            try:
                found.append(correlation([r.earning for r in some], [r.success_rate for r in some]))
            except StatisticsError:
                continue  # constant, if nothing ever waits: there is no coefficient
    return fmean(found) if found else None


def weight_means(results: Sequence[MeshResult]) -> dict[float, float]:
    """What MTEP earns with each weight, in the mean."""
    weights = sorted({result.weight for result in results if result.weight is not None})
    return {weight: fmean(r.earning for r in results if r.weight == weight) for weight in weights}


Kind = tuple[PathChoice, float, float | None]
Times = list[float] | None
"""Ratios, or None if one of them means nothing."""


def _mtep_by_kind(results: Sequence[MeshResult]) -> dict[Kind, list[MeshResult]]:
    found: dict[Kind, list[MeshResult]] = {}
    for result in results:
        if result.policy == MTEP:
            found.setdefault((result.paths, result.rate, result.weight), []).append(result)
    return found


def _paired(ours: Sequence[MeshResult], theirs: Sequence[MeshResult]) -> list[tuple[MeshResult, MeshResult]]:
    by_seed = {result.seed: result for result in theirs}
    return [(our, by_seed[our.seed]) for our in ours if our.seed in by_seed]


def _times(pairs: list[tuple[MeshResult, MeshResult]], figure: Callable[[MeshResult], float]) -> Times:
    return [figure(our) / figure(their) for our, their in pairs] if all(figure(t) > 0 for _, t in pairs) else None


def _earning(result: MeshResult) -> float:
    return result.earning


def _success(result: MeshResult) -> float:
    return result.success_rate


def _mean(times: Times) -> float | None:
    return None if times is None else fmean(times)


def _sd(times: Times) -> float | None:
    return None if times is None else (stdev(times) if len(times) > 1 else 0.0)


def _min(times: Times) -> float | None:
    return None if times is None else min(times)
