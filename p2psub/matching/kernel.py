"""The inner loops of matching: arrays in, numbers out. A compiled kernel would replace this module and nothing else.

A *row* is a conjunction. Its spans lie in *slots*: the n-th span of every row in the arrays of the n-th slot, as the
number of an axis and two ends. Axis 0 is for rows without an n-th span: all positions on it are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from p2psub.matching.sizes import WORD

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
RowNumbers = npt.NDArray[np.int32]
Axes = npt.NDArray[np.int16]
Words = npt.NDArray[np.uint64]

_FULL: Final = np.uint64(2**64 - 1)


class Slot:
    """The n-th spans of all rows: arrays to compare, and views of them, through which one number is quicker written."""

    __slots__ = ("axes", "axis_of", "high_of", "highs", "low_of", "lows")

    def __init__(self, rows: int) -> None:
        self.axes: Axes = np.zeros(rows, np.int16)
        self.lows: Floats = np.zeros(rows)
        self.highs: Floats = np.zeros(rows)
        self._open()

    def _open(self) -> None:
        self.axis_of = self.axes.data
        self.low_of, self.high_of = (
            cast("memoryview[float]", self.lows.data),
            cast("memoryview[float]", self.highs.data),
        )

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        del self.axis_of, self.low_of, self.high_of
        # No other object holds these arrays; resizing in place spares a copy of large ones.
        for column in (self.axes, self.lows, self.highs):
            column.resize(rows, refcheck=False)
        self._open()


def narrow(slots: Sequence[Slot], positions: Floats, rows: RowNumbers, events: Numbers) -> tuple[Numbers, Numbers]:
    """Of pairs of a row and an event those where the event lies inside of the row's spans; NaN lies inside of none.

    `positions` has a line per event, by axis.
    """
    # numpy would turn other numbers into these at each step; and it takes by number faster than by mask.
    left: Numbers = rows.astype(np.int64)
    width, flat = positions.shape[1], positions.ravel()
    bases = events * width
    for slot in slots:
        at = flat.take(slot.axes.take(left) + bases)
        inside = slot.lows.take(left) <= at
        inside &= at <= slot.highs.take(left)
        kept = inside.nonzero()[0]
        left, bases = left.take(kept), bases.take(kept)
        if not left.size:
            break
    return left, bases // width


def narrow_one(slots: Sequence[Slot], positions: Floats, rows: RowNumbers) -> Numbers:
    """The same for one event, of which `positions` is the line: the rows that are left."""
    left: Numbers = rows.astype(np.int64)
    for slot in slots:
        at = positions.take(slot.axes.take(left))
        inside = slot.lows.take(left) <= at
        inside &= at <= slot.highs.take(left)
        left = left.take(inside.nonzero()[0])
        if not left.size:
            break
    return left


def rising(codes: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The order in which codes rise, and which of them, in that order, are the first of their kind; never of none."""
    # Rows come event by event, so that there is little left to sort; and this way of sorting makes use of that.
    order = codes.argsort(kind="stable")
    sorted_ = codes.take(order)
    is_first = np.empty(len(codes), np.bool_)
    is_first[0] = True
    np.not_equal(sorted_[1:], sorted_[:-1], is_first[1:])
    return order, is_first


def distinct(codes: Numbers) -> tuple[Numbers, Numbers]:
    """Where each distinct code occurs, and for each code which of those it is."""
    order, is_first = rising(codes)
    which = np.empty(len(codes), np.int64)
    which[order] = is_first.cumsum() - 1
    return order[is_first], which


def standing(failing: Words) -> Numbers:
    """The numbers of the bits that are not set, rising."""
    places = np.flatnonzero(failing != _FULL)
    bits = np.unpackbits((~failing[places]).view(np.uint8), bitorder="little")
    at = np.flatnonzero(bits)
    numbers: Numbers = places[at >> 6] * WORD + (at & 63)
    return numbers


def spans_by_axis(
    slots: Sequence[Slot], rows: RowNumbers, is_live: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """The spans of some rows: low ends, high ends, and whether there is one, each with a line per axis."""
    axes = [slot.axes.take(rows) for slot in slots]
    shape = 1 + max(int(of_slot.max()) for of_slot in axes), len(rows)
    lows, highs, is_asked = np.full(shape, -np.inf), np.full(shape, np.inf), np.zeros(shape, np.bool_)
    at = np.arange(len(rows))
    for slot, of_slot in zip(slots, axes, strict=True):
        lows[of_slot, at], highs[of_slot, at] = slot.lows.take(rows), slot.highs.take(rows)
        is_asked[of_slot, at] = is_live
    return lows, highs, is_asked


def bins_of(edges: Floats, ends: Floats) -> Numbers:
    """In which bin each end lies: bin n begins with edge n - 1."""
    return np.searchsorted(edges, ends, side="right")


def failing_words(edges: Floats, lows: Floats, highs: Floats, is_asked: npt.NDArray[np.bool_]) -> Words:
    """Per bin, and last for an event without position, the bits of the rows that fail whatever lies in that bin.

    Rows are a multiple of 64. Where nothing `is_asked`, nothing fails.
    """
    bins = np.arange(len(edges) + 2)[:, None]
    fails = (bins < bins_of(edges, lows)) | (bins > bins_of(edges, highs))
    fails[-1] = True
    fails &= is_asked
    packed = np.packbits(fails, axis=1, bitorder="little")
    return packed.view(np.uint64)


def quantiles(ends: Floats, bins_max: int) -> Floats:
    """Edges of at most so many bins, between which about as many of the ends lie each."""
    finite = np.sort(ends[np.isfinite(ends)])
    # `np.unique` would load numpy's masked arrays, three megabytes.
    finite = finite[np.append(True, finite[1:] != finite[:-1])] if finite.size else finite
    if finite.size < bins_max:
        return finite
    return finite[np.linspace(0, finite.size - 1, bins_max + 1)[1:-1].astype(np.int64)]
