"""A process that writes a trace as fast as it can, and tells on its output what it was told is durable.

    python -m tests.unit.runtime.trace_process DIRECTORY INCARNATION

It says "durable SEQUENCE" until it is killed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import trio

from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.runtime.trace_writer import TraceConfig, TraceWriter
from tests.unit.bench import at


async def write_for_ever(directory: Path, incarnation: int) -> None:
    """Write a record on every turn of the loop; flush now and then."""
    step = Step(at(1), incarnation, Random(1))
    writer = TraceWriter(directory, at(1).id, step.make_record, TraceConfig(records_max=16))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(writer.run)
        while True:
            for _ in range(40):
                last = step.make_record(Kind.START)
                writer.write(last)
                await trio.sleep(0)
            await writer.flush()
            sys.stdout.write(f"durable {last.sequence}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    trio.run(write_for_ever, Path(sys.argv[1]), int(sys.argv[2]))
