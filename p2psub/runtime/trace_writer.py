"""Writing the trace off the hot path: records are gathered into batches, and each batch becomes one complete file.

Nothing is dropped silently: where the disk does not keep up or the size limit is reached, a record says how many are
missing, and the numbers of the records show which. A trace that ends with a `close` record is complete up to it; one
without was cut.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import trio

from p2psub.errors import ConfigError
from p2psub.model.ids import NodeId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.runtime.backoff import backoff_s
from p2psub.traces.shelf import Shelf

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """How much is gathered, kept and stored."""

    records_max: int = 4096
    """A batch of this many is written at once."""
    age_s_max: float = 1.0
    """A smaller batch is written after this time: what a kill may lose."""
    buffered_max: int = 65_536
    """Records in memory, while the disk is slow or full; about 40 MB. A guess."""
    bytes_max: int = 1 << 30
    """What a node's segments may take on the disk, about four million records; then the oldest go. A guess."""

    def __post_init__(self) -> None:
        if not 1 <= self.records_max <= self.buffered_max:
            raise ConfigError("trace.records_max", "a batch must fit into memory: use 1 up to trace.buffered_max")
        if self.age_s_max <= 0:
            raise ConfigError("trace.age_s_max", "a batch needs some time to fill; use more than 0")
        if self.bytes_max < 1 << 20:
            raise ConfigError("trace.bytes_max", "less than 1 MiB holds no trace worth reading; use more")


class TraceWriter:
    """Writes the records of one process. One `run` flushes; `close` is the orderly end.

    `record(kind, **fields)` makes a record numbered by the node itself, as all others are: the writer has some of its
    own. `trouble` is None, or why nothing can be written at present and what to do.
    """

    __slots__ = (
        "_begun",
        "_config",
        "_full",
        "_is_closed",
        "_lock",
        "_open",
        "_overflowed",
        "_record",
        "_room",
        "_shelf",
        "trouble",
    )

    def __init__(
        self, directory: Path, node: NodeId, record: Callable[..., Record], config: TraceConfig | None = None
    ) -> None:
        self._config = config or TraceConfig()
        self._shelf = Shelf(directory, node, self._config.bytes_max)
        self._record = record
        self._open: list[Record] = []
        self._room = self._config.buffered_max
        self._overflowed = 0
        self._is_closed = False
        self._begun = trio.Event()
        self._full = trio.Event()
        self._lock = trio.Lock()
        self.trouble: str | None = None

    def write(self, record: Record) -> None:
        """Take a record, next in its sequence; it is durable within about a second."""
        if len(self._open) < self._room:
            self._append(record)
        else:
            assert not self._is_closed, "a record after the closing one"
            self._overflowed += 1

    def _append(self, record: Record) -> None:
        batch = self._open
        batch.append(record)
        count = len(batch)
        if count == 1 or count >= self._config.records_max:
            self._wake()

    def _wake(self) -> None:
        if self._open:
            self._begun.set()
        if len(self._open) >= self._config.records_max:
            self._full.set()

    @property
    def buffered(self) -> int:
        """Records that wait in memory for the next batch."""
        return len(self._open)

    async def run(self) -> None:
        """Flush whenever a batch is full or old enough, until cancelled. What is open then waits for `close`."""
        while True:
            await self._begun.wait()
            with trio.move_on_after(self._config.age_s_max):
                await self._full.wait()
            await self.flush()

    async def flush(self) -> None:
        """Return when every record written so far is durable: on a full disk that may be never.

        Cancelled, it loses nothing: a segment under way is finished even then.
        """
        async with self._lock:
            backoff, left = backoff_s(), len(self._open)
            while left > 0:
                batch = self._take()
                try:
                    discarded = await trio.to_thread.run_sync(self._add, batch)
                except OSError as error:
                    self._give_back(batch, error)
                    await trio.sleep(next(backoff))
                else:
                    left -= len(batch)
                    self._note_success(discarded)

    async def close(self) -> None:
        """End the trace with a `close` record, and make it durable: bound it, for on a full disk that may be never."""
        await self.flush()
        self._append(self._record(Kind.CLOSE))
        self._is_closed = True
        self._room = 0
        await self.flush()

    # One segment

    def _take(self) -> list[Record]:
        # No more than one batch, however long the disk was slow: encoding keeps all other threads waiting.
        count = self._config.records_max
        batch, self._open = self._open[:count], self._open[count:]
        self._room -= len(batch)
        self._begun, self._full = trio.Event(), trio.Event()
        self._wake()
        return batch

    def _add(self, batch: list[Record]) -> int:
        """In a worker thread."""
        # Nothing may be discarded once the last record is written, for none could tell of it.
        return self._shelf.add(batch, may_discard=not self._is_closed)

    def _give_back(self, batch: list[Record], error: OSError) -> None:
        self._open = batch + self._open
        self._room += len(batch)
        self._wake()
        trouble = f"the trace cannot be written: {error.strerror}; free some space, or check its directory"
        if trouble != self.trouble:
            logger.warning("%s", trouble)
        self.trouble = trouble

    def _note_success(self, discarded: int) -> None:
        self.trouble = None
        if self._is_closed:
            return
        self._room = self._config.buffered_max
        overflowed, self._overflowed = self._overflowed, 0
        for reason, count in ((Reason.TRACE_OVERFLOW, overflowed), (Reason.TRACE_DISCARDED, discarded)):
            if count:
                self._append(self._record(Kind.DROP, reason=reason, count=count))
