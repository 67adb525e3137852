"""The tables of a store's file: rows by name, packs by number, and what was damaged. Every call blocks.

Rows are few, and all in memory while a peer runs. Packs are many: heads and bodies have a table each, so that a start
reads no body.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from p2psub.model.effects import StoredPacks, Write
from p2psub.model.step import Body
from p2psub.node.core import Disk
from p2psub.runtime.namespaces import Name, RowDamaged, decode_row, encode_name, encode_row
from p2psub.runtime.packs import PackCodec, PackRow, PackRows
from p2psub.runtime.store_file import FAULTS, INDEX, fault_of

logger = logging.getLogger(__name__)

_LOAD: Final = "SELECT number, namespace, name, value, checksum FROM row ORDER BY number"
_ERASE: Final = "DELETE FROM row WHERE namespace = ? AND name = ?"
_KEEP: Final = """
    INSERT INTO row (namespace, name, value, checksum) VALUES (?, ?, ?, ?)
    ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value, checksum = excluded.checksum
"""
_LOAD_HEADS: Final = "SELECT number, head, checksum FROM pack_head ORDER BY number"
_LAST_PACK: Final = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'pack_head'"
_READ_BODY: Final = "SELECT number, body, checksum FROM pack_body WHERE number = ?"
# A commit that failed may have reached the disk all the same: it must be possible to repeat it.
_KEEP_HEADS: Final = "INSERT OR REPLACE INTO pack_head (number, head, checksum) VALUES "
_KEEP_BODIES: Final = "INSERT OR REPLACE INTO pack_body (number, body, checksum) VALUES "
_ERASE_PACK: Final = ("DELETE FROM pack_head WHERE number = ?", "DELETE FROM pack_body WHERE number = ?")

_KEPT_AT_ONCE: Final = 32
"""Rows of packs in one statement: SQLite has less to do than for a statement each, and after every statement the thread
waits for the lock of the interpreter."""
_KEPT_BYTES: Final = 64 << 10
"""A statement ends with the row that reaches this size: SQLite copies what it is given, and keeps it for a while."""
READ_BYTES_MAX: Final = 256 << 10
"""A page of bodies ends with the one that reaches this size: about a millisecond in which nothing is written."""
READ_PACKS_MAX: Final = 256
ERASED_PACKS_MAX: Final = 1024
"""In one commit."""
_ERASED_PAGES_MAX: Final = 1024
"""Pages of the file that one commit frees, or a few more: 4 MB of bodies take some 20 ms."""
_ERASED_AT_ONCE: Final = 32
_ERASED_UNSEEN_MAX: Final = 256
"""Packs that are erased, a few at a time, before the file's free pages are looked at. A look waits twice for the lock
of the interpreter, which in a busy process may take as long as the disk."""
_FREE_PAGES_KEPT: Final = 4096
"""Free pages that stay in the file: the next packs need them. 16 MB, a guess."""
_SHRINK_PAGES: Final = 256
"""Pages by which the file shrinks at once."""


class DamagedRow(msgspec.Struct, frozen=True):
    """A row, or the head of a pack, that was set aside at the start, and why."""

    number: int
    namespace: str
    why: str


@dataclass(slots=True)
class Transaction:
    """What one commit writes: of each row what was written last, new packs, and packs to erase, oldest first."""

    rows: dict[tuple[str, Name], Write] = field(default_factory=dict)
    packs: dict[int, PackRows] = field(default_factory=dict)
    erased_packs: list[int] = field(default_factory=list)


class StoreTables:
    """What lies in the file. One call at a time, from whichever thread."""

    __slots__ = ("_codec", "_connection", "_erased_unseen", "_path", "has_slack")

    def __init__(self, path: Path, connection: sqlite3.Connection, codec: PackCodec) -> None:
        self._path = path
        self._connection = connection
        self._codec = codec
        self._erased_unseen = 0
        self.has_slack = False
        """Whether the file is known to have free pages to give back."""

    # Loading

    def load_rows(self) -> tuple[Disk, list[DamagedRow]]:
        """All rows, and those that were damaged, which are set aside."""
        namespaces: dict[str, dict[Name, object]] = {}
        damaged: list[DamagedRow] = []
        with self._explained():
            for number, *row in self._connection.execute(_LOAD):
                try:
                    namespace, name, value = decode_row(tuple(row))
                except RowDamaged as fault:
                    damaged.append(DamagedRow(number, repr(row[0]), str(fault)))
                else:
                    namespaces.setdefault(namespace, {})[name] = value
        if damaged or not self._is_index_sound():
            self._set_aside_rows(damaged)
        return namespaces, damaged

    def load_packs(self) -> tuple[StoredPacks, list[DamagedRow]]:
        """The heads of all packs, and those that were damaged, which are set aside; their bodies are erased."""
        heads: dict[int, object] = {}
        damaged: list[DamagedRow] = []
        with self._explained():
            for row in self._connection.execute(_LOAD_HEADS):
                try:
                    heads[row[0]] = self._codec.head_of(row)
                except RowDamaged as fault:
                    damaged.append(DamagedRow(row[0], "pack", str(fault)))
            (last,) = self._connection.execute(_LAST_PACK).fetchone()
        if damaged:
            self._set_aside_heads(damaged)
        # Its row has no checksum.
        return StoredPacks(max([*heads, last if isinstance(last, int) else 0]), heads), damaged

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            raise fault_of(self._path, error) from error

    def _is_index_sound(self) -> bool:
        try:
            (verdict,) = self._connection.execute("PRAGMA integrity_check(row)").fetchone()
        except sqlite3.Error:
            return False
        return bool(verdict == b"ok")

    def _set_aside_rows(self, damaged: list[DamagedRow]) -> None:
        with self._mending(damaged):
            # It may still know a damaged row by its old name: it is made anew from the rows that are left.
            self._connection.execute("DROP INDEX row_name")
            for row in damaged:
                place = (row.why, row.number)
                self._connection.execute("INSERT INTO damaged SELECT *, ? FROM row WHERE number = ?", place)
                self._connection.execute("DELETE FROM row WHERE number = ?", (row.number,))
            self._connection.execute(INDEX)

    def _set_aside_heads(self, damaged: list[DamagedRow]) -> None:
        aside = "INSERT INTO damaged SELECT number, 'pack', NULL, head, checksum, ? FROM pack_head WHERE number = ?"
        with self._mending(damaged):
            for row in damaged:
                self._connection.execute(aside, (row.why, row.number))
                self._connection.execute("DELETE FROM pack_head WHERE number = ?", (row.number,))
            # Nobody knows of them any more; a damaged head may have another number than its body.
            self._connection.execute("DELETE FROM pack_body WHERE number NOT IN (SELECT number FROM pack_head)")

    @contextmanager
    def _mending(self, damaged: list[DamagedRow]) -> Iterator[None]:
        logger.warning("%s was damaged; %d rows are set aside", self._path, len(damaged))
        try:
            with self._transaction():
                yield
        except sqlite3.Error as error:
            logger.warning("the damage stays as it is: %s", error)

    # Writing

    def commit(self, content: Transaction) -> list[int]:
        """Make it durable together, and return the packs that are still to be erased: each commit erases a few."""
        erased = [(name, encode_name(row)) for (name, row), write in content.rows.items() if write.value is None]
        kept = [encode_row(write) for write in content.rows.values() if write.value is not None]
        packs = content.packs.values()
        with self._transaction():
            # Erasures first: on a full disk they make the room that the others need.
            left = self._erase_packs(content.erased_packs)
            if content.rows:
                self._connection.executemany(_ERASE, erased)
                self._connection.executemany(_KEEP, kept)
            if packs:
                self._keep(_KEEP_HEADS, (head for head, _ in packs))
                self._keep(_KEEP_BODIES, (body for _, body in packs))
        return left

    def _keep(self, statement: str, rows: Iterable[PackRow]) -> None:
        for few in _few_at_once(rows):
            places = ", ".join(["(?, ?, ?)"] * len(few))
            self._connection.execute(statement + places, list(chain.from_iterable(few)))

    def _erase_packs(self, numbers: list[int]) -> list[int]:
        are_many = len(numbers) > _ERASED_AT_ONCE
        free_max = self._free_pages() + _ERASED_PAGES_MAX if are_many else 0
        done = 0
        while done < len(numbers) and (done == 0 or self._free_pages() < free_max):
            few = [(number,) for number in numbers[done : done + _ERASED_AT_ONCE]]
            for statement in _ERASE_PACK:
                self._connection.executemany(statement, few)
            done += len(few)
        self._erased_unseen += done
        if are_many or self._erased_unseen >= _ERASED_UNSEEN_MAX:
            self._erased_unseen = 0
            self.has_slack = self._free_pages() > _FREE_PAGES_KEPT
        return numbers[done:]

    def shrink(self) -> None:
        """Give some free pages back to the disk."""
        self.has_slack = False
        free = self._free_pages()
        # As a script: `execute` would stop after the first page.
        self._connection.executescript(f"PRAGMA incremental_vacuum({_SHRINK_PAGES})")
        left = self._free_pages()
        if left <= _FREE_PAGES_KEPT:
            # Only a checkpoint makes the file shorter.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.has_slack = _FREE_PAGES_KEPT < left < free

    def _free_pages(self) -> int:
        (count,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        return int(count)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # Some errors, a full disk among them, may have ended the transaction already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    # Reading

    def read(self, numbers: Sequence[int], waiting: Mapping[int, PackRow], let_go: Container[int] = ()) -> list[Body]:
        """A page of bodies: the first one, and others until it is full; None for one that cannot be read.

        Bodies that wait to be written are taken from there, and those that were let go are not looked for.
        """
        page: list[Body] = []
        read_bytes = 0
        for number in numbers[:READ_PACKS_MAX]:
            size, body = (0, None) if number in let_go else self._read_body(number, waiting)
            page.append((number, body))
            read_bytes += size
            if read_bytes >= READ_BYTES_MAX:
                break
        return page

    def _read_body(self, number: int, waiting: Mapping[int, PackRow]) -> tuple[int, object | None]:
        """Its size and itself."""
        try:
            row = waiting.get(number) or self._connection.execute(_READ_BODY, (number,)).fetchone()
            if row is None:
                raise RowDamaged("it is not there")
            return len(row[1]) if isinstance(row[1], bytes) else 0, self._codec.body_of(row)
        except (RowDamaged, *FAULTS) as fault:
            logger.warning("the body of pack %d in %s cannot be read: %s", number, self._path, fault)
            return 0, None

    def close(self) -> None:
        """Give the file free for the next process."""
        self._connection.close()


def _few_at_once(rows: Iterable[PackRow]) -> Iterator[list[PackRow]]:
    """The rows of one statement after the other."""
    few: list[PackRow] = []
    size = 0
    for row in rows:
        few.append(row)
        size += len(row[1])
        if len(few) == _KEPT_AT_ONCE or size >= _KEPT_BYTES:
            yield few
            few, size = [], 0
    if few:
        yield few
