"""The store's file: how it is opened, what can be wrong with it, and the count of the processes that opened it."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from p2psub.errors import P2psubError
from p2psub.whole_file import sync_directory, write_whole

LAYOUT: Final = 4
"""Version of the tables; a store with another one is refused. A new file has 0."""

_WAL_BYTES_MAX: Final = 16 << 20
"""The write-ahead log is cut back to this after a burst. A guess."""

INDEX: Final = "CREATE UNIQUE INDEX IF NOT EXISTS row_name ON row (namespace, name)"
_TABLES: Final = f"""
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS row (
        number INTEGER PRIMARY KEY, namespace TEXT, name BLOB, value BLOB, checksum INTEGER
    );
    {INDEX};
    CREATE TABLE IF NOT EXISTS pack_head (number INTEGER PRIMARY KEY AUTOINCREMENT, head BLOB, checksum INTEGER);
    CREATE TABLE IF NOT EXISTS pack_body (number INTEGER PRIMARY KEY, body BLOB, checksum INTEGER);
    CREATE TABLE IF NOT EXISTS damaged (
        number INTEGER, namespace TEXT, name BLOB, value BLOB, checksum INTEGER, why TEXT
    );
    PRAGMA user_version = {LAYOUT};
    COMMIT;
"""

_LOADED_TABLES: Final = ("row", "pack_head")
"""What a start reads, and therefore checks. Bodies are as many as there are events: each is checked when it is read."""

FAULTS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; the second when it quotes damaged text in its complaint."""

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_REFUSED: Final = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
}


class StoreError(P2psubError):
    """The store cannot be opened, or takes no rows; the text says what to do."""


class StoreBusy(StoreError):
    """Another process has it."""


class StoreDamaged(StoreError):
    """What lies on the disk is not a store any more."""


class StoreUnusable(StoreError):
    """The machine does not let us read or write it."""


def open_connection(path: Path, bytes_max: int | None) -> sqlite3.Connection:
    """A connection to the store at `path`, made if it is not there, that no other process can have at the same time."""
    try:
        _create(path)
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    except (OSError, *FAULTS) as error:
        raise fault_of(path, error) from error
    try:
        _prepare(path, connection, bytes_max)
    except BaseException as error:
        connection.close()
        if isinstance(error, FAULTS):
            raise fault_of(path, error) from error
        raise
    return connection


def _create(path: Path) -> None:
    """An empty file with the right mode: SQLite would ask the umask."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        # Not opened here: closing a descriptor would drop the locks that this process may have on the file.
        path.chmod(0o600)
    else:
        sync_directory(path.parent)


def _prepare(path: Path, connection: sqlite3.Connection, bytes_max: int | None) -> None:
    # A damaged row may hold text that is not UTF-8; see decode_row.
    connection.text_factory = bytes
    # Cannot be chosen later: a file without it would have to be written anew before it could shrink.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != b"wal":
        raise StoreUnusable(f"{path} lies on a file system without write-ahead logs; choose a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_MAX}")
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    if layout not in {0, LAYOUT}:
        advice = "use the p2psub that wrote it, or start with a new data directory"
        raise StoreUnusable(f"{path} has layout {layout}, and this p2psub knows {LAYOUT}; {advice}")
    for table in _LOADED_TABLES if layout else ():
        (verdict,) = connection.execute(f"PRAGMA quick_check({table})").fetchone()
        if verdict != b"ok":
            raise _damaged(path, verdict.decode(errors="replace"))
    connection.executescript(_TABLES)
    if _schema_of(connection) != _fresh_schema():
        raise _damaged(path, "its tables are not those of a store")
    if bytes_max is not None:
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA max_page_count = {max(1, bytes_max // page_bytes)}")


def _fresh_schema() -> list[tuple[bytes, bytes]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.text_factory = bytes
        connection.executescript(_TABLES)
        return _schema_of(connection)


def _schema_of(connection: sqlite3.Connection) -> list[tuple[bytes, bytes]]:
    return connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def fault_of(path: Path, error: OSError | sqlite3.Error | UnicodeDecodeError) -> StoreError:
    """What an error means for the operator of the peer."""
    if isinstance(error, OSError):
        return StoreUnusable(f"{path} cannot be used: {error.strerror}; check its directory, its owner and its disk")
    # The low byte is the kind of error; what is above it says more than an operator needs.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _BUSY:
        return StoreBusy(f"{path} is in use by another process; stop that peer, or choose another data directory")
    if code == sqlite3.SQLITE_FULL:
        return StoreUnusable(
            f"disk full: {path} cannot grow; free some space, or raise the store's limit if it has one"
        )
    if code in _REFUSED:
        return StoreUnusable(f"disk error: {path}: {error}; check its directory, its owner and its disk")
    return _damaged(path, str(error))


def _damaged(path: Path, why: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is damaged ({why}); restore it from a backup, or move it away and start again: "
        "the peer then begins without the events it held for others"
    )


def count_incarnation(path: Path, is_new: bool) -> int:
    """The number of this start, durably counted.

    It lies beside the store and not in it: a peer whose damaged store was moved away must not be given numbers that
    event ids of an earlier process carry. Where the count itself is lost, the time in seconds takes its place: the
    count cannot have reached it.
    """
    file = path.with_name(path.name + ".incarnation")
    try:
        incarnation = int(file.read_text(encoding="ascii")) + 1
    except FileNotFoundError:
        incarnation = 1 if is_new else int(time.time())
    except ValueError:
        incarnation = int(time.time())
    except OSError as error:
        raise fault_of(file, error) from error
    try:
        write_whole(file, str(incarnation).encode())
    except OSError as error:
        raise fault_of(file, error) from error
    return incarnation
