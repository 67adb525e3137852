"""The run's trace: every record with its true time, a digest over all of them, and hooks for schedules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from p2psub.model.records import Kind, Record

Hook = Callable[[int, Record], None]
Entry = tuple[int, Record]

_DIGEST_EVERY: Final = 1024
"""Records are hashed in batches: one encoder call for many."""


class Trace:
    """Records in the order in which they were made. `keep` off keeps the digest alone."""

    __slots__ = ("_buffer", "_digested", "_encoder", "_forgotten", "_hasher", "_hooks", "entries", "keep")

    def __init__(self, *, keep: bool = True) -> None:
        self.entries: list[Entry] = []
        self.keep = keep
        self._digested = 0
        self._forgotten = 0
        self._hooks: dict[Kind, list[Hook]] = {}
        # Sets are sorted on the way, else the digest would depend on PYTHONHASHSEED.
        self._encoder = msgspec.msgpack.Encoder(order="deterministic")
        self._hasher = hashlib.blake2b(digest_size=16)
        self._buffer = bytearray()

    def hook(self, kind: Kind, hook: Hook) -> None:
        """Call `hook` at every record of a kind; it may plan actions, not do them."""
        self._hooks.setdefault(kind, []).append(hook)

    def add(self, now: int, record: Record) -> None:
        """Take a record made at true time `now`."""
        entries = self.entries
        entries.append((now, record))
        if len(entries) - self._digested >= _DIGEST_EVERY:
            self._flush()
        hooks = self._hooks.get(record.kind)
        if hooks is not None:
            for hook in hooks:
                hook(now, record)

    @property
    def count(self) -> int:
        """How many records there were."""
        return self._forgotten + len(self.entries)

    def digest(self) -> str:
        """Hash of everything so far."""
        self._flush()
        return self._hasher.hexdigest()

    def _flush(self) -> None:
        # Each entry by itself, so that the digest does not depend on when it was asked for.
        self._buffer.clear()
        for entry in self.entries[self._digested :]:
            self._encoder.encode_into(entry, self._buffer, -1)
        self._hasher.update(self._buffer)
        if not self.keep:
            self._forgotten += len(self.entries)
            self.entries.clear()
        self._digested = len(self.entries)
