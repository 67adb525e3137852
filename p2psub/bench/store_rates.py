"""How fast packs become durable: in the store, and in the least that writes the same rows as durably."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import trio

from p2psub.bench.pack_load import CODEC, PackLoad
from p2psub.model.effects import FromDisk, Pack, PacksRead, Persist, ReadPacks
from p2psub.runtime.packs import PackRow
from p2psub.runtime.store import Store
from p2psub.runtime.store_file import open_connection

STEPS_AHEAD: Final = 4
"""Steps that a node goes on with while none of them is durable yet."""

_HEADS: Final = "INSERT INTO pack_head (number, head, checksum) VALUES (?, ?, ?)"
_BODIES: Final = "INSERT INTO pack_body (number, body, checksum) VALUES (?, ?, ?)"


class StoreRun:
    """A store that runs, and waiting for what it says."""

    def __init__(self, store: Store, advance: Callable[[int], None]) -> None:
        self.store = store
        self._advance = advance
        self._lot = trio.lowlevel.ParkingLot()
        self._persists = 0
        self._bodies = 0

    def tell(self, said: FromDisk) -> None:
        """Hear it."""
        if isinstance(said, PacksRead):
            self._bodies += len(said.bodies)
        self._lot.unpark_all()

    async def append(self, steps: Iterable[list[Pack]]) -> None:
        """The packs of one step after the other, a few ahead of the disk; until all are durable."""
        for packs in steps:
            self._persists += 1
            self.store.put(Persist(self._persists, [], packs))
            await self._until(lambda: self.store.pending <= STEPS_AHEAD)
            self._advance(packs[-1].number)
        await self._until(lambda: not self.store.pending)

    async def erase(self, numbers: list[int], at_once: int) -> None:
        """So many packs in a step; until all are gone."""
        for begun in range(0, len(numbers), at_once):
            self._persists += 1
            self.store.put(Persist(self._persists, [], [], numbers[begun : begun + at_once]))
            await self._until(lambda: self.store.pending <= STEPS_AHEAD)
            self._advance(begun)
        await self.store.drain()

    async def read(self, numbers: list[int], at_once: int) -> None:
        """So many packs in a step, one after the other; until all were read."""
        for begun in range(0, len(numbers), at_once):
            few = numbers[begun : begun + at_once]
            wanted = self._bodies + len(few)
            self.store.read(ReadPacks(begun + 1, few))
            await self._until(partial(self._has_read, wanted))
            self._advance(begun)

    def _has_read(self, wanted: int) -> bool:
        return self._bodies >= wanted

    async def _until(self, is_so: Callable[[], bool]) -> None:
        await trio.lowlevel.checkpoint()
        while not is_so():
            await self._lot.park()


@asynccontextmanager
async def open_run(store: Store, advance: Callable[[int], None]) -> AsyncIterator[StoreRun]:
    """A store that runs while the block runs; `advance` hears the number of the pack that was reached."""
    run = StoreRun(store, advance)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.run, run.tell)
        yield run
        nursery.cancel_scope.cancel()


async def store_append(path: Path, load: PackLoad) -> tuple[float, int]:
    """Seconds until all of the load is durable in a new store, and in how many commits."""
    with closing(Store.open(path, codec=CODEC)) as store:
        steps = list(load.steps())
        async with open_run(store, lambda _: None) as run:
            began_s = time.perf_counter()
            await run.append(steps)
            return time.perf_counter() - began_s, store.commits


def bare_append(path: Path, load: PackLoad, commits: int) -> float:
    """Seconds until the same rows, encoded before, are durable in such a file, in about as many commits."""
    packs = [pack for step in load.steps() for pack in step]
    together = max(1, len(packs) // commits)
    groups = [_rows(packs[begun : begun + together]) for begun in range(0, len(packs), together)]
    with closing(open_connection(path, None)) as connection:
        began_s = time.perf_counter()
        for heads, bodies in groups:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_HEADS, heads)
            connection.executemany(_BODIES, bodies)
            connection.execute("COMMIT")
        return time.perf_counter() - began_s


def _rows(packs: list[Pack]) -> tuple[list[PackRow], list[PackRow]]:
    rows = dict(CODEC.rows_of(packs)).values()
    return [head for head, _ in rows], [body for _, body in rows]
