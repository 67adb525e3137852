"""Strangers: incoming connections that have proved nothing yet.

There is room for some, and the oldest gives way to the newest. An honest stranger has proved itself within
milliseconds; one that holds connections open without a word only pushes out its own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from p2psub.errors import PeerFault

STRANGERS_MAX = 256
"""A guess: a few clusters that come at once have room, and all of them take some megabytes."""

logger = logging.getLogger(__name__)

_FORESEEN = (PeerFault, OSError, trio.BrokenResourceError, trio.TooSlowError)


class Strangers:
    """Those who are at the door, and how many were refused."""

    __slots__ = ("_room", "_scopes", "refused")

    def __init__(self, room: int = STRANGERS_MAX) -> None:
        self._room = room
        self._scopes: dict[trio.CancelScope, None] = {}
        self.refused = 0

    def __len__(self) -> int:
        return len(self._scopes)

    @contextmanager
    def admit(self, seconds: float) -> Iterator[None]:
        """A place for one, for some time; whatever goes wrong with it meanwhile is counted, and ends here."""
        try:
            with self._place(seconds):
                yield
        except _FORESEEN as error:
            self.refused += 1
            # Trio hides in the cause what TLS said.
            logger.info("refused: %s: %s", type(error).__name__, error.__cause__ or error)
        except Exception:
            self.refused += 1
            logger.exception("refused: unforeseen")

    @contextmanager
    def _place(self, seconds: float) -> Iterator[None]:
        if len(self._scopes) >= self._room:
            oldest = next(iter(self._scopes))
            del self._scopes[oldest]
            oldest.cancel()
        scope = trio.CancelScope(deadline=trio.current_time() + seconds)
        self._scopes[scope] = None
        try:
            with scope:
                yield
        finally:
            self._scopes.pop(scope, None)
        if scope.cancelled_caught:
            raise trio.TooSlowError("it proved nothing in time, or newer ones needed its place")
