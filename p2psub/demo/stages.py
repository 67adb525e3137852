"""The stages of a run: told to a person as they begin, and timed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import trio

from p2psub.errors import P2psubError

LOOK_EVERY_S: Final = 0.1
"""How often to look at peers: each is a process of its own, whose control API answers and does not call."""


class TooSlow(P2psubError):
    """Something did not happen in time."""


class ProgressReporter(Protocol):
    """Tells a person how far the run has come."""

    def begin(self, stage: str, total: int) -> None:
        """A stage begins that has so many steps; 0 if they are not counted."""

    def progress(self, done: int) -> None:
        """So many of them are done."""

    def note(self, text: str) -> None:
        """Something happened that is worth a line."""


class Stages:
    """Times the stages; `seconds` says how long each took."""

    def __init__(self, reporter: ProgressReporter) -> None:
        self.reporter = reporter
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int = 0) -> Iterator[None]:
        """The block is a stage."""
        self.reporter.begin(name, total)
        began_s = trio.current_time()
        yield
        self.seconds[name] = round(trio.current_time() - began_s, 2)

    async def wait_all(self, steps: Iterable[Callable[[], Awaitable[object]]], already: int = 0) -> None:
        """Take all steps of the stage at once; returns when each is done, and tells how many are meanwhile."""
        done = already

        async def take(step: Callable[[], Awaitable[object]]) -> None:
            nonlocal done
            await step()
            done += 1
            self.reporter.progress(done)

        async with trio.open_nursery() as nursery:
            for step in steps:
                nursery.start_soon(take, step)


@contextmanager
def patient(patience_s: float, complaint: Callable[[], str]) -> Iterator[None]:
    """Wait so long; then TooSlow says what is missing."""
    try:
        with trio.fail_after(patience_s):
            yield
    except trio.TooSlowError as error:
        raise TooSlow(f"{complaint()}; try again when the machine is less busy, or with more --patience") from error
