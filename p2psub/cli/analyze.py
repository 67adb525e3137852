"""`p2psub analyze`: what the traces of all peers tell together, and whether every promise was kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from p2psub.cli.endpoint import BadUsage, check_directories
from p2psub.cli.exits import explained
from p2psub.cli.interrupts import ended_by_signal
from p2psub.cli.progress import spark_progress
from p2psub.cli.spark_extra import need_spark

if TYPE_CHECKING:
    from p2psub.analysis.job import Orders, Results

EXIT_VIOLATION = 3
LINES_PRINTED = 10
"""Of what is violated, and of what was skipped."""


def analyze(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Where traces lie, at any depth: data directories, or compacted traces."),
    ],
    master: Annotated[str, typer.Option(help="Where Spark runs: local[*], or spark://HOST:PORT.")] = "local[*]",
    out: Annotated[
        Path | None, typer.Option(help="A new or empty directory for report.html, figures.json and all tables.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; with --follow one per line.")] = False,
    rematch: Annotated[
        bool, typer.Option(help="Match every traced event again, one filter at a time, and compare.")
    ] = False,
    follow: Annotated[bool, typer.Option(help="Keep reading while peers write; Ctrl-C ends it.")] = False,
    d_diff: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Within this an event must reach a stable subscription (default: 60)."),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="With --follow: the least time between figures.")] = 2,
    for_s: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", help="With --follow: end after this time.")
    ] = None,
    once: Annotated[bool, typer.Option(help="With --follow: end when all that is there was read.")] = False,
) -> None:
    """Ask the traces of all peers: coverage, duplicates, latency, load; and audit every promise.

    Exit codes: 0 fine, 1 it did not come to figures, 2 bad usage, 3 a promise was broken.
    """
    with explained(as_json):
        need_spark()
        _check(directories, d_diff, follow, every=every, for_s=for_s, once=once, out=out, rematch=rematch)
        if follow:
            from p2psub.cli.live_figures import follow_traces  # noqa: PLC0415, Spark is loaded only if wanted

            follow_traces(directories, master, as_json=as_json, every_s=every, for_s=0.0 if once else for_s)
            return
        from p2psub.analysis.job import Orders  # noqa: PLC0415

        orders = Orders(directories, out, is_rematched=rematch)
        if d_diff is not None:
            orders = replace(orders, d_diff_us=round(d_diff * 1e6))
        results = _run(orders, master)
    if as_json:
        print(json.dumps(results.figures))
    else:
        print_results(results, Console())
    if not results.is_sound:
        raise typer.Exit(EXIT_VIOLATION)


def _check(
    directories: list[Path],
    d_diff: float | None,
    follow: bool,
    *,
    every: float,
    for_s: float | None,
    once: bool,
    out: Path | None,
    rematch: bool,
) -> None:
    """What can be said before Spark starts, which takes seconds."""
    from p2psub.analysis.sources import has_compacted  # noqa: PLC0415, Spark is loaded only if wanted

    check_directories(directories)
    if d_diff is not None and not 0 < d_diff < math.inf:
        raise BadUsage("--d-diff must be above 0", "give seconds, such as 60")
    if every <= 0 or (for_s is not None and for_s <= 0):
        raise BadUsage("--every and --for must be above 0", "give seconds, such as 2")
    if follow and (out is not None or rematch or d_diff is not None):
        raise BadUsage("--follow shows running figures alone", "leave out --out, --rematch and --d-diff")
    if follow and has_compacted(directories):
        raise BadUsage("--follow reads what peers write, and there are compacted traces", "leave out --follow")
    if not follow and (for_s is not None or once):
        raise BadUsage("--for and --once say when to stop following", "add --follow")


def _run(orders: Orders, master: str) -> Results:
    from p2psub.analysis.job import run_analysis  # noqa: PLC0415
    from p2psub.analysis.outputs import make_out  # noqa: PLC0415
    from p2psub.analysis.session import spark_session  # noqa: PLC0415
    from p2psub.analysis.sources import find_sources, is_small  # noqa: PLC0415

    # What is wrong with these is said at once, not after the seconds that Spark takes to start.
    sources = find_sources(orders.directories)
    if orders.out is not None:
        make_out(orders.out)
    with (
        ended_by_signal(),
        spark_progress() as tell,
        spark_session(master, quick=is_small(sources)) as spark,
        ended_by_signal(),
    ):
        return run_analysis(spark, orders, tell)


def print_results(results: Results, console: Console) -> None:
    """The results for people: what is wrong first."""
    figures = results.figures
    table = Table(title="what the traces tell", show_header=False)
    for name, value in result_rows(figures):
        table.add_row(name, value)
    console.print(table)
    violated = [
        f"{one['invariant']} violated: {one['text']} (record {record_text(one) or '-'})"
        for one in figures["violations"]
    ]
    _print_first(violated, figures["violated"], console)
    skipped = [f"skipped {one['file']}: {one['reason']}" for one in figures["skipped"]]
    _print_first(skipped, figures["files_skipped"], console)


def _print_first(lines: list[str], total: int, console: Console) -> None:
    for line in lines[:LINES_PRINTED]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if total > LINES_PRINTED:
        console.print(f"and {total - LINES_PRINTED:,} more; --out DIR writes them all")


def result_rows(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and words for the headline figures."""
    latency = figures["latency_ms"]
    took = "no delivery whose publish was traced too"
    if latency["p50"] is not None:
        took = f"p50 {latency['p50']:.1f} ms, p99 {latency['p99']:.1f} ms, max {latency['max']:.1f} ms"
    rows = [
        *([("audits", _audits(figures))] if "violated" in figures else []),
        ("published", f"{figures['published']:,} events"),
        ("matched", f"{figures['matched']:,} pairs of event and subscription"),
        ("delivered", f"{figures['delivered']:,}; {figures['ended']:,} ended otherwise"),
        ("still owed", f"{figures['still_owed']:,}"),
        ("lost", f"{figures['lost']:,}; {figures['missed']:,} missed of events that promise nothing"),
        ("unknown", _unknown(figures)),
        ("latency", took),
        ("coverage", f"{_share(figures['coverage'])} of pairs, {_share(figures['cast_coverage'])} of broadcasts"),
        ("duplicate rate", f"{_share(figures['duplicate_rate'])}: {figures['duplicates']:,} arrived again"),
        ("messages per cast", f"{_number(figures['messages_per_cast'])}, at most {_number(figures['hops_max'])} hops"),
        ("failovers", f"{figures['failovers']:,}"),
        ("read", f"{figures['rows']:,} records of {figures['processes']:,} processes, {figures['cut']:,} of them cut"),
        ("unheard", f"{figures['unheard']:,} processes that others name, or whose files were skipped"),
        ("files", f"{figures['files']:,} read, {figures['files_skipped']:,} skipped"),
    ]
    return [*rows, ("report", figures["report"])] if figures.get("report") else rows


def record_text(finding: Mapping[str, Any]) -> str:
    """The record that shows a finding: its process and its number there."""
    if finding["process"] is None:
        return ""
    node, _, start = finding["process"].partition(".")
    return f"{node[:10]}.{start} #{finding['sequence']}"


def _audits(figures: Mapping[str, Any]) -> str:
    violated, undecided = figures["violated"], figures["undecided"]
    times = "once" if violated == 1 else f"{violated:,} times"
    audits = f"promises were broken {times}" if violated else "no promise was broken"
    return f"{audits}; {undecided:,} cannot be told" if undecided else audits


def _unknown(figures: Mapping[str, Any]) -> str:
    count = f"{figures['unknown']:,}"
    return f"{count}: their end may lie in records that are missing" if figures["unknown"] else count


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.6f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}"
