"""Work under a signal: cancelled, cleaned up, and told by the exit code."""

from __future__ import annotations

import os
import signal

import pytest
import trio
import typer

from p2psub.cli.interrupts import ended_by_signal, run_interruptible


def test_work_that_is_left_alone_gives_its_result() -> None:
    """As if nothing could interrupt it."""

    async def work() -> int:
        await trio.lowlevel.checkpoint()
        return 7

    assert run_interruptible(work) == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_work(number: signal.Signals) -> None:
    """It may clean up; then the command ends as shells expect."""
    cleaned = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await trio.sleep_forever()
        finally:
            cleaned.append(number)

    with pytest.raises(typer.Exit) as caught:
        run_interruptible(work)
    assert (caught.value.exit_code, cleaned) == (128 + number, [number])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_block_as_an_exit_does(number: signal.Signals) -> None:
    """What is open is closed, the exit code names the signal, and whoever handled it before does so again."""
    before, cleaned = signal.getsignal(number), []

    def work() -> None:
        with ended_by_signal():
            try:
                os.kill(os.getpid(), number)
            finally:
                cleaned.append(number)

    with pytest.raises(SystemExit) as caught:
        work()
    assert (caught.value.code, cleaned) == (128 + number, [number])
    assert signal.getsignal(number) is before
