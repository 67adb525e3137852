"""What waits for the node's next step."""

from __future__ import annotations

import trio

from p2psub.model.effects import Input

WAITING_MAX = 4096
"""Above it readers wait, and with them, through TCP, the peers who send."""


class Inbox:
    """Inputs in the order in which they came. A task that cannot wait puts at once; one that reads a socket waits."""

    __slots__ = ("_full", "_idle", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[Input] = []
        self._idle = trio.lowlevel.ParkingLot()
        self._full = trio.lowlevel.ParkingLot()

    def put_nowait(self, item: Input) -> None:
        """Put an input that comes from our own side."""
        self._waiting.append(item)
        if len(self._waiting) == 1:
            self._idle.unpark_all()

    async def put(self, item: Input) -> None:
        """Put an input of a peer's, when there is room."""
        while len(self._waiting) >= WAITING_MAX:
            await self._full.park()
        self.put_nowait(item)

    async def wait_any(self) -> None:
        """Return when there is an input."""
        if self._waiting:
            await trio.lowlevel.checkpoint()
        while not self._waiting:
            await self._idle.park()

    def take(self) -> list[Input]:
        """Everything that waits."""
        taken, self._waiting = self._waiting, []
        self._full.unpark_all()
        return taken
