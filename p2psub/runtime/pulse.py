"""The beat of a running node: a task that waits for something about the node looks again after a step, or a tick."""

from __future__ import annotations

import trio


class Pulse:
    """Given by the driver, felt by every task that waits. Between two steps nothing about the node changes."""

    __slots__ = ("_stepped", "_ticked")

    def __init__(self) -> None:
        self._stepped = trio.lowlevel.ParkingLot()
        self._ticked = trio.lowlevel.ParkingLot()

    def beat(self, *, is_tick: bool) -> None:
        """The node has stepped; on a tick its timer was due."""
        self._stepped.unpark_all()
        if is_tick:
            self._ticked.unpark_all()

    async def wait_step(self) -> None:
        """Return after the next step."""
        await self._stepped.park()

    async def wait_tick(self) -> None:
        """Return after the next tick: seldom enough for what is costly to look at."""
        await self._ticked.park()
