"""`p2psub bench store`: how fast a peer's store is on this machine's disk."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from p2psub.bench.plan import StorePlan
from p2psub.cli.bench_tables import store_table
from p2psub.cli.exits import explained
from p2psub.cli.interrupts import run_interruptible
from p2psub.cli.ranges import read_numbers

PLAN = StorePlan()
"""The defaults."""


def bench_store(
    publishers: Annotated[
        str, typer.Option(help="How many publish at a time, for each measurement: with many, packs are small.")
    ] = ",".join(map(str, PLAN.publishers)),
    events: Annotated[int, typer.Option(help="Events stored in a round.")] = PLAN.events,
    rounds: Annotated[int, typer.Option(help="Rounds, of which the medians are printed.")] = PLAN.rounds,
    at_once: Annotated[int, typer.Option(help="Events that one step of a peer brings.")] = PLAN.at_once,
    body: Annotated[int, typer.Option(help="Bytes of an event's body; by default an event has 200 in all.")] = (
        PLAN.body_bytes
    ),
    open_events: Annotated[
        int, typer.Option(help="Events in the store that is opened, read and erased.")
    ] = PLAN.open_events,
    pack: Annotated[int, typer.Option(help="Events in each of its packs.")] = PLAN.events_per_pack,
    directory: Annotated[
        Path | None,
        typer.Option(help="Where to put the stores, which are gone afterwards: on the disk that peers will use."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make packs of events durable in a peer's store, beside a bare SQLite loop that writes the same rows.

    An acknowledgement waits for the disk, so a peer promises no more events per second than its store takes. The loop
    gets the rows ready to be written, in the same file layout, and commits as often: a ratio of 1 is all that SQLite
    can do. Then a store with very many events is filled, opened by a fresh process, read and erased.

    The pause is how long a step of the peer would have had to wait meanwhile; a busy machine adds to it, and the pause
    while the store did nothing says how much.
    """
    with explained(as_json):
        plan = StorePlan(
            publishers=read_numbers("publishers", publishers),
            events=events,
            rounds=rounds,
            at_once=at_once,
            body_bytes=body,
            open_events=open_events,
            events_per_pack=pack,
        )
        from p2psub.bench.store import bench_store as measure  # noqa: PLC0415, `--help` must be quick
        from p2psub.demo.progress import open_reporter  # noqa: PLC0415
        from p2psub.runtime.gc_tuning import tune_gc  # noqa: PLC0415

        # As in a peer, whose store this stands for.
        tune_gc()
        with (
            tempfile.TemporaryDirectory(prefix="p2psub-bench-", dir=directory) as place,
            open_reporter(Console(stderr=True), time.monotonic) as reporter,
        ):
            report = run_interruptible(lambda: measure(plan, Path(place), reporter))
    if as_json:
        print(json.dumps(msgspec.to_builtins(report, str_keys=True)))
    else:
        Console().print(store_table(report))
