"""`p2psub soak`: an overlay on this machine whose peers are killed again and again while others publish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p2psub.cli.exits import explained
from p2psub.cli.overlay_runs import run_overlay, tell

if TYPE_CHECKING:
    from p2psub.soak.plan import SoakPlan
    from p2psub.soak.report import SoakReport


def soak(
    rounds: Annotated[int, typer.Option(help="Peers to kill, one in each round.")] = 200,
    rate: Annotated[float, typer.Option(help="Events per second, of all publishers.")] = 1000.0,
    seconds_per_round: Annotated[
        float, typer.Option(help="From one kill to the next, 5 to 15; longer if a peer takes longer to come back.")
    ] = 15.0,
    seed: Annotated[int, typer.Option(help="Draws who is killed, and for how long it stays away.")] = 1,
    patience: Annotated[float, typer.Option(help="Seconds to wait for anything before giving up.")] = 180.0,
    state: Annotated[
        Path | None,
        typer.Option(help="An empty or new directory in which everything is kept; default: a temporary one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Kill an owner, a holder or a super-node in every round while others publish, and account for every event.

    Ten peers in two clusters, a ring of 6 and one of 4, publish `effectively_once` over TLS on loopback. The peer that
    was killed with SIGKILL is started again in the same round. What publishers were promised and what subscribers got
    is compared event by event; then `p2psub analyze` audits the traces.

    All subscriptions ask for the order of publishers: `out_of_order` says how often a later event came first.

    Exit codes: 0 every promise was kept, 1 the overlay did not form, or a peer did not come back, 3 an event was lost,
    handed over twice or out of order, the overlay did not settle, or an audit of the traces fails. Then all files are
    kept.
    """
    with explained(as_json):
        from p2psub.soak.plan import SoakPlan  # noqa: PLC0415, `--help` must be quick

        plan = SoakPlan(rounds, rate, seconds_per_round, seed, patience)
        report = _run_in(state, plan)
    tell(report, report_rows(report), as_json)


def _run_in(state: Path | None, plan: SoakPlan) -> SoakReport:
    """Run; of files that no person asked for leave those of a run that did not go well."""
    from p2psub.demo.directories import RunDirectories  # noqa: PLC0415
    from p2psub.soak.story import run_soak  # noqa: PLC0415

    directories = RunDirectories.make(state, "soak", "state")
    report = run_overlay(directories, state is not None, lambda reporter: run_soak(plan, directories, reporter))
    if report.is_sound and state is None:
        directories.leave_nothing()
    return report


def report_rows(report: SoakReport) -> list[tuple[str, str]]:
    """What the report says to people."""
    settings = report.settings
    kills = ", ".join(f"{count} as {role.replace('_', '-')}" for role, count in report.kills.items())
    refused = ", ".join(f"{count:,} {reason}" for reason, count in report.refused.items())
    members = " and ".join(f"{name} of {count}" for name, count in settings.members.items())
    python = f"Python {settings.python}, {'compiled' if settings.compiled else 'not compiled'}"
    return [
        ("rounds", f"{report.rounds} of {settings.seconds_per_round:g} s; clusters: {members}"),
        ("killed", kills),
        ("published", f"{report.published:,} at {settings.rate_per_s:,.0f}/s, {report.acknowledged:,} acknowledged"),
        ("refused", refused or "0"),
        ("delivered", f"{report.received:,} pairs of event and subscription"),
        ("lost", f"{report.lost:,}"),
        ("duplicates", f"{report.duplicates:,}"),
        ("unwanted", f"{report.unwanted:,}"),
        ("out of order", f"{report.out_of_order:,}"),
        ("settled", "yes" if report.is_settled else "no: peers still owed something when patience ended"),
        ("memory", f"{report.rss_mb_max:,.0f} MB of the largest peer"),
        ("traces", f"{report.trace_bytes / 1e6:,.0f} MB"),
        ("audit", _audit_text(report)),
        ("machine", f"{settings.cpus} CPUs, load {settings.load_average:.1f} at the start, {python}"),
    ]


def _audit_text(report: SoakReport) -> str:
    if report.audit_violations is None:
        return "not made: PySpark is not installed"
    count, undecided = report.audit_violations, report.audit_undecided
    verdict = f"promises were broken {count:,} times" if count else "every promise holds in the traces"
    return f"{verdict}; {undecided:,} cannot be told; {report.audit_seconds:,.0f} s"
