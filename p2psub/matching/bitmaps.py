"""Rows that only their spans tell apart: per axis and bin of positions, a bitmap of the rows that fail there.

An event looks up one bitmap per axis; what none of them rules out is compared exactly. Rows lie in segments, each with
bins of its own, so nothing is ever built anew as a whole: rows are compared one by one until a block of them is full
and gets its bits; a row that ends is marked; a segment that has become sparse moves away a few rows at a time.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Hashable, Iterator
from typing import Final, cast

import numpy as np

from p2psub.matching.buckets import RowNumber
from p2psub.matching.kernel import (
    Floats,
    Numbers,
    RowNumbers,
    Slot,
    Words,
    failing_words,
    quantiles,
    spans_by_axis,
    standing,
)
from p2psub.matching.sizes import WORD, Sizes

_ONES: Final = np.uint64(2**64 - 1)


class _Fails:
    """The bitmaps of one axis: one per bin, and one for events without a position on it."""

    __slots__ = ("edges", "edges_listed", "maps", "words")

    def __init__(self, edges: Floats, words: int) -> None:
        self.edges = edges
        self.edges_listed: list[float] = edges.tolist()
        self.words = np.zeros((len(edges) + 2, words), np.uint64)
        self.maps: list[Words] = list(self.words)

    def grow(self, words: int) -> None:
        grown = np.zeros((len(self.words), words), np.uint64)
        grown[:, : self.words.shape[1]] = self.words
        self.words = grown
        self.maps = list(grown)

    def bins_of(self, positions: Floats) -> list[int]:
        """For each event, the number of its bitmap."""
        if len(positions) == 1:
            position = float(positions[0])
            is_there = position == position  # noqa: PLR0124, NaN is not itself
            return [bisect.bisect_right(self.edges_listed, position) if is_there else len(self.edges_listed) + 1]
        bins = self.edges.searchsorted(positions, side="right")
        bins[np.isnan(positions)] = len(self.edges) + 1
        return cast("list[int]", bins.tolist())


class Segment:
    """Up to so many rows, each with a bit. Bits of rows that ended, or have no bitmaps yet, count as failing."""

    __slots__ = ("_bits", "_failing", "_fails", "_places", "_rows", "_sizes", "_written", "count", "live")

    def __init__(self, places: array[int], sizes: Sizes) -> None:
        self._places = places
        self._sizes = sizes
        self._rows: RowNumbers = np.full(sizes.block, -1, np.int32)
        self._failing: Words = np.full(sizes.block // WORD, _ONES)
        self._bits = self._failing.view(np.uint8).data
        """The same, where one bit is quickly set."""
        self._fails: dict[int, _Fails] = {}
        self._written = 0
        self.count = 0
        self.live = 0

    def is_sparse(self) -> bool:
        """Whether it is worth while to move its rows elsewhere."""
        return self.count >= 4 * self._sizes.block and self.live * 4 < self.count

    def append(self, row: RowNumber, slots: list[Slot]) -> None:
        """Take a row, which has a place in the slots, up."""
        if self.count == len(self._rows):
            self._grow()
        self._rows[self.count] = row
        self._places[row] = self.count
        self.count += 1
        self.live += 1
        if self.count - self._written == self._sizes.block:
            self._write(slots)

    def unfile(self, _key: Hashable, row: RowNumber) -> None:
        """Let a row fail whatever comes."""
        place = self._places[row]
        self._bits[place >> 3] |= 1 << (place & 7)
        self._rows[place] = -1
        self.live -= 1

    def pop(self) -> RowNumber | None:
        """Take out some row that is still wanted."""
        while self.count:
            self.count -= 1
            row = int(self._rows[self.count])
            if row >= 0:
                self.unfile(None, row)
                return row
        return None

    def candidates(self, positions: Floats) -> Iterator[tuple[RowNumbers, Numbers]]:
        """The rows that events may satisfy, and which event each. `positions` has a line per event, by axis."""
        events = len(positions)
        if self._written:
            failing = np.empty((events, len(self._failing)), np.uint64)
            failing[:] = self._failing
            lines = list(failing)
            for axis, fails in self._fails.items():
                maps = fails.maps
                for line, number in zip(lines, fails.bins_of(positions[:, axis]), strict=True):
                    np.bitwise_or(line, maps[number], line)
            bits = standing(failing.ravel())
            found = bits // len(self._rows)
            yield self._rows[bits - found * len(self._rows)], found
        if self.count > self._written:
            fresh = self._rows[self._written : self.count]
            fresh = fresh[fresh >= 0]
            yield np.tile(fresh, events), np.repeat(np.arange(events), len(fresh))

    def _grow(self) -> None:
        block = self._sizes.block
        capacity = min(len(self._rows) + (len(self._rows) // 4 // block + 1) * block, self._sizes.segment)
        rows, failing = self._rows, self._failing
        self._rows = np.full(capacity, -1, np.int32)
        self._rows[: len(rows)] = rows
        self._failing = np.full(capacity // WORD, _ONES)
        self._failing[: len(failing)] = failing
        self._bits = self._failing.view(np.uint8).data
        for fails in self._fails.values():
            fails.grow(capacity // WORD)

    def _write(self, slots: list[Slot]) -> None:
        """Give the rows of a full block their bits."""
        start, stop = self._written, self.count
        words = slice(start // WORD, stop // WORD)
        rows = self._rows[start:stop]
        is_live = rows >= 0
        numbers = np.where(is_live, rows, 0)
        lows, highs, is_asked = spans_by_axis(slots, numbers, is_live)
        for axis in np.flatnonzero(is_asked.any(axis=1)).tolist():
            if axis:
                asked = is_asked[axis]
                fails = self._fails.get(axis) or self._new_fails(axis, lows[axis, asked], highs[axis, asked])
                if fails is not None:
                    fails.words[:, words] = failing_words(fails.edges, lows[axis], highs[axis], asked)
        self._failing[words] = np.packbits(~is_live, bitorder="little").view(np.uint64)
        self._written = stop

    def _new_fails(self, axis: int, lows: Floats, highs: Floats) -> _Fails | None:
        if len(self._fails) == self._sizes.mapped_axes_max or len(lows) < self._sizes.asked_min:
            return None
        edges = quantiles(np.concatenate([lows, np.nextafter(highs, np.inf)]), self._sizes.bins)
        self._fails[axis] = _Fails(edges, len(self._failing))
        return self._fails[axis]


class Bitmaps:
    """All segments. The last one is open."""

    __slots__ = ("_places", "_sizes", "leaving", "segments")

    def __init__(self, places: array[int], sizes: Sizes) -> None:
        self._places = places
        self._sizes = sizes
        self.segments: list[Segment] = []
        self.leaving: Segment | None = None
        """The segment that is moving away."""

    def file(self, row: RowNumber, slots: list[Slot]) -> Segment:
        """File a row, and say where."""
        last = self.segments[-1] if self.segments else None
        if last is None or last is self.leaving or last.count == self._sizes.segment:
            self.segments.append(Segment(self._places, self._sizes))
        self.segments[-1].append(row, slots)
        return self.segments[-1]

    def leave(self, segment: Segment) -> None:
        """Begin to move a sparse segment away, unless another one still moves."""
        if self.leaving is None:
            self.leaving = segment

    def moved(self, slots: list[Slot]) -> Iterator[tuple[RowNumber, Segment]]:
        """Move a few rows out of the segment that is leaving; say where each went."""
        assert self.leaving is not None
        for _ in range(self._sizes.moved):
            row = self.leaving.pop()
            if row is None:
                self.segments.remove(self.leaving)
                self.leaving = next((segment for segment in self.segments if segment.is_sparse()), None)
                return
            yield row, self.file(row, slots)
