"""A node's disk: rows become durable in batches, a little later; a crash keeps a first part of what was under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from p2psub.model.effects import Pack, Persist, StoredPacks, Write
from p2psub.model.step import Body

Namespaces = dict[str, dict[tuple[object, ...], object]]

ERASED_PACKS_MAX: Final = 8
"""Packs that are erased with one batch: the others may still be there after a crash."""
READ_PACKS_MAX: Final = 8
"""Packs in one page."""


class Disk:
    """What is durable, and what was handed over but is not yet. Lives through crashes; `wipe` empties it."""

    __slots__ = ("_doomed", "_last_pack", "_namespaces", "_packs", "_pending", "_rotten", "full")

    def __init__(self) -> None:
        self._namespaces: Namespaces = {}
        self._packs: dict[int, Pack] = {}
        self._last_pack = 0
        self._doomed: list[int] = []
        self._rotten: set[int] = set()
        self._pending: deque[Persist] = deque()
        self.full = False

    def accept(self, batch: Persist) -> None:
        """Take a batch; it is durable only after `settle`."""
        self._pending.append(batch)

    def settle(self, number: int) -> bool:
        """Make every batch up to `number` durable, in order; a full disk makes none, and says so."""
        if self.full:
            return False
        while self._pending and self._pending[0].number <= number:
            self._apply(self._pending.popleft())
        return True

    @property
    def last_pending(self) -> int | None:
        """Number of the last batch that is not durable."""
        return self._pending[-1].number if self._pending else None

    def crash(self, rng: Random) -> None:
        """Lose what was under way from a random batch on: a disk writes in order, and stops anywhere."""
        kept = 0 if self.full else rng.randint(0, len(self._pending))
        for _ in range(kept):
            self._apply(self._pending.popleft())
        self._pending.clear()
        self._doomed.clear()

    def wipe(self) -> None:
        """A new, empty disk."""
        self._namespaces.clear()
        self._packs.clear()
        self._rotten.clear()
        self._last_pack = 0
        self._pending.clear()

    def rot(self, rng: Random) -> None:
        """Damage the body of one pack, if there is any."""
        if self._packs:
            self._rotten.add(rng.choice(list(self._packs)))

    def contents(self) -> Mapping[str, Mapping[tuple[object, ...], object]]:
        """What a process finds when it starts; a copy, so that the node cannot see later writes in it."""
        return {namespace: dict(rows) for namespace, rows in self._namespaces.items()}

    def packs(self) -> StoredPacks:
        """What it finds of the log."""
        return StoredPacks(self._last_pack, {number: pack.head for number, pack in self._packs.items()})

    def read(self, numbers: Sequence[int]) -> list[Body]:
        """A page of bodies, durable or under way; None for one that is not there or has rotted."""
        under_way = {pack.number: pack for batch in self._pending for pack in batch.packs}
        found = self._packs | under_way
        page = numbers[:READ_PACKS_MAX]
        return [(number, found[number].body if self._is_sound(number, found) else None) for number in page]

    def _is_sound(self, number: int, found: Mapping[int, Pack]) -> bool:
        return number in found and number not in self._rotten

    def _apply(self, batch: Persist) -> None:
        for write in batch.writes:
            self._write(write)
        for pack in batch.packs:
            self._packs[pack.number] = pack
            self._last_pack = pack.number
        self._doomed = sorted([*self._doomed, *batch.erased_packs])
        for number in self._doomed[:ERASED_PACKS_MAX]:
            self._packs.pop(number, None)
            self._rotten.discard(number)
        del self._doomed[:ERASED_PACKS_MAX]

    def _write(self, write: Write) -> None:
        rows = self._namespaces.setdefault(write.namespace, {})
        if write.value is None:
            rows.pop(write.name, None)
        else:
            rows[write.name] = write.value
