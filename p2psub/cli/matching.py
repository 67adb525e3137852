"""`p2psub sim matching` and `p2psub bench matching`: the match index beside SIENA's poset and a linear scan."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from p2psub.cli.plots import check_plot
from p2psub.errors import ConfigError

if TYPE_CHECKING:
    from sims.experiments.matching import MatchingPlan

EXIT_CONFIG = 1
EXIT_DIFFERENT = 3

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(help="The same seed draws the same subscriptions and events.")]


class WorkloadName(enum.StrEnum):
    """Workloads of the benchmark."""

    ONCE = "once"
    UNIFORM = "uniform"


def sim_matching(
    subscriptions: Annotated[int, typer.Option(help="How many are held.", min=1)] = 10_000,
    events: Annotated[int, typer.Option(help="Events; with --interleaved, operations in all.", min=1)] = 10_000,
    interleaved: Annotated[bool, typer.Option(help="Rounds of subscribing, unsubscribing and events.")] = False,
    workload: Annotated[Path | None, typer.Option(help="Subscriptions and events from a file, JSON lines.")] = None,
    categories: Annotated[int | None, typer.Option(help="Other reading: so many categories.", min=1)] = None,
    connected: Annotated[bool, typer.Option(help="Other reading: trees are taken from their roots on.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also run tenths of the size, and draw time and memory: SVG, PNG or PDF.")
    ] = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """The experiments of the paper Once: matching time and memory against SIENA's poset and a linear scan."""
    from sims.experiments import matching as experiment  # noqa: PLC0415, the node's CLI must not load simulations

    try:
        reading = experiment.MatchingReading(categories, connected)
        plan = _plan(workload, subscriptions, events, interleaved, seed, reading)
        if plot is not None:
            check_plot(plot)
    except ConfigError as error:
        print(f"p2psub: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_CONFIG) from error
    engines = {
        name: experiment.run_engine(name, plan, rounds=1 if name == "linear" else 3) for name in experiment.ENGINES
    }
    forest = experiment.run_forest(plan)
    report: dict[str, object] = {
        "subscriptions": len(plan.subscriptions),
        "events": plan.events,
        "operations": plan.operations,
        "interleaved": interleaved,
        "engines": engines,
        "of_siena": experiment.share_of_siena(engines),
        "of_siena_with_forest": experiment.share_of_siena(engines, forest),
        "paper_of_siena": experiment.PAPER[interleaved],
        "forest": forest,
    }
    if plot is not None:
        from sims.experiments.matching_plot import draw  # noqa: PLC0415

        report["plot"] = draw(plot, subscriptions, events, interleaved, seed, reading)
    if as_json:
        print(json.dumps(report))
    else:
        _print_engines(report, engines)
    if len({(figures["digest"], figures["matches"]) for figures in engines.values()}) > 1:
        print("p2psub: the engines found different matches", file=sys.stderr)
        raise typer.Exit(EXIT_DIFFERENT)


def bench_matching(
    workload: Annotated[WorkloadName, typer.Option(help="The paper's, or intervals on 4 of 20 attributes.")],
    subscriptions: Annotated[int, typer.Option(help="How many are held.", min=1)] = 10_000,
    share: Annotated[float, typer.Option(help="Of `uniform`: what share of events each wants.", min=0, max=1)] = 0.001,
    growth: Annotated[bool, typer.Option(help="The cost of an event from 10,000 subscriptions on, instead.")] = False,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """The match index alone: events per CPU second, inserting, removing, memory; baselines in the same run."""
    from sims.benchmarks import matching as benchmark  # noqa: PLC0415, `--help` must be quick

    kind = benchmark.Workload(workload.value)
    if growth:
        lines = benchmark.growth(kind, subscriptions, seed)
        report: dict[str, object] = {"workload": workload.value, "growth": lines}
    else:
        report = benchmark.measure(kind, subscriptions, share, seed)
    if as_json:
        print(json.dumps(report))
    elif growth:
        _print_growth(lines)
    else:
        _print_figures(f"matching: {workload.value}", report)


def _plan(
    file: Path | None, subscriptions: int, events: int, interleaved: bool, seed: int, reading: object
) -> MatchingPlan:
    from sims.experiments import matching as experiment  # noqa: PLC0415
    from sims.workloads.recorded import read_workload  # noqa: PLC0415

    assert isinstance(reading, experiment.MatchingReading)
    if file is not None:
        if interleaved:
            raise ConfigError("workload", "a file says itself what happens; leave --interleaved out")
        return experiment.recorded_plan(read_workload(file))
    make = experiment.interleaved_plan if interleaved else experiment.pure_plan
    return make(seed, subscriptions, events, reading)


def _print_engines(report: Mapping[str, object], engines: Mapping[str, Mapping[str, object]]) -> None:
    table = Table(title=f"{report['subscriptions']:,} subscriptions, {report['operations']:,} operations")
    for heading in ("engine", "CPU seconds", "events/s", "bytes", "matches", "digest"):
        table.add_column(heading, justify="left" if heading in ("engine", "digest") else "right")
    for name, figures in engines.items():
        table.add_row(
            name,
            f"{figures['seconds']:.3f}",
            f"{figures['events_per_s']:,.0f}",
            f"{figures['bytes']:,}",
            f"{figures['matches']:,}",
            str(figures["digest"]),
        )
    console = Console()
    console.print(table)
    console.print(f"p2psub takes, of SIENA's: {report['of_siena']}; in the paper: {report['paper_of_siena']}")
    console.print(f"with the covering forest beside it: {report['of_siena_with_forest']}")
    console.print(f"the covering forest beside it: {report['forest']}")


def _print_growth(lines: list[dict[str, float]]) -> None:
    table = Table(title="cost of an event")
    for heading in ("subscriptions", "matches", "µs per event", "times the cost", "resident MiB"):
        table.add_column(heading, justify="right")
    for line in lines:
        table.add_row(
            f"{line['subscriptions']:,}",
            f"{line['matches_per_event']:.1f}",
            f"{line['event_us']:.1f}",
            f"{line['times_the_cost']:.2f}" if "times_the_cost" in line else "",
            f"{line['resident_bytes'] / 2**20:,.0f}",
        )
    Console().print(table)


def _print_figures(title: str, report: Mapping[str, object]) -> None:
    table = Table(show_header=False, title=title)
    for name, value in report.items():
        table.add_row(name, f"{value:,.3f}" if isinstance(value, float) else str(value))
    Console().print(table)
