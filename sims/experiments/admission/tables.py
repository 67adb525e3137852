"""The tables of docs/experiments/admission.md, as Markdown: what the paper says and what came out side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Final

from sims.experiments.admission import summary
from sims.experiments.admission.gate import DemandChoice
from sims.experiments.admission.plan import CRITERIA, READINGS, AdmissionPlan
from sims.experiments.admission.trial import AdmissionResult, AdmissionTrial
from sims.experiments.page import Table, results_of, table_of

REJECTED: Final = 0.4
"""The share that the paper names for the full guarantee."""
STEEP_FROM: Final = 80
"""From so many subscribers on the paper's discards rise steeply under 40 %."""

Results = Mapping[AdmissionTrial, AdmissionResult]
Figure = Callable[[AdmissionResult], float]


def tables_of(plan: AdmissionPlan, found: Results) -> dict[str, Table]:
    """Every table with its plot, by the name that the page calls it by."""
    shared = results_of(plan.figures(DemandChoice.SHARED), found)
    of_all = results_of(plan.all_figures(), found)
    return {
        "paper": paper_table(shared),
        "discards": by_size(shared, lambda r: r.discarded_per_s, 2, "admission-discards.png", "discards and rejects"),
        "rejects": by_size(shared, lambda r: 100 * r.reject_rate, 1),
        "cpu": by_size(shared, lambda r: 100 * r.cpu_utilisation, 1, "admission-use.png", "use of CPU and links"),
        "links": by_size(shared, lambda r: 100 * r.link_utilisation, 1),
        "demands": demands_table(of_all),
        "orders": orders_table(of_all),
        "readings": readings_table(plan, found),
        "cost": cost_table(plan, found),
    }


def paper_table(results: Sequence[AdmissionResult]) -> Table:
    """What 5.2 states in words, and what is so here; each discard at one broker, in the mean."""
    if not results:
        return table_of("", [])
    most = max(result.subscribers for result in results)
    at = {text: fmean(r.discarded_per_s for r in some) for text in CRITERIA if (some := _at(results, text, most))}
    total = [r.discarded_per_s_total for r in _at(results, "percent:20", most)]
    worst = max(at, key=at.__getitem__)
    rows = [
        ("full: discarded a second at a broker", "about 0", _figure(at.get("full"))),
        ("20 %: the same", "about 50, if the caption is right", _figure(at.get("percent:20"))),
        ("20 %: in the whole system", "about 50, if the text is right", _figure(fmean(total) if total else None)),
        (f"40 %: at a broker, with {STEEP_FROM} subscribers and {most}", "rises steeply", _steep(results, most)),
        ("discards most", "none", worst),
        ("full: rejects above 40 %", "soon", _first_above(results)),
        ("CPU use above that of links, in so many runs", "all", f"{fmean(_is_cpu_above(r) for r in results):.0%}"),
    ]
    return table_of("|paper|here", rows)


def by_size(
    results: Sequence[AdmissionResult], figure: Figure, digits: int, picture: str = "", words: str = ""
) -> Table:
    """A figure under each criterion over the number of subscribers: mean and deviation over the seeds."""
    rows = []
    for subscribers in sorted({result.subscribers for result in results}):
        some = [[figure(r) for r in _at(results, text, subscribers)] for text in CRITERIA]
        rows.append((str(subscribers), *(_spread(figures, digits) for figures in some), str(max(map(len, some)))))
    return table_of("|".join(["subscribers", *CRITERIA, "seeds"]), rows, picture, words)


def demands_table(results: Sequence[AdmissionResult]) -> Table:
    """What each demand admits and discards under load, and how much more the shared one admits."""
    loaded = [result for result in results if result.subscribers >= summary.LOADED_FROM]
    ratios = {(one.criterion, one.demand): one.ratio for one in summary.admitted_ratios(results)}
    rows = []
    for criterion in CRITERIA:
        for demand in (None, *DemandChoice):
            some = [r for r in loaded if (r.criterion, r.demand) == (criterion, demand)]
            if some:
                ratio = ratios.get((criterion, demand)) if demand else None
                rows.append((f"{criterion} {demand or ''}".strip(), *_means(some), _figure(ratio), str(len(some))))
    return table_of("criterion and demand|rejected|discarded|CPU|links|admitted: shared over this|runs", rows)


def orders_table(results: Sequence[AdmissionResult]) -> Table:
    """How often the criteria are in the paper's order."""
    rows = [
        (
            order.demand,
            f"{order.discarded_rises:.0%}",
            f"{order.discarded_never_falls:.0%}",
            f"{order.cpu_rises:.0%}",
            f"{order.cpu_never_falls:.0%}",
            str(order.runs),
        )
        for order in summary.orders(results)
    ]
    return table_of("demand|discards rise|or are equal|CPU rises|or is equal|runs", rows)


def readings_table(plan: AdmissionPlan, found: Results) -> Table:
    """The most subscribers, as other readings have it."""
    rows = []
    for name, reading in READINGS.items():
        by_demand = {demand: results_of(plan.reading(reading, demand), found) for demand in DemandChoice}
        shared, route = by_demand[DemandChoice.SHARED], by_demand[DemandChoice.ROUTE]
        discards = [*(_at(shared, text) for text in CRITERIA), _at(route, "full")]
        rejects = [*(_at(shared, text) for text in CRITERIA[1:]), _at(route, "full")]
        rejects.append(_at(by_demand[DemandChoice.PAPER], "full"))
        if all((*discards, *rejects)):
            refused = f"{fmean(r.advertisements_reject_rate for r in _at(shared, 'full')):.0%}"
            lost = (f"{fmean(r.discarded_per_s for r in some):.2f}" for some in discards)
            rejected = (f"{fmean(r.reject_rate for r in some):.0%}" for some in rejects)
            rows.append((name, *lost, *rejected, refused, str(len(_at(shared, "full")))))
    lost_heads = "discarded: none|40 %|20 %|full|full by route"
    heads = f"reading|{lost_heads}|rejected: 40 %|20 %|full|full by route|full by paper|advertisements|seeds"
    return table_of(heads, rows)


def cost_table(plan: AdmissionPlan, found: Results) -> Table:
    """What the page took, and what is missing."""
    trials = plan.trials()
    done = results_of(trials, found)
    sizes = sorted({result.subscribers for result in done})
    rows = [
        ("runs finished", f"{len(done):,} of {len(trials):,}"),
        ("seeds", f"{len({result.seed for result in done})} of {len(plan.seeds)}"),
        ("numbers of subscribers", f"{', '.join(map(str, sizes)) or 'none'}: {len(sizes)} of {len(plan.subscribers)}"),
        ("seconds of each", f"{plan.seconds:g}"),
        ("CPU seconds of all", f"{sum(result.cpu_seconds for result in done):,.0f}"),
        ("CPU seconds of the longest", f"{max((result.cpu_seconds for result in done), default=0.0):.2f}"),
    ]
    return table_of("|", rows)


def _at(results: Sequence[AdmissionResult], criterion: str, subscribers: int | None = None) -> list[AdmissionResult]:
    return [r for r in results if r.criterion == criterion and subscribers in {None, r.subscribers}]


def _steep(results: Sequence[AdmissionResult], most: int) -> str:
    """How discards under 40 % go on from where they rise steeply in the paper."""
    some = [_at(results, "percent:40", subscribers) for subscribers in (STEEP_FROM, most)]
    return " and ".join(_figure(fmean(r.discarded_per_s for r in one) if one else None) for one in some)


def _first_above(results: Sequence[AdmissionResult]) -> str:
    sizes = sorted({result.subscribers for result in results})
    rates = {size: [r.reject_rate for r in _at(results, "full", size)] for size in sizes}
    above = [size for size, some in rates.items() if some and fmean(some) > REJECTED]
    return f"from {above[0]} subscribers on" if above else "never"


def _is_cpu_above(result: AdmissionResult) -> bool:
    return result.cpu_utilisation > result.link_utilisation


def _means(some: Sequence[AdmissionResult]) -> tuple[str, ...]:
    return (
        f"{fmean(r.reject_rate for r in some):.1%}",
        f"{fmean(r.discarded_per_s for r in some):.2f}",
        f"{fmean(r.cpu_utilisation for r in some):.1%}",
        f"{fmean(r.link_utilisation for r in some):.1%}",
    )


def _spread(figures: Sequence[float], digits: int) -> str:
    if not figures:
        return "–"
    deviation = stdev(figures) if len(figures) > 1 else 0.0
    return f"{fmean(figures):.{digits}f} ± {deviation:.{digits}f}"


def _figure(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.2f}"
