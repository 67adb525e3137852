"""The table of conjunctions: a row each, its spans in numpy columns, the rest of what is known of it in lists."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import Final, Protocol

from p2psub.matching.axes import PlacedSpan
from p2psub.matching.buckets import RowNumber
from p2psub.matching.kernel import Slot
from p2psub.matching.store import Rest
from p2psub.model.ids import SubscriptionId

Holder = SubscriptionId | dict[SubscriptionId, int] | None
"""Whose row it is: of one, or of several subscriptions with their ranks."""
DIGEST_BYTES: Final = 16
"""Far too many to be met by chance or on purpose."""
NO_DIGEST: Final = bytes(DIGEST_BYTES)
"""Of a filter that cannot be written, or of a row that is not the first of its filter."""


class Home(Protocol):
    """Where a row is filed."""

    def unfile(self, key: Hashable, row: RowNumber) -> None:
        """Take the row out."""
        ...


class Rows:
    """All rows. Numbers of rows that were given back are given again."""

    __slots__ = ("_digests", "_free", "holders", "homes", "keys", "positions", "ranks", "rests", "slots")

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.positions = array("i")
        """Where in its bucket or segment a row lies."""
        self.homes: list[Home | None] = []
        self.keys: list[Hashable] = []
        self.rests = array("i")
        """What is left to be tried of a row once its home and its spans have let it through."""
        self.holders: list[Holder] = []
        self.ranks = array("q")
        """Of the one subscription that holds the row."""
        self._digests = bytearray()
        self._free: list[RowNumber] = []

    def __len__(self) -> int:
        """How many rows are taken."""
        return len(self.positions) - len(self._free)

    def take(self, spans: Sequence[PlacedSpan], rest: Rest) -> RowNumber:
        """A row with these spans."""
        if not self._free:
            self._grow(len(self.positions) // 8 + 16)
        row = self._free.pop()
        while len(self.slots) < len(spans):
            self.slots.append(Slot(len(self.positions)))
        slots = iter(self.slots)
        for _, axis, low, high in spans:
            slot = next(slots)
            slot.axis_of[row], slot.low_of[row], slot.high_of[row] = axis, low, high
        for slot in slots:
            slot.axis_of[row], slot.low_of[row], slot.high_of[row] = 0, 0.0, 0.0
        self.rests[row] = rest
        return row

    def give_back(self, row: RowNumber) -> None:
        """The row belongs to no subscription."""
        self.homes[row] = self.keys[row] = self.holders[row] = None
        self._free.append(row)

    def digest(self, row: RowNumber) -> bytes:
        """The digest of the filter whose first row it is."""
        return bytes(self._digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES])

    def has_digest(self, row: RowNumber, digest: bytes) -> bool:
        """Whether it is that of the row."""
        return self._digests.startswith(digest, row * DIGEST_BYTES)

    def set_digest(self, row: RowNumber, digest: bytes) -> None:
        """Note it."""
        self._digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES] = digest

    def _grow(self, more: int) -> None:
        """Make room for more rows, many at a time: so it costs each of them little."""
        size = len(self.positions)
        self._free += range(size + more - 1, size - 1, -1)
        nothing = [None] * more
        self.homes += nothing
        self.keys += nothing
        self.holders += nothing
        for numbers in (self.positions, self.rests, self.ranks):
            numbers.frombytes(bytes(more * numbers.itemsize))
        self._digests += bytes(DIGEST_BYTES * more)
        for slot in self.slots:
            slot.grow(size + more)
