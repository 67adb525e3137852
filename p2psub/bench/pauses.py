"""How long a task was kept from running while another thread worked: what a node's step would feel of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

LOOK_EVERY_S: Final = 0.001


class PauseMeter:
    """The longest pause so far."""

    __slots__ = ("ms_max",)

    def __init__(self) -> None:
        self.ms_max = 0.0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Look again and again while the block runs."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look)
            yield
            nursery.cancel_scope.cancel()

    async def _look(self) -> None:
        while True:
            due_s = trio.current_time() + LOOK_EVERY_S
            await trio.sleep_until(due_s)
            self.ms_max = max(self.ms_max, (trio.current_time() - due_s) * 1e3)
