"""The stages of a run: told to a person as they begin, and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import trio

from p2psub.errors import P2psubError

LOOK_EVERY_S: Final = 0.1


class TooSlow(P2psubError):
    """Something did not happen in time."""


class Teller(Protocol):
    """Tells a person how far the run has come."""

    def begin(self, stage: str, total: int) -> None:
        """A stage begins that has so many steps; 0 if they are not counted."""

    def progress(self, done: int) -> None:
        """So many of them are done."""

    def note(self, text: str) -> None:
        """Something happened that is worth a line."""


class Stages:
    """Times the stages; `seconds` says how long each took."""

    def __init__(self, teller: Teller) -> None:
        self.teller = teller
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int = 0) -> Iterator[None]:
        """The block is a stage."""
        self.teller.begin(name, total)
        began_s = trio.current_time()
        yield
        self.seconds[name] = round(trio.current_time() - began_s, 2)

    async def wait_all(self, done: Callable[[], int], total: int) -> None:
        """Return when all steps of the stage are done, and tell how many are meanwhile."""
        while (count := done()) < total:
            self.teller.progress(count)
            await trio.sleep(LOOK_EVERY_S)
        self.teller.progress(total)


@contextmanager
def patient(patience_s: float, complaint: Callable[[], str]) -> Iterator[None]:
    """Wait so long; then TooSlow says what is missing."""
    try:
        with trio.fail_after(patience_s):
            yield
    except trio.TooSlowError as error:
        raise TooSlow(f"{complaint()}; try again when the machine is less busy, or with more --patience") from error
