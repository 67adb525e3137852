"""The tables of docs/experiments/mtep.md, as Markdown: the paper's figures and ours side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from sims.experiments.mtep import summary
from sims.experiments.mtep.plan import READINGS, WEIGHTS, PagePlan
from sims.experiments.mtep.trial import MTEP, MeshResult, MeshTrial, PathChoice
from sims.experiments.page import Table, results_of, table_of

BASELINES: Final = ("fix", "lrt", "fcfs")
PAPER_EARNING: Final = {"fix": 1.47, "lrt": 3.16, "fcfs": 2.84}
PAPER_SUCCESS: Final = {"fix": 1.33, "lrt": 2.26, "fcfs": 1.97}
PAPER_CORRELATION: Final = 0.403
LOAD_TARGETS: Final = {1.0: 1.08, 2.0: 1.18, 3.0: 1.22, 5.0: 1.28}
STEADY_FROM: Final = 0.2
"""The paper finds earning and success steady above this weight."""

Results = Mapping[MeshTrial, MeshResult]


def tables_of(plan: PagePlan, found: Results) -> dict[str, Table]:
    """Every table with its plot, by the name that the page calls it by."""
    return {
        "policies": policies_table(results_of(plan.reading(READINGS["as above"]), found)),
        "rates": rates_table(results_of(plan.rates(), found)),
        "weights": weights_table(results_of(plan.weights(), found)),
        "readings": readings_table({name: results_of(plan.reading(r), found) for name, r in READINGS.items()}),
        "load": load_table(results_of(plan.load(), found)),
        "cost": cost_table(plan, found),
    }


def plotted(plan: PagePlan, found: Results) -> dict[str, list[MeshResult]]:
    """The results that each plot shows, where there are any."""
    shown = {
        "policies": results_of(plan.reading(READINGS["as above"]), found),
        "rates": results_of(plan.rates(), found),
        "weights": with_all_weights(results_of(plan.weights(), found)),
        "load": results_of(plan.load(), found),
    }
    return {name: results for name, results in shown.items() if results}


def policies_table(results: Sequence[MeshResult]) -> Table:
    """Figure 7: what MTEP earns and hands over, over each other policy."""
    rows = [
        (
            f"MTEP / {ratio.policy.upper()}",
            f"{PAPER_EARNING[ratio.policy]:.2f}",
            f"{_times(ratio.earning_mean)} ± {_times(ratio.earning_sd)}",
            _times(ratio.earning_min),
            f"{PAPER_SUCCESS[ratio.policy]:.2f}",
            f"{_times(ratio.success_mean)} ± {_times(ratio.success_sd)}",
            str(ratio.seeds),
        )
        for policy in BASELINES
        for ratio in summary.ratios(results)
        if ratio.policy == policy
    ]
    heads = "|earning: paper|here|lowest|success: paper|here|topologies"
    return table_of(heads, rows, "mtep-policies.png", "earning and success of the four policies")


def rates_table(results: Sequence[MeshResult]) -> Table:
    """Figure 8: every policy at every rate."""
    rows = []
    for rate in sorted({result.rate for result in results}):
        for policy in (MTEP, *BASELINES):
            some = [result for result in results if (result.rate, result.policy) == (rate, policy)]
            if some:
                rows.append((f"{rate:g}", policy.upper(), *_means(some)))
    heads = "rate|policy|matched|on time|late|dropped|success|earning|topologies"
    return table_of(heads, rows, "mtep-rates.png", "earning and success over the rate")


def weights_table(results: Sequence[MeshResult]) -> Table:
    """Figure 9: MTEP over its weight, on the topologies that have all weights."""
    paired = with_all_weights(results)
    rows = []
    for weight in sorted({result.weight or 0.0 for result in paired}):
        some = [result for result in paired if result.weight == weight]
        success = fmean(result.success_rate for result in some)
        earning = fmean(result.earning for result in some)
        rows.append((f"{weight:g}", f"{earning:,.0f}", f"{success:.2%}", str(len(some))))
    said = ["", *_weights_said(paired)] if paired else []
    return [
        *table_of("weight|earning|success|topologies", rows, "mtep-weights.png", "earning and success over the weight"),
        *said,
    ]


def with_all_weights(results: Sequence[MeshResult]) -> list[MeshResult]:
    """The results of those topologies that have one for every weight of the sweep."""
    weights: dict[int, set[float | None]] = {}
    for result in results:
        weights.setdefault(result.seed, set()).add(result.weight)
    return [result for result in results if weights[result.seed] >= set(WEIGHTS)]


def readings_table(by_name: Mapping[str, Sequence[MeshResult]]) -> Table:
    """Figure 7, as other readings have it."""
    rows = [("the paper", "", "", *_told(PAPER_EARNING), *_told(PAPER_SUCCESS), "")]
    for name, results in by_name.items():
        ratios = {ratio.policy: ratio for ratio in summary.ratios(results)}
        ours = [result for result in results if result.policy == MTEP]
        if set(ratios) == set(BASELINES):
            rows.append(
                (
                    name,
                    f"{fmean(result.earning for result in ours):,.0f}",
                    f"{fmean(result.success_rate for result in ours):.1%}",
                    *(_times(ratios[policy].earning_mean) for policy in BASELINES),
                    *(_times(ratios[policy].success_mean) for policy in BASELINES),
                    str(min(ratio.seeds for ratio in ratios.values())),
                )
            )
    heads = [f"{what} / {policy.upper()}" for what in ("earning", "success") for policy in BASELINES]
    return table_of("|".join(["reading", "MTEP earns", "success", *heads, "topologies"]), rows)


def load_table(results: Sequence[MeshResult]) -> Table:
    """What ways by load earn over the paper's, with their two parts apart."""
    gains = {(gain.paths, gain.rate): gain for gain in summary.gains(results)}
    rows = []
    for rate, target in LOAD_TARGETS.items():
        gain = gains.get((PathChoice.LOAD, rate))
        if gain is None:
            continue
        parts = [gains.get((paths, rate)) for paths in (PathChoice.LOAD_UNTOLD, PathChoice.PAPER_TOLD)]
        rows.append(
            (
                f"{rate:g}", f"{target:.2f}", f"{_times(gain.earning_mean)} ± {_times(gain.earning_sd)}",
                _times(gain.earning_min), _times(gain.success_mean),
                *(_times(part.earning_mean if part else None) for part in parts), str(gain.seeds),
            )
        )  # fmt: skip
    heads = "rate|wanted|earning|lowest|success|ways alone|waiting alone|topologies"
    return table_of(heads, rows, "mtep-load.png", "MTEP on the paper's ways and on ways by load")


def cost_table(plan: PagePlan, found: Results) -> Table:
    """What the page took, and what is missing."""
    trials = plan.trials()
    done = [found[trial] for trial in trials if trial in found]
    four = results_of(plan.reading(READINGS["as above"]), found)
    seeds = len({result.seed for result in four}) or 1
    rows = [
        ("runs finished", f"{len(done):,} of {len(trials):,}"),
        ("minutes of each, and of those with ways by load", f"{plan.minutes:g}, {plan.judged_minutes:g}"),
        ("CPU seconds of all", f"{sum(result.cpu_seconds for result in done):,.0f}"),
        (
            "CPU seconds of the four policies on one topology at rate 1",
            f"{sum(r.cpu_seconds for r in four) / seeds:,.0f}",
        ),
        ("copies of an event at one broker, at most", str(max((result.copies_max for result in done), default=0))),
    ]
    return table_of("|", rows)


def _weights_said(paired: Sequence[MeshResult]) -> list[str]:
    """What the paper says of the weight, and what is so here."""
    coefficient = summary.weight_correlation(paired) or 0.0
    spreads = [
        _spread([r.earning for r in paired if r.seed == seed and (r.weight or 0.0) >= STEADY_FROM])
        for seed in sorted({result.seed for result in paired})
    ]
    means = summary.weight_means(paired)
    best = max(means, key=means.__getitem__)
    mean_spread = _spread([mean for weight, mean in means.items() if weight >= STEADY_FROM])
    varies = (
        f"{mean_spread:.2%}; that of one topology by {fmean(spreads):.2%} on average and {max(spreads):.2%} at most"
    )
    return [
        f"- Best weight for the earning: {best:g}; in the paper 0.15.",
        f"- From weight {STEADY_FROM:g} on the mean earning varies by {varies}.",
        f"- Correlation of earning and success over the weights, in the mean over the topologies: {coefficient:.3f}.",
        f"  In the paper: {PAPER_CORRELATION}.",
    ]


def _spread(figures: Sequence[float]) -> float:
    return max(figures) / min(figures) - 1


def _means(some: Sequence[MeshResult]) -> tuple[str, ...]:
    counts = zip(*((r.matched, r.on_time, r.late, r.dropped) for r in some), strict=True)
    return (
        *(f"{fmean(count):,.0f}" for count in counts),
        f"{fmean(r.success_rate for r in some):.1%}",
        f"{fmean(r.earning for r in some):,.0f}",
        str(len(some)),
    )


def _told(figures: Mapping[str, float]) -> list[str]:
    return [f"{figures[policy]:.2f}" for policy in BASELINES]


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"
