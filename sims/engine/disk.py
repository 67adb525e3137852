"""A node's disk: rows become durable in batches, a little later; a crash keeps a first part of what was under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from random import Random

from p2psub.model.effects import Persist, Write

Namespaces = dict[str, dict[tuple[object, ...], object]]


class Disk:
    """What is durable, and what was handed over but is not yet. Lives through crashes; `wipe` empties it."""

    __slots__ = ("_namespaces", "_pending", "full")

    def __init__(self) -> None:
        self._namespaces: Namespaces = {}
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
            self._apply(self._pending.popleft().writes)
        return True

    @property
    def last_pending(self) -> int | None:
        """Number of the last batch that is not durable."""
        return self._pending[-1].number if self._pending else None

    def crash(self, rng: Random) -> None:
        """Lose what was under way from a random batch on: a disk writes in order, and stops anywhere."""
        kept = 0 if self.full else rng.randint(0, len(self._pending))
        for _ in range(kept):
            self._apply(self._pending.popleft().writes)
        self._pending.clear()

    def wipe(self) -> None:
        """A new, empty disk."""
        self._namespaces.clear()
        self._pending.clear()

    def contents(self) -> Mapping[str, Mapping[tuple[object, ...], object]]:
        """What a process finds when it starts; a copy, so that the node cannot see later writes in it."""
        return {namespace: dict(rows) for namespace, rows in self._namespaces.items()}

    def _apply(self, writes: list[Write]) -> None:
        for write in writes:
            rows = self._namespaces.setdefault(write.namespace, {})
            if write.value is None:
                rows.pop(write.name, None)
            else:
                rows[write.name] = write.value
