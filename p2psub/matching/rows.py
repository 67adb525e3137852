"""The table of conjunctions: a row each, its spans in numpy columns, the rest of what is known of it in lists."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import Final, Protocol

import numpy as np

from p2psub.matching.buckets import RowNumber
from p2psub.matching.kernel import Slot
from p2psub.matching.store import NO_REST, Rest
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

    def take(self, spans: Sequence[tuple[int, float, float]], rest: Rest) -> RowNumber:
        """A row with these spans: axis, low and high."""
        if self._free:
            row = self._free.pop()
        else:
            row = len(self.positions)
            self.positions.append(0)
            self.ranks.append(0)
            self.homes.append(None)
            self.keys.append(None)
            self.rests.append(NO_REST)
            self.holders.append(None)
            self._digests += NO_DIGEST
            if self.slots and row >= len(self.slots[0].axes):
                self._grow(row)
        while len(self.slots) < len(spans):
            self.slots.append(_empty_slot(max(len(self.positions), len(self.slots[0].axes) if self.slots else 64)))
        for slot, span in zip(self.slots, spans, strict=False):
            slot.axes[row], slot.lows[row], slot.highs[row] = span
        self.rests[row] = rest
        return row

    def give_back(self, row: RowNumber) -> None:
        """The row is nobody's."""
        self.homes[row] = self.keys[row] = self.holders[row] = None
        for slot in self.slots:
            # Where there is no span, every event has position 0.
            slot.axes[row] = slot.lows[row] = slot.highs[row] = 0
        self._free.append(row)

    def digest(self, row: RowNumber) -> bytes:
        """The digest of the filter whose first row it is."""
        return bytes(self._digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES])

    def set_digest(self, row: RowNumber, digest: bytes) -> None:
        """Note it."""
        self._digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES] = digest

    def axes_of(self, row: RowNumber) -> list[int]:
        """The axes on which the row has spans."""
        return [axis for slot in self.slots if (axis := int(slot.axes[row]))]

    def _grow(self, row: RowNumber) -> None:
        capacity = row + row // 8 + 64
        for slot in self.slots:
            # Nobody else holds these arrays; resizing in place spares a copy of large ones.
            slot.axes.resize(capacity, refcheck=False)
            slot.lows.resize(capacity, refcheck=False)
            slot.highs.resize(capacity, refcheck=False)


def _empty_slot(capacity: int) -> Slot:
    return Slot(np.zeros(capacity, np.int16), np.zeros(capacity), np.zeros(capacity))
