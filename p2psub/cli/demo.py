"""`p2psub demo`: a whole overlay on this machine, with peers that are killed, and a table of what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p2psub.cli.exits import explained
from p2psub.cli.overlay_runs import run_overlay, tell

if TYPE_CHECKING:
    from p2psub.demo.plan import DemoPlan
    from p2psub.demo.report import DemoReport


def demo(
    peers: Annotated[int, typer.Option(help="Peers, each a process of its own.")] = 16,
    clusters: Annotated[int, typer.Option(help="Clusters they form.")] = 4,
    publishers: Annotated[int, typer.Option(help="Peers that publish.")] = 4,
    subscribers: Annotated[int, typer.Option(help="Peers that subscribe.")] = 8,
    subscriptions: Annotated[int, typer.Option(help="Filters, dealt out to the subscribers.")] = 24,
    events: Annotated[int, typer.Option(help="Events to publish.")] = 500,
    rate: Annotated[float, typer.Option(help="Events per second.")] = 25.0,
    kill_members: Annotated[int, typer.Option(help="Members to kill meanwhile, each of another cluster.")] = 1,
    kill_super_nodes: Annotated[int, typer.Option(help="Super-nodes to kill, of other clusters again.")] = 1,
    seed: Annotated[int, typer.Option(help="Draws content, filters, and who is killed.")] = 1,
    patience: Annotated[float, typer.Option(help="Seconds to wait for anything before giving up.")] = 120.0,
    data: Annotated[
        Path | None, typer.Option(help="An empty or new directory for all that peers write; default: a temporary one.")
    ] = None,
    keep: Annotated[bool, typer.Option(help="Keep keys, events and logs of the peers too, not just traces.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Start an overlay on loopback, publish, kill some peers, and show that nothing was lost or handed over twice.

    Ends with the analysis of its own traces, as `p2psub analyze` does it.

    Exit codes: 0 no event was lost or handed over twice, 1 the overlay did not form or end, 3 an event was, or an audit
    of the traces fails.
    """
    with explained(as_json):
        from p2psub.demo.plan import DemoPlan  # noqa: PLC0415, `--help` must be quick

        plan = DemoPlan(
            peers=peers,
            clusters=clusters,
            publishers=publishers,
            subscribers=subscribers,
            subscriptions=subscriptions,
            events=events,
            rate_per_s=rate,
            member_kills=kill_members,
            super_node_kills=kill_super_nodes,
            seed=seed,
            patience_s=patience,
        )
        report = _run_in(data, plan, keep)
    tell(report, report_rows(report), as_json)


def _run_in(data: Path | None, plan: DemoPlan, keep: bool) -> DemoReport:
    """Run, and leave of the files what is wanted: the traces of a run that went well, all of one that did not."""
    from p2psub.demo.directories import RunDirectories  # noqa: PLC0415
    from p2psub.demo.story import run_demo  # noqa: PLC0415

    directories = RunDirectories.make(data)
    report = run_overlay(directories, keep, lambda reporter: run_demo(plan, directories, reporter))
    if report.is_sound and not keep:
        directories.leave_traces()
    return report


def report_rows(report: DemoReport) -> list[tuple[str, str]]:
    """What the report says to people."""
    killed = ", ".join(
        f"{victim.name} ({victim.role.replace('_', '-')} of {victim.cluster})" for victim in report.killed
    )
    stages = ", ".join(f"{name} {span_s:.1f}" for name, span_s in report.seconds.items())
    latency = "none arrived"
    if report.latency_p50_ms is not None:
        latency = f"p50 {report.latency_p50_ms:.1f} ms, p99 {report.latency_p99_ms:.1f} ms, publish call to arrival"
    return [
        ("peers", f"{report.peers} in {report.clusters} clusters, {report.super_nodes} super-nodes at the end"),
        ("killed", killed or "no peer"),
        ("failovers", str(report.failovers)),
        ("published", f"{report.published} events, {report.acknowledged} acknowledged"),
        ("matched", f"{report.matched} notifications for {report.subscriptions} subscriptions"),
        ("delivered", f"{report.delivered} of {report.expected} expected"),
        ("coverage", f"{report.coverage:.4f}"),
        ("lost", str(report.lost)),
        ("duplicates", f"{report.duplicates} handed over, {report.wire_duplicates} stopped on the way"),
        ("unwanted", str(report.unwanted)),
        ("latency", latency),
        ("seconds", stages),
        ("traces", report.trace_dir),
        *([] if report.analysis is None else _analysis_rows(report.analysis)),
    ]


def _analysis_rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    violated, unknown = figures["violated"], max(figures["unknown"], figures["undecided"])
    rows = [
        (
            "audit",
            f"promises were broken {violated} times, says the report"
            if violated
            else "every promise holds in the traces",
        ),
        ("in the traces", f"{figures['delivered']} of {figures['matched']} delivered, {figures['lost']} lost"),
    ]
    if unknown:
        rows.append(("unknown", f"{unknown} answers: killed peers took the last second of their traces along"))
    return [*rows, ("report", str(figures["report"]))]
