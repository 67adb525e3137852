"""`p2psub sim broadcast`: how far a broadcast comes and how often it is heard again, as in Hyper 4."""

from __future__ import annotations

import dataclasses
import json
import os
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from p2psub.cli.choices import each_of, one_of
from p2psub.cli.exits import explained
from p2psub.cli.plots import check_plot
from p2psub.cli.ranges import read_seeds, read_sizes
from p2psub.cli.sweeps import Master, OnSpark, check_spark, over_spark, progress_of

if TYPE_CHECKING:
    from sims.experiments.broadcast import BroadcastReading, Result, Trial


def sim_broadcast(
    nodes: Annotated[str, typer.Option(help="Super-nodes: A..B doubles; or a list like 100,1000.")] = "4..1024",
    algorithms: Annotated[str, typer.Option(help="Comma-separated.")] = "flooding,gossip,hypercube",
    seeds: Annotated[str, typer.Option(help="A..B (both included), or a list like 1,5,9.")] = "0..2",
    failed: Annotated[float, typer.Option(help="Share of the nodes that are dead.", min=0, max=1)] = 0.0,
    simulated_max: Annotated[
        int | None, typer.Option(help="Up to this size nodes are simulated one by one (default: 64).", min=0)
    ] = None,
    overlay: Annotated[str, typer.Option(help="Links of flooding: 'joined' or 'cube'.")] = "joined",
    degree: Annotated[float | None, typer.Option(help="Links per node, if joined (default: 5.5).", min=2)] = None,
    fanout: Annotated[float | None, typer.Option(help="To how many gossip passes on (default: 2.5).", min=1)] = None,
    rounds: Annotated[int | None, typer.Option(help="Gossip ends after so many hops (default: never).", min=1)] = None,
    choice: Annotated[str, typer.Option(help="Gossip chooses among 'all' or its 'links'.")] = "all",
    jobs: Annotated[int, typer.Option(help="Processes; 0: one per core.", min=0)] = 0,
    spark: OnSpark = False,
    master: Master = None,
    plot: Annotated[Path | None, typer.Option(help="Draw coverage and duplicates: SVG, PNG or PDF.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Broadcast by flooding, gossip and our hypercube; coverage, duplicates, messages and hops of each."""
    from sims.experiments.broadcast import SIMULATED_MAX, Algorithm, Trial, perform  # noqa: PLC0415, see `sim overlay`
    from sims.scenarios.campaign import in_processes  # noqa: PLC0415

    with explained(as_json):
        reading = _reading(overlay, degree, fanout, rounds, choice)
        largest = SIMULATED_MAX if simulated_max is None else simulated_max
        trials = [
            Trial(algorithm, size, seed, failed, reading, largest)
            for algorithm in each_of(Algorithm, "algorithms", algorithms)
            for size in read_sizes(nodes)
            for seed in read_seeds(seeds)
        ]
        check_spark(spark, master)
        if plot is not None:
            check_plot(plot)
        # The largest first, so that no core is left alone with them at the end.
        work = sorted(trials, key=lambda trial: -trial.nodes)
        results: list[Result]
        if spark:
            results = over_spark(perform, work, master, "broadcasts")
        else:
            results = []
            with progress_of(len(work)) as progress:
                task = progress.add_task("broadcasts", total=len(work))
                for result in in_processes(perform, work, jobs or os.cpu_count() or 1):
                    results.append(result)
                    progress.advance(task)
    results = _in_order(results, trials)
    if plot is not None:
        from sims.experiments.broadcast_plot import draw  # noqa: PLC0415

        draw(plot, results)
    if as_json:
        told = {"results": [dataclasses.asdict(r) for r in results], "reading": dataclasses.asdict(reading)}
        print(json.dumps(told))
    else:
        _print_table(results)


def _reading(
    overlay: str, degree: float | None, fanout: float | None, rounds: int | None, choice: str
) -> BroadcastReading:
    from sims.experiments.broadcast import BroadcastReading, Choice, Overlay  # noqa: PLC0415

    base = BroadcastReading()
    return BroadcastReading(
        overlay=one_of(Overlay, "overlay", overlay),
        degree=base.degree if degree is None else degree,
        fanout=base.fanout if fanout is None else fanout,
        rounds=rounds,
        choice=one_of(Choice, "choice", choice),
    )


def _in_order(results: list[Result], trials: list[Trial]) -> list[Result]:
    """As they were asked for, whatever came first."""
    found = {(result.algorithm, result.nodes, result.seed): result for result in results}
    return [found[trial.algorithm, trial.nodes, trial.seed] for trial in trials]


def _print_table(results: list[Result]) -> None:
    table = Table(title="broadcast, means over the seeds")
    for heading in ("algorithm", "nodes", "coverage", "duplicates per node", "messages", "hops", "engine"):
        table.add_column(heading, justify="left" if heading in ("algorithm", "engine") else "right")
    for (algorithm, nodes, engine), some in groupby(results, key=lambda r: (r.algorithm, r.nodes, r.engine)):
        ours = list(some)
        table.add_row(
            algorithm,
            f"{nodes:,}",
            f"{fmean(r.coverage for r in ours):.4f}",
            f"{fmean(r.duplicate_rate for r in ours):.3f}",
            f"{fmean(r.messages for r in ours):,.0f}",
            f"{fmean(r.hops for r in ours):.1f}",
            engine,
        )
    Console().print(table)
