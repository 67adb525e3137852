"""`p2psub bench`: how fast peers are on this machine."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from p2psub.bench.content import BODY_BYTES
from p2psub.bench.plan import FilteredPlan, LinkPlan, Owner, Plan
from p2psub.cli.advice import advised
from p2psub.cli.bench_tables import filtered_table, link_table
from p2psub.cli.interrupts import run_interruptible
from p2psub.model.content import Guarantee

if TYPE_CHECKING:
    from p2psub.bench.report import FilteredReport, LinkReport
    from p2psub.demo.stages import Teller

EXIT_LOST = 3

R = TypeVar("R", "LinkReport", "FilteredReport")

app = typer.Typer(
    no_args_is_help=True,
    help="Measure peers on this machine: real processes, TLS on loopback.",
    epilog="Exit codes: 0 fine, 1 it did not come to figures, 3 events were lost.",
)

Body = Annotated[int, typer.Option(help="Bytes of an event's body; by default an event has 200 in all.")]
AtOnce = Annotated[int, typer.Option(help="Events in one call of publish_many.")]
OwnerOption = Annotated[Owner, typer.Option(help="Who owns the topics: each peer its share, or one of them all.")]
Traces = Annotated[bool, typer.Option(help="Whether peers write traces, as they do by default.")]
ProfileDir = Annotated[
    Path | None, typer.Option("--profile", help="Directory for notes of which functions take the time. Slows all down.")
]
Patience = Annotated[float, typer.Option(help="Seconds a ring may take to form.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def link(
    events: Annotated[int, typer.Option(help="Events published in a round.")] = 20_000,
    body: Body = BODY_BYTES,
    seconds: Annotated[
        float, typer.Option(help="How long latency is measured in a round, at 200 events a second.")
    ] = 1.0,
    rounds: Annotated[int, typer.Option(help="Rounds, of which the medians are printed.")] = 5,
    at_once: AtOnce = 1000,
    owner: OwnerOption = Owner.EACH,
    traces: Traces = True,
    profile: ProfileDir = None,
    patience: Patience = 60.0,
    as_json: AsJson = False,
) -> None:
    """One publisher to one subscriber, beside a bare trio TLS stream that carries the same events in the same run."""
    with advised():
        from p2psub.bench.link import bench_link  # noqa: PLC0415, `--help` must be quick

        plan = LinkPlan(
            events=events,
            rounds=rounds,
            body_bytes=body,
            at_once=at_once,
            owner=owner,
            traces=traces,
            profile=profile,
            patience_s=patience,
            seconds=seconds,
        )
        report = _measure(plan, lambda directory, teller: bench_link(plan, directory, teller))
    _say(report, as_json, link_table)


@app.command()
def filtered(
    events: Annotated[int, typer.Option(help="Events published in a round.")] = 40_000,
    body: Body = BODY_BYTES,
    subscribers: Annotated[int, typer.Option(help="Peers that subscribe, each to 1 % of the events.")] = 8,
    rounds: Annotated[int, typer.Option(help="Rounds, of which the medians are printed.")] = 3,
    at_once: AtOnce = 1000,
    guarantee: Annotated[Guarantee, typer.Option(help="What `publish` promises.")] = Guarantee.AT_MOST_ONCE,
    any_topic: Annotated[bool, typer.Option(help="Filters name no topic: wildcards.")] = False,
    owner: OwnerOption = Owner.EACH,
    traces: Traces = True,
    profile: ProfileDir = None,
    patience: Patience = 60.0,
    as_json: AsJson = False,
) -> None:
    """One publisher to many subscribers whose content filters match 1 % each: what one published event costs."""
    with advised():
        from p2psub.bench.filtered import bench_filtered  # noqa: PLC0415

        plan = FilteredPlan(
            events=events,
            rounds=rounds,
            body_bytes=body,
            at_once=at_once,
            owner=owner,
            traces=traces,
            profile=profile,
            patience_s=patience,
            subscribers=subscribers,
            guarantee=guarantee,
            any_topic=any_topic,
        )
        report = _measure(plan, lambda directory, teller: bench_filtered(plan, directory, teller))
    _say(report, as_json, filtered_table)


def _measure(plan: Plan, bench: Callable[[Path, Teller], Awaitable[R]]) -> R:
    """Run in a directory that is gone afterwards, and tell how far it has come."""
    from p2psub.demo.telling import telling  # noqa: PLC0415

    if plan.profile is not None:
        plan.profile.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="p2psub-bench-") as directory,
        telling(Console(stderr=True), time.monotonic) as teller,
    ):
        return run_interruptible(lambda: bench(Path(directory), teller))


def _say(report: R, as_json: bool, table: Callable[[R], Table]) -> None:
    if as_json:
        print(json.dumps(msgspec.to_builtins(report)))
    else:
        Console().print(table(report))
    if report.lost:
        raise typer.Exit(EXIT_LOST)
