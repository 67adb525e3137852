"""A simulated trace: every record with its true time, a digest over all of them, and hooks for schedules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from p2psub.model.records import Kind, Record
from p2psub.traces.runs import happenings

Hook = Callable[[int, Record], None]
Entry = tuple[int, Record]

_DIGEST_EVERY: Final = 1024
"""Records are hashed in batches: one encoder call for many."""


def each_happening(entries: Iterable[Entry]) -> Iterator[Entry]:
    """What entries stand for, event by event, each with the true time of its record."""
    for entry in entries:
        if entry[1].run is None:
            yield entry
        else:
            for happening in happenings(entry[1]):
                yield entry[0], happening


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
        """Call `hook` at every happening of a kind, event by event; it may plan actions, not do them."""
        self._hooks.setdefault(kind, []).append(hook)

    def add(self, now: int, record: Record) -> None:
        """Take a record made at true time `now`."""
        entries = self.entries
        entries.append((now, record))
        if len(entries) - self._digested >= _DIGEST_EVERY:
            self._flush()
        hooks = self._hooks.get(record.kind)
        if hooks is not None:
            for happening in happenings(record):
                for hook in hooks:
                    hook(now, happening)

    def happenings(self, *kinds: Kind, since: int = 0) -> list[Entry]:
        """What the records of some kinds stand for, event by event; `since` as many records."""
        return list(each_happening(entry for entry in self.entries[since:] if entry[1].kind in kinds))

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
