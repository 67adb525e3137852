"""What a store says while it runs."""

from __future__ import annotations

from collections.abc import Callable

import trio

from p2psub.model.effects import DiskState, FromDisk, PacksRead, Stored
from p2psub.model.step import Body
from p2psub.runtime.packs import PackCodec
from p2psub.runtime.store import Store

PLAIN_PACKS = PackCodec(object, object)
"""Packs of plain values, which come back as lists, dicts and scalars."""


class Told:
    """What the store said: what is durable, whether the disk takes rows, bodies; and somebody who waits for it."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.disk_states: list[bool] = []
        self.pages: list[PacksRead] = []
        self._lot = trio.lowlevel.ParkingLot()

    def __call__(self, said: FromDisk) -> None:
        match said:
            case Stored(number):
                self.numbers.append(number)
            case DiskState(is_full):
                self.disk_states.append(is_full)
            case PacksRead():
                self.pages.append(said)
        self._lot.unpark_all()

    async def wait(self, number: int) -> None:
        """Return when everything up to `number` is durable."""
        await self.wait_until(lambda: bool(self.numbers) and self.numbers[-1] >= number)

    async def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Return when what was told is enough."""
        while not is_so():
            await self._lot.park()

    async def bodies(self, number: int, count: int) -> list[Body]:
        """The answer to a read of so many packs, when it is whole."""
        await self.wait_until(lambda: len(self._answer(number)) == count)
        return self._answer(number)

    def _answer(self, number: int) -> list[Body]:
        return [body for page in self.pages if page.number == number for body in page.bodies]


async def trouble_of(store: Store) -> str:
    """What the store says as soon as it is in trouble."""
    while store.trouble is None:
        await trio.sleep(0.01)
    return store.trouble
