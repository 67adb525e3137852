"""`p2psub bench`: how fast peers are on this machine."""

from __future__ import annotations

import inspect
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from p2psub.bench.plan import BenchPlan, EarningPlan, FilteredPlan, LinkPlan, Ownership, PromisedPlan, StalledPlan
from p2psub.cli.bench_analyze import bench_analyze
from p2psub.cli.bench_queue import bench_queue
from p2psub.cli.bench_store import bench_store
from p2psub.cli.bench_tables import earning_table, filtered_table, link_table, promised_table, stalled_table
from p2psub.cli.choices import read_policies
from p2psub.cli.exits import explained
from p2psub.cli.interrupts import run_interruptible
from p2psub.cli.matching import bench_matching
from p2psub.cli.ranges import read_seeds
from p2psub.model.content import Guarantee

if TYPE_CHECKING:
    from p2psub.bench.earning_report import EarningReport
    from p2psub.bench.promised_report import PromisedReport
    from p2psub.bench.report import FilteredReport, LinkReport
    from p2psub.bench.stalled import StalledReport
    from p2psub.demo.stages import ProgressReporter

EXIT_LOST = 3

P = TypeVar("P", bound=BenchPlan)
R = TypeVar("R", "LinkReport", "FilteredReport", "PromisedReport", "StalledReport", "EarningReport")
EARNING = EarningPlan()
"""Its defaults."""

app = typer.Typer(
    no_args_is_help=True,
    help="Measure peers on this machine: real processes, TLS on loopback.",
    epilog="Exit codes: 0 fine, 1 it did not come to figures, 3 events were lost, doubled or late, or choices differ.",
)

app.command("matching")(bench_matching)
app.command("analyze")(bench_analyze)
app.command("store")(bench_store)
app.command("queue")(bench_queue)

OPTIONS: dict[str, Any] = {
    "events": Annotated[int, typer.Option(help="Events published in a round.")],
    "body_bytes": Annotated[
        int, typer.Option("--body", help="Bytes of an event's body; by default an event has 200 in all.")
    ],
    "seconds": Annotated[float, typer.Option(help="How long latency is measured in a round, at 200 events a second.")],
    "duration_s": Annotated[float, typer.Option("--seconds", help="How long to publish and measure.")],
    "owed": Annotated[int, typer.Option(help="Events that wait for the subscriber that takes nothing.")],
    "idle_s": Annotated[float, typer.Option("--seconds", help="How long it takes nothing while nothing is published.")],
    "timed_s": Annotated[float, typer.Option("--timed", help="Seconds for which latency is measured, twice.")],
    "window": Annotated[int, typer.Option(help="Events that the channel of a subscription takes.")],
    "topics": Annotated[int, typer.Option(help="Topics, which the events take in turn.")],
    "wildcards": Annotated[
        int,
        typer.Option(help="Further subscriptions, to any topic, that match nothing: owners must ask for them."),
    ],
    "publishers": Annotated[int, typer.Option(help="How many of the four peers publish, each on topics of its own.")],
    "rate_per_s": Annotated[
        float,
        typer.Option(
            "--rate", help="Events per second, each in a call of its own: for latency. 0: as fast as it goes."
        ),
    ],
    "subscribers": Annotated[int, typer.Option(help="Peers that subscribe, each to 1 % of the events.")],
    "rounds": Annotated[int, typer.Option(help="Rounds, of which the medians are printed.")],
    "at_once": Annotated[int, typer.Option(help="Events in one call of publish_many.")],
    "guarantee": Annotated[Guarantee, typer.Option(help="What `publish` promises.")],
    "any_topic": Annotated[bool, typer.Option(help="Filters name no topic: wildcards.")],
    "owner": Annotated[Ownership, typer.Option(help="Who owns the topics: each peer its share, or one of them all.")],
    "traces": Annotated[bool, typer.Option(help="Whether peers write traces, as they do by default.")],
    "profile": Annotated[
        Path | None,
        typer.Option("--profile", help="Directory for notes of which functions take the time. Slows all down."),
    ],
    "before": Annotated[
        Path | None, typer.Option(help="File with the JSON of an earlier run; figures are compared with it.")
    ],
    "patience_s": Annotated[float, typer.Option("--patience", help="Seconds a ring may take to form.")],
}
"""What a person may choose of a plan, by its field; the defaults are the plans' own."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _planned(kind: type[P]) -> Callable[[Callable[[P, bool], None]], Callable[..., None]]:
    """A command whose options are the fields of a plan."""

    def dress(command: Callable[[P, bool], None]) -> Callable[..., None]:
        @wraps(command)
        def run(*, as_json: bool, **chosen: Any) -> None:
            with explained(as_json):
                command(kind(**chosen), as_json)

        defaults = {field.name: field.default for field in fields(kind)}
        chosen = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=option)
            for name, option in OPTIONS.items()
            if name in defaults
        ]
        json_ = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
        run.__signature__ = inspect.Signature([*chosen, json_])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*chosen, json_)}
        return run

    return dress


@app.command()
@_planned(LinkPlan)
def link(plan: LinkPlan, as_json: bool) -> None:
    """One publisher to one subscriber, beside a bare trio TLS stream that carries the same events in the same run."""
    from p2psub.bench.link import bench_link  # noqa: PLC0415, `--help` must be quick

    report = _measure(plan, lambda directory, reporter: bench_link(plan, directory, reporter))
    _say(report, as_json, link_table)
    _end(report.lost)


@app.command()
@_planned(FilteredPlan)
def filtered(plan: FilteredPlan, as_json: bool) -> None:
    """One publisher to many subscribers whose content filters match 1 % each: what one published event costs."""
    from p2psub.bench.filtered import bench_filtered  # noqa: PLC0415

    report = _measure(plan, lambda directory, reporter: bench_filtered(plan, directory, reporter))
    _say(report, as_json, filtered_table)
    _end(report.lost)


@app.command()
@_planned(PromisedPlan)
def promised(plan: PromisedPlan, as_json: bool) -> None:
    """What `effectively_once` costs in a ring of four peers: time, messages, bytes, rows; and whether it was kept.

    Publisher, owner and subscriber of an event are three different peers. Without --rate the publishers publish as fast
    as acknowledgements come; with it, say --rate 200, latency is that of a ring that is not busy.

    To see what a change does, keep the JSON of a run, and name it with --before in the next one with the same options.
    """
    from p2psub.bench.promised import bench_promised  # noqa: PLC0415
    from p2psub.bench.promised_report import compared, read_report  # noqa: PLC0415

    earlier = None if plan.before is None else read_report(plan.before)
    report = _measure(plan, lambda directory, reporter: bench_promised(plan, directory, reporter))
    _say(report if earlier is None else compared(report, earlier), as_json, promised_table)
    _end(report.lost + report.duplicates)


@app.command()
@_planned(StalledPlan)
def stalled(plan: StalledPlan, as_json: bool) -> None:
    """What a subscriber that takes nothing costs its owner and the others, and whether it gets everything in the end.

    Publisher, owner and two subscribers to the same topic are four different peers; one subscriber stops for --seconds.
    """
    from p2psub.bench.stalled import bench_stalled  # noqa: PLC0415

    report = _measure(plan, lambda directory, reporter: bench_stalled(plan, directory, reporter))
    _say(report, as_json, stalled_table)
    _end(report.lost + report.duplicates)


@app.command()
def earning(
    link_bytes_per_s: Annotated[float, typer.Option(help="What a line between two clusters carries, each way.")] = (
        EARNING.link_bytes_per_s
    ),
    load: Annotated[float, typer.Option(help="Bytes offered, to what the publisher's lines carry.")] = EARNING.load,
    subscriptions: Annotated[int, typer.Option(help="In all clusters but the publisher's.")] = EARNING.subscriptions,
    policies: Annotated[str, typer.Option(help="Comma-separated.")] = ",".join(EARNING.policies),
    seeds: Annotated[str, typer.Option(help="A..B (both included), or a list like 1,5,9.")] = "0..2",
    seconds: Annotated[float, typer.Option(help="For how long each run publishes.")] = EARNING.duration_s,
    clusters: Annotated[int, typer.Option(help="One peer each; the first one publishes.")] = EARNING.clusters,
    body: Annotated[int, typer.Option(help="Bytes of an event's body.")] = EARNING.body_bytes,
    patience: Annotated[float, typer.Option(help="Seconds that clusters may take to form.")] = EARNING.patience_s,
    as_json: AsJson = False,
) -> None:
    """What each policy of the links' queues earns where lines between clusters are slow, by deadlines and prices.

    Each cluster is one peer, which others reach over a line that carries so many bytes a second. One peer publishes
    more than a line carries; every policy gets the same events and subscriptions, drawn by the seed.
    """
    with explained(as_json):
        plan = EarningPlan(
            link_bytes_per_s=link_bytes_per_s,
            load=load,
            subscriptions=subscriptions,
            policies=tuple(read_policies(policies)),
            seeds=tuple(read_seeds(seeds)),
            duration_s=seconds,
            clusters=clusters,
            body_bytes=body,
            patience_s=patience,
        )
        from p2psub.bench.earnings import bench_earning  # noqa: PLC0415

        report = _measure(plan, lambda directory, reporter: bench_earning(plan, directory, reporter))
    _say(report, as_json, earning_table)
    _end(report.violations)


def _measure(plan: BenchPlan, bench: Callable[[Path, ProgressReporter], Awaitable[R]]) -> R:
    """Run in a directory that is gone afterwards, and tell how far it has come."""
    from p2psub.demo.progress import open_reporter  # noqa: PLC0415

    if plan.profile is not None:
        plan.profile.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="p2psub-bench-") as directory,
        open_reporter(Console(stderr=True), time.monotonic) as reporter,
    ):
        return run_interruptible(lambda: bench(Path(directory), reporter))


def _say(report: R, as_json: bool, table: Callable[[R], Table]) -> None:
    if as_json:
        print(json.dumps(msgspec.to_builtins(report)))
    else:
        Console().print(table(report))


def _end(broken: int) -> None:
    """With an exit code that says whether every event came as it should."""
    if broken:
        raise typer.Exit(EXIT_LOST)
