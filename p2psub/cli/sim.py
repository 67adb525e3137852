"""`p2psub sim`: run the overlay in the simulator, and judge it."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from p2psub.cli.admission import sim_admission
from p2psub.cli.admission_page import sim_admission_page
from p2psub.cli.broadcast import sim_broadcast
from p2psub.cli.exits import explained
from p2psub.cli.matching import sim_matching
from p2psub.cli.mtep import sim_mtep
from p2psub.cli.mtep_page import sim_mtep_page
from p2psub.cli.ranges import read_seeds
from p2psub.cli.sweeps import Master, OnSpark, check_spark, over_spark, progress_of
from p2psub.errors import ConfigError

if TYPE_CHECKING:
    from sims.checkers.evidence import Finding
    from sims.scenarios.run import SeedReport
    from sims.scenarios.scenario import Scenario

EXIT_VIOLATION = 3
EXIT_TOO_SHORT = 5
"""No promise was broken, but the run showed too little to say that they hold."""

app = typer.Typer(no_args_is_help=True, help="Deterministic simulations.")
app.command("matching")(sim_matching)
app.command("broadcast")(sim_broadcast)
app.command("mtep")(sim_mtep)
app.command("mtep-page")(sim_mtep_page)
app.command("admission")(sim_admission)
app.command("admission-page")(sim_admission_page)


@app.callback()
def simulations() -> None:
    """Deterministic simulations."""


@app.command()
def overlay(
    clusters: Annotated[int | None, typer.Option(help="How many rings (default: 8).")] = None,
    members: Annotated[int | None, typer.Option(help="Peers per ring (default: 8).")] = None,
    seconds: Annotated[float | None, typer.Option(help="Virtual seconds per seed (default: 200).")] = None,
    mixed_shapes: Annotated[
        bool, typer.Option(help="Each seed draws clusters and members: 3 x 3, 1 x 16, 5 x 12, 12 x 4 or 8 x 8.")
    ] = False,
    seeds: Annotated[str, typer.Option(help="A..B (both included), or a list like 1,5,9.")] = "0..3",
    faults: Annotated[str | None, typer.Option(help="Comma-separated faults, or 'none'.")] = None,
    schedules: Annotated[str | None, typer.Option(help="Adversarial schedules by name, 'mixed', or 'none'.")] = None,
    scenario: Annotated[Path | None, typer.Option(help="A scenario file (TOML); options override it.")] = None,
    paths: Annotated[
        Literal["neighbour", "load"] | None, typer.Option(help="Where multicasts enter a half (default: load).")
    ] = None,
    codec_share: Annotated[
        int, typer.Option(min=0, help="One transmission in so many goes through the codec; 0: none.")
    ] = 50,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: one per core.")] = 0,
    trace_out: Annotated[Path | None, typer.Option(help="Write the trace into this directory (one seed only).")] = None,
    spark: OnSpark = False,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate whole overlays under faults, one per seed, and check every promise.

    Exit codes: 0 every promise held, 1 bad options, 3 a promise was broken, 5 a run was too short to judge.
    """
    # Here, because the node's CLI must not load simulations.
    from sims.scenarios.campaign import Job, figures, perform, reports  # noqa: PLC0415
    from sims.scenarios.scenario import shaped  # noqa: PLC0415
    from sims.scenarios.segments import write_segments  # noqa: PLC0415

    with explained(as_json):
        numbers = read_seeds(seeds)
        plan = _plan(scenario, clusters, members, seconds, faults, schedules, paths)
        if mixed_shapes and (clusters, members) != (None, None):
            raise ConfigError("mixed_shapes", "draws clusters and members; leave out --clusters and --members")
        if trace_out is not None and len(numbers) != 1:
            raise ConfigError("trace_out", "a trace is of one seed; give one with --seeds")
        if trace_out is not None and trace_out.exists() and (not trace_out.is_dir() or any(trace_out.iterdir())):
            raise ConfigError("trace_out", f"{trace_out} is there already; name a new directory for the trace")
        check_spark(spark, master)
    plans = [shaped(plan, number) if mixed_shapes else plan for number in numbers]
    keeps_entries = trace_out is not None
    work = [Job(one, number, codec_share, keeps_entries) for one, number in zip(plans, numbers, strict=True)]
    done: list[SeedReport] = []
    if spark:
        with explained(as_json):
            done = over_spark(perform, work, master, "seeds")
    else:
        with progress_of(len(work)) as progress:
            task = progress.add_task("seeds", total=len(work))
            for report in reports(work, jobs or os.cpu_count() or 1):
                done.append(report)
                failed = sum(any(not finding.is_vacuous for finding in one.findings) for one in done)
                progress.update(task, advance=1, description=f"seeds ({failed} failed)" if failed else "seeds")
    if trace_out is not None:
        write_segments(trace_out, done[0].entries, done[0].running)
    summary = figures(done)
    if as_json:
        print(json.dumps(summary))
    else:
        _print_table(summary)
    suspects = sorted((report for report in done if report.findings), key=lambda report: report.seed)
    is_broken = [_explain(report, codec_share, scenario) for report in suspects]
    if suspects:
        raise typer.Exit(EXIT_VIOLATION if any(is_broken) else EXIT_TOO_SHORT)


def _plan(
    file: Path | None,
    clusters: int | None,
    members: int | None,
    seconds: float | None,
    faults: str | None,
    schedules: str | None,
    paths: Literal["neighbour", "load"] | None,
) -> Scenario:
    from sims.scenarios.scenario import Scenario, read_scenario  # noqa: PLC0415
    from sims.scenarios.schedules import SCHEDULES  # noqa: PLC0415

    base = Scenario() if file is None else read_scenario(file)
    cube = base.node.cube
    plan = dataclasses.replace(
        base,
        clusters=base.clusters if clusters is None else clusters,
        members=base.members if members is None else members,
        seconds=base.seconds if seconds is None else seconds,
        faults=base.faults if faults is None else _names(faults),
        schedules=base.schedules if schedules is None else _names(schedules),
        node=dataclasses.replace(base.node, cube=dataclasses.replace(cube, paths=paths or cube.paths)),
    )
    for name in plan.schedules:
        if name != "mixed" and name not in SCHEDULES:
            raise ConfigError("schedules", f"{name!r} is not a valid schedule; choose mixed, {', '.join(SCHEDULES)}")
    return plan


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip() not in ("", "none"))


def _print_table(summary: dict[str, object]) -> None:
    table = Table(show_header=False, title="overlay simulation")
    for name, value in summary.items():
        table.add_row(name, _shown(value))
    Console().print(table)


def _shown(value: object) -> str:
    """A figure for people: of findings how many there are, of counts each with its name."""
    if isinstance(value, dict):
        return ", ".join(f"{kind} {count:,}" for kind, count in value.items()) or "-"
    figure = len(value) if isinstance(value, list) else value
    return f"{figure:,}" if isinstance(figure, int) else str(figure)


def _explain(report: SeedReport, codec_share: int, file: Path | None) -> bool:
    """Say why a seed is not fine: what shows it fail again, or that it is too short. Tells whether it failed."""
    broken = [finding for finding in report.findings if not finding.is_vacuous]
    if broken:
        _tell_failure(report, broken, codec_share, file)
    else:
        why = "; ".join(finding.text for finding in report.findings)
        advice = "give more --seconds, --clusters or --members, or fewer --faults"
        print(f"seed {report.seed} was too short to judge: {why}; {advice}", file=sys.stderr)
    return bool(broken)


def _tell_failure(report: SeedReport, broken: list[Finding], codec_share: int, file: Path | None) -> None:
    """Everything that is needed to see a failing seed fail again."""
    from sims.checkers.evidence import shown  # noqa: PLC0415

    first, plan = broken[0], report.scenario
    command = ["p2psub", "sim", "overlay", "--clusters", str(plan.clusters), "--members", str(plan.members)]
    command += ["--seconds", f"{plan.seconds:g}", "--seeds", str(report.seed)]
    command += ["--faults", ",".join(plan.faults) or "none", "--schedules", ",".join(plan.schedules) or "none"]
    command += ["--paths", plan.node.cube.paths]
    command += ["--codec-share", str(codec_share), *([] if file is None else ["--scenario", str(file)])]
    at = "" if first.at_us is None else f" at {first.at_us / 1e6:.3f} s"
    lines = [
        f"seed {report.seed} failed: {len(broken)} violations, first {first.invariant}{at}: {first.text}",
        f"  record:    {'-' if first.record is None else shown(first.record)}",
        f"  commit:    {_commit()}",
        f"  schedules: {', '.join(report.schedules) or '-'}",
        f"  digest:    {report.digest}",
        f"  replay:    {shlex.join(command)}",
    ]
    print("\n".join(lines), file=sys.stderr)


def _commit() -> str:
    """The commit that ran, as far as git knows."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return said.stdout.strip()
