"""`p2psub bench queue`: what choosing the next message of a link costs on this machine."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from p2psub.bench.plan import QueuePlan
from p2psub.cli.bench_tables import queue_table
from p2psub.cli.exits import explained
from p2psub.cli.ranges import read_numbers

PLAN = QueuePlan()
"""The defaults."""
EXIT_DIFFERENT = 3


def bench_queue(
    lengths: Annotated[str, typer.Option(help="How many messages wait, for each measurement.")] = ",".join(
        map(str, PLAN.lengths)
    ),
    subscriptions: Annotated[
        str, typer.Option(help="How many subscriptions each message is for, each with its own deadline and way.")
    ] = ",".join(map(str, PLAN.subscriptions)),
    pops: Annotated[int, typer.Option(help="Messages that leave, for each measurement.")] = PLAN.pops,
    seed: Annotated[int, typer.Option(help="The same seed draws the same messages.")] = PLAN.seed,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Choose the next message of a link by MTEP, beside a straight scan of all that wait, in Python and in numpy.

    The earning of a message changes with every instant, so a scan computes formulas 2 to 14 of the paper for every
    subscription of every message each time the link is free. The queue knows what each message cannot exceed for a
    while, and looks at a few. Both must choose the same, and drop the same as expired.

    Times are CPU time for each message that leaves, with that of the messages which come and expire meanwhile: the
    queue stays as long as it is, and the link takes thirty seconds for all of it, whatever its length.

    Exit code 3: the queue chose or dropped another message than the scan.
    """
    with explained(as_json):
        plan = QueuePlan(
            lengths=read_numbers("lengths", lengths),
            subscriptions=read_numbers("subscriptions", subscriptions),
            pops=pops,
            seed=seed,
        )
        from p2psub.bench.queue import bench_queue as measure  # noqa: PLC0415, `--help` must be quick
        from p2psub.runtime.gc_tuning import tune_gc  # noqa: PLC0415

        # As in a peer, whose queue this stands for.
        tune_gc()
        report = measure(plan)
    if as_json:
        print(json.dumps(msgspec.to_builtins(report)))
    else:
        Console().print(queue_table(report))
    if not all(result.same_choice for result in report.results):
        raise typer.Exit(EXIT_DIFFERENT)
