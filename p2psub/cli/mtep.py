"""`p2psub sim mtep`: what each policy earns on a mesh of slow links, as in MTEP 3."""

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

from p2psub.cli.choices import each_of, one_of, read_policies
from p2psub.cli.exits import explained
from p2psub.cli.ranges import read_figures, read_seeds
from p2psub.cli.sweeps import Jobs, Keep, Master, OnSpark, check_spark, swept
from p2psub.queueing.policy import POLICIES

if TYPE_CHECKING:
    from sims.experiments.mtep.summary import MeshRatio, PathGain
    from sims.experiments.mtep.trial import MeshResult, MeshTrial

RATE_MAX = 60.0
MINUTES_MAX = 24 * 60.0

Minutes = Annotated[float, typer.Option(help="For how long events are published.", min=0.1, max=MINUTES_MAX)]


def sim_mtep(
    rates: Annotated[str, typer.Option(help="Events per minute and publisher, comma-separated.")] = "1",
    minutes: Minutes = 120.0,
    policies: Annotated[str, typer.Option(help="Comma-separated.")] = ",".join(POLICIES),
    weights: Annotated[str, typer.Option(help="Of MTEP's expected earning (formula 13), comma-separated.")] = "0.4",
    seeds: Annotated[str, typer.Option(help="A..B (both included), or a list like 1,5,9.")] = "0..9",
    drops: Annotated[str, typer.Option(help="Who drops what has no chance: 'all', 'mtep' or 'never'.")] = "all",
    paths: Annotated[
        str, typer.Option(help="'paper', 'load', 'climb', 'paper-told', 'load-untold'; comma-separated.")
    ] = "paper",
    arrivals: Annotated[str, typer.Option(help="Events at 'random' or at 'even' intervals.")] = "random",
    transfers: Annotated[str, typer.Option(help="Transmissions take what is 'drawn', or the 'mean'.")] = "drawn",
    occupies: Annotated[str, typer.Option(help="A transmission takes its 'link', or its whole 'broker'.")] = "link",
    keep: Keep = None,
    jobs: Jobs = 0,
    spark: OnSpark = False,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Events with deadlines, prices and penalties on the mesh of the paper MTEP; what each queueing policy earns."""
    from sims.experiments.mtep import summary  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.mtep.trial import (  # noqa: PLC0415
        MTEP,
        Arrivals,
        Drops,
        MeshReading,
        MeshTrial,
        Occupies,
        PathChoice,
        Transfers,
    )

    with explained(as_json):
        chosen = read_policies(policies)
        weighed = read_figures("weights", weights, 0.0, 1.0)
        readings = [
            MeshReading(
                one_of(Drops, "drops", drops),
                choice,
                one_of(Arrivals, "arrivals", arrivals),
                one_of(Transfers, "transfers", transfers),
                one_of(Occupies, "occupies", occupies),
            )
            for choice in each_of(PathChoice, "paths", paths)
        ]
        trials = [
            MeshTrial(policy, rate, seed, minutes, weight, reading)
            for reading in readings
            for rate in read_figures("rates", rates, 0.01, RATE_MAX)
            for policy in chosen
            for weight in (weighed if policy == MTEP else [None])
            for seed in read_seeds(seeds)
        ]
        check_spark(spark, master)
        results = performed(trials, keep, jobs, spark, master)
    times, more = list(summary.ratios(results)), list(summary.gains(results))
    if as_json:
        told: dict[str, object] = {
            "results": [dataclasses.asdict(result) for result in results],
            "ratios": [dataclasses.asdict(ratio) for ratio in times],
            "gains": [dataclasses.asdict(gain) for gain in more],
            "weight_correlation": summary.weight_correlation(results),
            "reading": dataclasses.asdict(readings[0]) | {"paths": [reading.paths for reading in readings]},
        }
        print(json.dumps(told))
    else:
        _print_tables(results, times, more)


def performed(
    trials: Sequence[MeshTrial], keep: Path | None, jobs: int, spark: bool = False, master: str | None = None
) -> list[MeshResult]:
    """The results of trials, in their order."""
    from sims.experiments.mtep.summary import work_of  # noqa: PLC0415
    from sims.experiments.mtep.trial import MESH_RUNS  # noqa: PLC0415

    found = swept(MESH_RUNS, work_of(trials), keep, jobs, spark, master)
    return [found[trial] for trial in trials]


def _print_tables(results: Sequence[MeshResult], times: Sequence[MeshRatio], gains: Sequence[PathGain]) -> None:
    table = Table(title="MTEP 3, means over the seeds")
    for heading in ("policy", "paths", "rate", "earning", "success", "matched", "on time", "late", "dropped"):
        table.add_column(heading, justify="left" if heading in {"policy", "paths"} else "right")
    kinds = dict.fromkeys((r.policy, r.weight, r.paths, r.rate) for r in results)
    for policy, weight, paths, rate in kinds:
        some = [r for r in results if (r.policy, r.weight, r.paths, r.rate) == (policy, weight, paths, rate)]
        table.add_row(
            policy if weight is None else f"{policy} {weight:g}",
            paths,
            f"{rate:g}",
            f"{fmean(r.earning for r in some):,.0f}",
            f"{fmean(r.success_rate for r in some):.2%}",
            *(
                f"{fmean(counts):,.0f}"
                for counts in zip(*((r.matched, r.on_time, r.late, r.dropped) for r in some), strict=True)
            ),
        )
    console = Console()
    console.print(table)
    for ratio in times:
        of = f"mtep {_shown(ratio.weight)} / {ratio.policy} at rate {ratio.rate:g} on {ratio.paths} paths"
        figures = f"earning {_shown(ratio.earning_mean)}, success {_shown(ratio.success_mean)}"
        console.print(f"{of}: {figures} (mean of {ratio.seeds} seeds)")
    for gain in gains:
        figures = f"earning {_shown(gain.earning_mean)}, at least {_shown(gain.earning_min)}"
        console.print(f"{gain.paths} / paper paths at rate {gain.rate:g}: {figures} ({gain.seeds} seeds)")


def _shown(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3g}"
