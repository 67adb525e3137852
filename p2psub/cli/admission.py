"""`p2psub sim admission`: what criteria of admission refuse and what they save, as in RacsCBPS 5."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from p2psub.admission.criteria import read_criterion
from p2psub.cli.choices import each_of, one_of
from p2psub.cli.exits import explained
from p2psub.cli.ranges import read_figures, read_numbers, read_seeds
from p2psub.cli.sweeps import Jobs, Keep, Master, OnSpark, check_spark, swept
from p2psub.errors import ConfigError

if TYPE_CHECKING:
    from sims.experiments.admission.summary import AdmittedRatio, CriteriaOrder
    from sims.experiments.admission.trial import AdmissionReading, AdmissionResult, AdmissionTrial

SIZES = "1,10,20,30,40,50,60,70,80,90,100"
SUBSCRIBERS_MAX = 10_000
SECONDS_MAX = 3_600.0
SELECTIVITY_MIN = 0.001

Seconds = Annotated[float, typer.Option(help="Of virtual time, for each run.", min=1.0, max=SECONDS_MAX)]
Sizes = Annotated[str, typer.Option("--subscribers", help="How many, comma-separated.")]


def sim_admission(
    subscribers: Sizes = SIZES,
    seconds: Seconds = 60.0,
    criteria: Annotated[str, typer.Option(help="'none', 'full', 'percent:P'; comma-separated.")] = (
        "none,full,percent:20,percent:40"
    ),
    demand: Annotated[
        str, typer.Option(help="What subscriptions reserve: 'paper', 'route', 'shared'; comma-separated.")
    ] = "paper,route,shared",
    seeds: Annotated[str, typer.Option(help="A..B (both included), or a list like 1,5,9.")] = "0..9",
    topology: Annotated[str, typer.Option(help="Ways 'rooted' at each broker, or one 'spanning' tree.")] = "rooted",
    selectivity: Annotated[float, typer.Option(help="The share of all events that a subscription takes.")] = 0.05,
    says: Annotated[str, typer.Option(help="Advertisements say an event's 'name', or all of the 'event'.")] = "name",
    advertisements: Annotated[str, typer.Option(help="They are 'changing' with each turn, or 'fixed'.")] = "changing",
    votes_on_advertisements: Annotated[
        bool, typer.Option("--votes-on-advertisements", help="Brokers may refuse advertisements, too.")
    ] = False,
    share_of: Annotated[str, typer.Option(help="A percentage is of the brokers 'asked', or of 'all'.")] = "asked",
    keep: Keep = None,
    jobs: Jobs = 0,
    spark: OnSpark = False,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Subscriptions that brokers may refuse: how many are, and what is discarded where too many were admitted."""
    from sims.experiments.admission import summary  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.admission.gate import DemandChoice  # noqa: PLC0415
    from sims.experiments.admission.plan import trials_of  # noqa: PLC0415

    with explained(as_json):
        reading = _reading(topology, selectivity, says, advertisements, votes_on_advertisements, share_of)
        chosen = list(dict.fromkeys(read_criterion(part).text for part in criteria.split(",")))
        demands = each_of(DemandChoice, "demand", demand)
        trials = trials_of(chosen, demands, read_subscribers(subscribers), read_seeds(seeds), seconds, reading)
        check_spark(spark, master)
        results = performed(trials, keep, jobs, spark, master)
    ordered, ratios = list(summary.orders(results)), list(summary.admitted_ratios(results))
    if as_json:
        told: dict[str, object] = {
            "results": [dataclasses.asdict(result) for result in results],
            "orders": [dataclasses.asdict(order) for order in ordered],
            "admitted_ratios": [dataclasses.asdict(ratio) for ratio in ratios],
            "readings": dataclasses.asdict(reading),
        }
        print(json.dumps(told))
    else:
        _print_tables(results, ordered, ratios)


def performed(
    trials: Sequence[AdmissionTrial], keep: Path | None, jobs: int, spark: bool = False, master: str | None = None
) -> list[AdmissionResult]:
    """The results of trials, in their order."""
    from sims.experiments.admission.summary import work_of  # noqa: PLC0415
    from sims.experiments.admission.trial import ADMISSION_RUNS  # noqa: PLC0415

    found = swept(ADMISSION_RUNS, work_of(trials), keep, jobs, spark, master)
    return [found[trial] for trial in trials]


def read_subscribers(text: str) -> tuple[int, ...]:
    """Numbers of subscribers as written, each once: '1,10,20'."""
    numbers = tuple(dict.fromkeys(read_numbers("subscribers", text)))
    if not all(1 <= number <= SUBSCRIBERS_MAX for number in numbers):
        raise ConfigError("subscribers", f"there are from 1 to {SUBSCRIBERS_MAX:,} of them")
    return numbers


def _reading(
    topology: str, selectivity: float, says: str, advertisements: str, is_voting: bool, share_of: str
) -> AdmissionReading:
    from sims.experiments.admission.brokers import Topology  # noqa: PLC0415
    from sims.experiments.admission.gate import ShareOf  # noqa: PLC0415
    from sims.experiments.admission.trial import AdmissionReading  # noqa: PLC0415
    from sims.experiments.admission.workload import NAMES, AdvertisementLife, Says  # noqa: PLC0415

    (share,) = read_figures("selectivity", str(selectivity), SELECTIVITY_MIN, 1 / NAMES)
    return AdmissionReading(
        topology=one_of(Topology, "topology", topology),
        selectivity=share,
        says=one_of(Says, "says", says),
        advertisements=one_of(AdvertisementLife, "advertisements", advertisements),
        is_voting_on_advertisements=is_voting,
        share_of=one_of(ShareOf, "share_of", share_of),
    )


def _print_tables(
    results: Sequence[AdmissionResult], ordered: Sequence[CriteriaOrder], ratios: Sequence[AdmittedRatio]
) -> None:
    table = Table(title="RacsCBPS 5, means over the seeds")
    for heading in ("criterion", "demand", "subscribers", "asked", "rejected", "discarded/s", "CPU", "links"):
        table.add_column(heading, justify="left" if heading in {"criterion", "demand"} else "right")
    for criterion, demand, subscribers in dict.fromkeys((r.criterion, r.demand, r.subscribers) for r in results):
        some = [r for r in results if (r.criterion, r.demand, r.subscribers) == (criterion, demand, subscribers)]
        table.add_row(
            criterion,
            demand or "-",
            str(subscribers),
            f"{fmean(r.asked for r in some):,.0f}",
            f"{fmean(r.reject_rate for r in some):.1%}",
            f"{fmean(r.discarded_per_s for r in some):.2f}",
            f"{fmean(r.cpu_utilisation for r in some):.1%}",
            f"{fmean(r.link_utilisation for r in some):.1%}",
        )
    Console().print(table)
    for order in ordered:
        criteria = " < ".join(order.criteria)
        shares = f"discards {order.discarded_rises:.0%}, CPU {order.cpu_rises:.0%} of {order.runs} runs"
        print(f"{order.demand}, from {order.subscribers_min} subscribers, {criteria}: {shares}")
    for ratio in ratios:
        times = "-" if ratio.ratio is None else f"{ratio.ratio:.2f}"
        print(f"{ratio.criterion}: shared admits {times} times what {ratio.demand} does ({ratio.runs} runs)")
