"""What a node made durable: rows in one SQLite file, written by group commit.

Whatever was put while a commit was under way goes into the next one, all in one transaction, so that a slow disk makes
commits larger and not slower. `stored` is called only for what has reached the disk; when the disk takes nothing, the
store says so in `trouble`, keeps what was put, and tries again.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import trio

from p2psub.model.effects import Persist, Write
from p2psub.node.core import Disk
from p2psub.runtime.backoff import backoff_s
from p2psub.runtime.namespaces import Name, RowDamaged, decode_row, encode_name, encode_row
from p2psub.runtime.store_file import FAULTS, INDEX, count_incarnation, fault_of, open_connection

logger = logging.getLogger(__name__)

_LOAD: Final = "SELECT number, namespace, name, value, checksum FROM row ORDER BY number"
_ERASE: Final = "DELETE FROM row WHERE namespace = ? AND name = ?"
_KEEP: Final = """
    INSERT INTO row (namespace, name, value, checksum) VALUES (?, ?, ?, ?)
    ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value, checksum = excluded.checksum
"""

Batch = dict[tuple[str, Name], Write]
"""Of each row what was written last: no reader sees what was written before it in the same transaction."""


class DamagedRow(msgspec.Struct, frozen=True):
    """A row that was set aside at the start, and why."""

    number: int
    namespace: str
    why: str


class Store:
    """A node's disk. `load` before the first `put`; one `run` commits; `drain`, then `close`, at the end.

    `incarnation` is new with every `open`. `damaged` tells of the rows that `load` could not trust: they are kept in
    a table of their own. `commits` and `rows_stored` count what reached the disk; a row that was written or erased
    several times between two commits counts once. `trouble` is None, or why nothing can be written at present and what
    to do.
    """

    __slots__ = (
        "_arrived",
        "_batch",
        "_connection",
        "_durable_number",
        "_lock",
        "_path",
        "_put_number",
        "commits",
        "damaged",
        "incarnation",
        "rows_stored",
        "trouble",
    )

    def __init__(self, path: Path, connection: sqlite3.Connection, incarnation: int) -> None:
        self._path = path
        self._connection = connection
        self._batch: Batch = {}
        self._put_number = 0
        self._durable_number = 0
        self._arrived = trio.Event()
        self._lock = trio.Lock()
        self.incarnation = incarnation
        self.commits = 0
        self.rows_stored = 0
        self.damaged: tuple[DamagedRow, ...] = ()
        self.trouble: str | None = None

    @classmethod
    def open(cls, path: Path, bytes_max: int | None = None) -> Store:
        """Open the store, or begin one, for this process alone; StoreBusy, StoreDamaged, StoreUnusable say why not."""
        is_new = not path.exists()
        connection = open_connection(path, bytes_max)
        try:
            return cls(path, connection, count_incarnation(path, is_new))
        except BaseException:
            connection.close()
            raise

    def load(self) -> Disk:
        """What is durable, each namespace's rows in the order in which they first came."""
        namespaces: dict[str, dict[Name, object]] = {}
        damaged: list[DamagedRow] = []
        try:
            for number, *row in self._connection.execute(_LOAD):
                try:
                    namespace, name, value = decode_row(tuple(row))
                except RowDamaged as fault:
                    damaged.append(DamagedRow(number, repr(row[0]), str(fault)))
                else:
                    namespaces.setdefault(namespace, {})[name] = value
        except FAULTS as error:
            raise fault_of(self._path, error) from error
        if damaged or not self._is_index_sound():
            logger.warning("%s was damaged; %d rows are set aside", self._path, len(damaged))
            self._mend(damaged)
        self.damaged = tuple(damaged)
        return namespaces

    def _is_index_sound(self) -> bool:
        try:
            (verdict,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.Error:
            return False
        return bool(verdict == b"ok")

    def _mend(self, damaged: list[DamagedRow]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            # It may still know a damaged row by its old name: it is made anew from the rows that are left.
            connection.execute("DROP INDEX row_name")
            for row in damaged:
                connection.execute("INSERT INTO damaged SELECT *, ? FROM row WHERE number = ?", (row.why, row.number))
                connection.execute("DELETE FROM row WHERE number = ?", (row.number,))
            connection.execute(INDEX)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            logger.warning("the damage stays as it is: %s", error)
            self._roll_back()

    # Writing

    def put(self, persist: Persist) -> None:
        """Take rows to be made durable together, after all that was put before."""
        assert persist.number > self._put_number, f"{persist.number} was put after {self._put_number}"
        self._put_number = persist.number
        batch = self._batch
        for write in persist.writes:
            batch[write.namespace, write.name] = write
        self._arrived.set()

    async def run(self, stored: Callable[[int], None]) -> None:
        """Commit what is put, until cancelled; `stored` hears the highest number below which all is durable."""
        told = 0
        while True:
            await self._arrived.wait()
            await self.drain()
            # Another task's drain may have made it durable for us.
            if self._durable_number > told:
                told = self._durable_number
                stored(told)

    async def drain(self) -> None:
        """Return when everything put so far is durable: on a full disk that may be never. Cancelled, it loses nothing.

        A commit under way is brought to its end even then.
        """
        async with self._lock:
            backoff = backoff_s()
            while self._durable_number < self._put_number:
                batch, number = self._take()
                try:
                    await trio.to_thread.run_sync(self._commit, batch)
                except sqlite3.Error as error:
                    self._batch = batch | self._batch
                    self._arrived.set()
                    self._note_trouble(error)
                    await trio.sleep(next(backoff))
                else:
                    self._durable_number = number
                    self._note_success(len(batch))
                    return

    def _take(self) -> tuple[Batch, int]:
        batch, self._batch = self._batch, {}
        self._arrived = trio.Event()
        return batch, self._put_number

    def _commit(self, batch: Batch) -> None:
        """One transaction; in a worker thread."""
        erased = [(namespace, encode_name(name)) for (namespace, name), write in batch.items() if write.value is None]
        kept = [encode_row(write) for write in batch.values() if write.value is not None]
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            # Erasures first: on a full disk they make the room that the others need.
            connection.executemany(_ERASE, erased)
            connection.executemany(_KEEP, kept)
            connection.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        # Some errors, a full disk among them, may have ended the transaction already.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _note_trouble(self, error: sqlite3.Error) -> None:
        trouble = str(fault_of(self._path, error))
        if trouble != self.trouble:
            logger.warning("nothing is made durable, and nothing acknowledged: %s", trouble)
        self.trouble = trouble

    def _note_success(self, rows: int) -> None:
        self.commits += 1
        self.rows_stored += rows
        if self.trouble is not None:
            logger.info("%s takes rows again", self._path)
        self.trouble = None

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
        self._connection.close()
