"""The measured side: orders come on stdin, answers go to stdout, and the end of stdin ends the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable

import trio

from p2psub.bench.orders import AnyWorkerOrder, WorkerAnswer, decode_order, encode_line

CarryOut = Callable[[AnyWorkerOrder], Awaitable[WorkerAnswer]]


async def run_worker(carry_out: CarryOut) -> None:
    """Carry out one order after the other."""
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as orders:
        rest = b""
        async for piece in orders:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                answer = await carry_out(decode_order(line))
                sys.stdout.buffer.write(encode_line(answer))
                sys.stdout.buffer.flush()
