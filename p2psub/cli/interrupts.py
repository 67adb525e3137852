"""Commands that a person may interrupt: the work is cancelled, cleans up, and the signal is the exit code."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

import typer

EXIT_SIGNAL: Final = 128
"""Added to the number of the signal that ended us, as shells do."""

T = TypeVar("T")


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """SIGINT and SIGTERM end the block as an exit does, so that all is cleaned up, and nothing is said.

    To be entered again once Spark has started, which puts a handler of its own in place.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(EXIT_SIGNAL + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_interruptible(work: Callable[[], Awaitable[T]]) -> T:
    """Run it under trio; SIGINT and SIGTERM cancel it, and end the command once it has cleaned up."""
    import trio  # noqa: PLC0415, `--help` must be quick

    ended = trio.run(_run, work)
    if isinstance(ended, signal.Signals):
        raise typer.Exit(EXIT_SIGNAL + ended)
    return ended


async def _run(work: Callable[[], Awaitable[T]]) -> T | signal.Signals:
    """What came of it, or what interrupted it."""
    import trio  # noqa: PLC0415

    outcome: list[T | signal.Signals] = []

    async def do() -> None:
        outcome.append(await work())
        nursery.cancel_scope.cancel()

    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(do)
            async for number in signals:
                outcome.append(signal.Signals(number))
                nursery.cancel_scope.cancel()
    return outcome[0]
