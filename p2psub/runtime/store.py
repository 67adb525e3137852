"""What a node made durable: rows and packs in one SQLite file, written by group commit.

Whatever was put while a commit was under way goes into the next one, all in one transaction, so that a slow disk makes
commits larger and not slower. `Stored` is said only for what has reached the disk; when the disk takes nothing, the
store says so, in `trouble` and by `DiskState`, keeps what was put, and tries again.

Commits and reads take turns, in worker threads, one at a time. A read is a page; a commit erases a few packs.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from pathlib import Path

import trio

from p2psub.model.effects import DiskState, FromDisk, PacksRead, Persist, ReadPacks, Stored, StoredPacks
from p2psub.model.step import Body
from p2psub.node.core import Disk
from p2psub.runtime.backoff import backoff_s
from p2psub.runtime.packs import OWED_PACKS, PackCodec
from p2psub.runtime.store_file import count_incarnation, fault_of, open_connection
from p2psub.runtime.store_tables import ERASED_PACKS_MAX, READ_PACKS_MAX, DamagedRow, StoreTables, Transaction

logger = logging.getLogger(__name__)


class Store:
    """A node's disk. `load` before the first `put`; one `run` commits and reads; `drain`, then `close`, at the end.

    `incarnation` is new with every `open`. `damaged` tells of what `load` and `load_packs` could not trust: it is kept
    in a table of its own; `bodies_lost` counts bodies that were asked for and could not be read. `commits` and
    `rows_stored` count what reached the disk: a pack counts as one row, and a row that was written or erased several
    times between two commits counts once. `trouble` is None, or why nothing can be written at present and what to do.
    """

    __slots__ = (
        "_arrived",
        "_asked",
        "_backoff",
        "_codec",
        "_doomed",
        "_durable_number",
        "_let_go",
        "_lock",
        "_path",
        "_put_number",
        "_reads",
        "_tables",
        "_unanswered",
        "_waiting",
        "bodies_lost",
        "commits",
        "damaged",
        "incarnation",
        "rows_stored",
        "trouble",
    )

    def __init__(self, path: Path, tables: StoreTables, codec: PackCodec, incarnation: int) -> None:
        self._path = path
        self._tables = tables
        self._codec = codec
        self._waiting = Transaction()
        self._doomed: list[int] = []
        """A heap: the oldest packs are erased first."""
        self._put_number = 0
        self._durable_number = 0
        self._reads: deque[ReadPacks] = deque()
        self._unanswered = 0
        """Reads that were asked for, and are not answered whole."""
        self._let_go: set[int] = set()
        """Packs that were erased since the first of them: they are not lost."""
        self._arrived = trio.Event()
        self._asked = trio.Event()
        self._lock = trio.Lock()
        self._backoff = backoff_s()
        self.incarnation = incarnation
        self.commits = 0
        self.rows_stored = 0
        self.bodies_lost = 0
        self.damaged: tuple[DamagedRow, ...] = ()
        self.trouble: str | None = None

    @classmethod
    def open(cls, path: Path, bytes_max: int | None = None, codec: PackCodec = OWED_PACKS) -> Store:
        """Open the store, or begin one, for this process alone; StoreBusy, StoreDamaged, StoreUnusable say why not."""
        is_new = not path.exists()
        connection = open_connection(path, bytes_max)
        try:
            return cls(path, StoreTables(path, connection, codec), codec, count_incarnation(path, is_new))
        except BaseException:
            connection.close()
            raise

    def load(self) -> Disk:
        """What is durable, each namespace's rows in the order in which they first came."""
        disk, damaged = self._tables.load_rows()
        self.damaged += tuple(damaged)
        return disk

    def load_packs(self) -> StoredPacks:
        """What is durable of the log: heads alone, in order."""
        packs, damaged = self._tables.load_packs()
        self.damaged += tuple(damaged)
        return packs

    def put(self, persist: Persist) -> None:
        """Take rows and packs to be made durable together, after all that was put before."""
        assert persist.number > self._put_number, f"{persist.number} was put after {self._put_number}"
        self._put_number = persist.number
        waiting = self._waiting
        for write in persist.writes:
            waiting.rows[write.namespace, write.name] = write
        # Encoded here: where the commit did it, large packs were durable about a tenth later.
        waiting.packs.update(self._codec.rows_of(persist.packs))
        for number in persist.erased_packs:
            if waiting.packs.pop(number, None) is None:
                heappush(self._doomed, number)
        if self._unanswered:
            self._let_go.update(persist.erased_packs)
        self._arrived.set()

    def read(self, ask: ReadPacks) -> None:
        """Read bodies, those that were put before among them; `run` answers."""
        self._reads.append(ask)
        self._unanswered += 1
        self._asked.set()

    async def run(self, tell: Callable[[FromDisk], None]) -> None:
        """Commit what is put and read what is asked for, until cancelled; `tell` hears of it."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_reading, tell)
            await self._keep_committing(tell)

    async def drain(self) -> None:
        """Return when everything put so far is durable and erased: on a full disk that may be never.

        Cancelled, it loses nothing: a commit under way is brought to its end even then.
        """
        number = self._put_number
        while self._durable_number < number or self._doomed:
            if not await self._commit():
                await trio.sleep(next(self._backoff))

    async def tidy(self) -> None:
        """Drain, and return when the file has given back what it does not need."""
        while self._is_owing or self._tables.has_slack:
            if not await self._commit():
                await trio.sleep(next(self._backoff))

    @property
    def _is_owing(self) -> bool:
        return self._durable_number < self._put_number or bool(self._doomed)

    # Committing

    async def _keep_committing(self, tell: Callable[[FromDisk], None]) -> None:
        told, was_full = 0, False
        while True:
            await self._arrived.wait()
            is_done = await self._commit()
            if was_full != (self.trouble is not None):
                was_full = not was_full
                tell(DiskState(was_full))
            # Another task's drain may have made it durable for us.
            if self._durable_number > told:
                told = self._durable_number
                tell(Stored(told))
            if not is_done:
                await trio.sleep(next(self._backoff))

    async def _commit(self) -> bool:
        """Try to write what waits, or use the time to shrink the file; False if the disk did not take it."""
        async with self._lock:
            if self._arrived.is_set():
                self._arrived = trio.Event()
            try:
                if self._is_owing:
                    return await self._commit_waiting()
                if self._tables.has_slack:
                    await self._shrink()
                return True
            finally:
                if self._is_owing or self._tables.has_slack:
                    self._arrived.set()

    async def _commit_waiting(self) -> bool:
        # Where all of it did not find room, erasures go alone until there are none left: each commit erases a few.
        is_whole = self.trouble is None or not self._doomed
        content, number = self._take(is_whole), self._put_number
        try:
            left = await trio.to_thread.run_sync(self._tables.commit, content)
        except trio.Cancelled:
            # Before it began: a thread that runs is waited for.
            self._put_back(content)
            raise
        except sqlite3.Error as error:
            self._put_back(content)
            self._note_trouble(error)
            return False
        self._doom(left)
        self._note_success(len(content.rows) + len(content.packs) + len(content.erased_packs) - len(left))
        if is_whole:
            self._durable_number = number
            self._note_end_of_trouble()
        return True

    def _take(self, is_whole: bool) -> Transaction:
        content = Transaction()
        if is_whole:
            content, self._waiting = self._waiting, content
        while self._doomed and len(content.erased_packs) < ERASED_PACKS_MAX:
            content.erased_packs.append(heappop(self._doomed))
        return content

    def _put_back(self, content: Transaction) -> None:
        """It could not be written; what was put since then is newer."""
        waiting = self._waiting
        waiting.rows = content.rows | waiting.rows
        waiting.packs = content.packs | waiting.packs
        self._doomed = [number for number in self._doomed if waiting.packs.pop(number, None) is None]
        self._doom(content.erased_packs)

    def _doom(self, numbers: list[int]) -> None:
        self._doomed += numbers
        heapify(self._doomed)

    async def _shrink(self) -> None:
        try:
            await trio.to_thread.run_sync(self._tables.shrink)
        except sqlite3.Error as error:
            logger.info("%s stays as large as it is: %s", self._path, error)

    def _note_trouble(self, error: sqlite3.Error) -> None:
        trouble = str(fault_of(self._path, error))
        if trouble != self.trouble:
            logger.warning("nothing is made durable, and nothing acknowledged: %s", trouble)
        self.trouble = trouble

    def _note_success(self, rows: int) -> None:
        self.commits += 1
        self.rows_stored += rows

    def _note_end_of_trouble(self) -> None:
        if self.trouble is not None:
            logger.info("%s takes rows again", self._path)
            self._backoff = backoff_s()
        self.trouble = None

    # Reading

    async def _keep_reading(self, tell: Callable[[FromDisk], None]) -> None:
        while True:
            await self._asked.wait()
            self._asked = trio.Event()
            while self._reads:
                await self._answer(self._reads.popleft(), tell)

    async def _answer(self, ask: ReadPacks, tell: Callable[[FromDisk], None]) -> None:
        done = 0
        while done < len(ask.packs):
            page = await self._read_page(ask.packs[done : done + READ_PACKS_MAX])
            done += len(page)
            self.bodies_lost += sum(1 for number, body in page if body is None and number not in self._let_go)
            tell(PacksRead(ask.number, page))
        self._unanswered -= 1
        if not self._unanswered:
            self._let_go.clear()

    async def _read_page(self, numbers: list[int]) -> list[Body]:
        # Whoever waits for the lock gets it in turn: a commit goes between two pages.
        async with self._lock:
            packs = self._waiting.packs
            waiting = {number: packs[number][1] for number in numbers if number in packs}
            return await trio.to_thread.run_sync(self._tables.read, numbers, waiting, self._let_go)

    # Being asked

    @property
    def pending(self) -> int:
        """How many of the Persists that were put are not durable yet."""
        return self._put_number - self._durable_number

    @property
    def size_bytes(self) -> int:
        """What the store takes on its disk."""
        files = (self._path, self._path.with_name(self._path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Give the file free for the next process. What was not drained is lost, as in a crash."""
        self._tables.close()
