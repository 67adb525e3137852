"""The inner loops of matching: arrays in, numbers out. A compiled kernel would replace this module and nothing else.

A *row* is a conjunction. Its spans lie in *slots*: the n-th span of every row in the arrays of the n-th slot, as the
number of an axis and two ends. Axis 0 is for rows without an n-th span: all positions on it are 0. A *pair* is a row
that may want an event, and the event's base: where its positions begin in `positions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from p2psub.matching.sizes import WORD

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
RowNumbers = npt.NDArray[np.int32]
Axes = npt.NDArray[np.int16]
Words = npt.NDArray[np.uint64]

_FULL: Final = np.uint64(2**64 - 1)


@dataclass(slots=True)
class Slot:
    """The n-th spans of all rows."""

    axes: Axes
    lows: Floats
    highs: Floats


def narrow_one(slots: Sequence[Slot], positions: Floats, rows: RowNumbers) -> Numbers:
    """Of the rows those inside of whose spans the positions of one event lie. NaN lies inside of none."""
    left: Numbers = rows.astype(np.int64)
    for slot in slots:
        at = positions.take(slot.axes.take(left))
        inside = slot.lows.take(left) <= at
        inside &= at <= slot.highs.take(left)
        left = left.take(inside.nonzero()[0])
        if not left.size:
            break
    return left


def narrow(slots: Sequence[Slot], positions: Floats, rows: RowNumbers, bases: Numbers) -> tuple[Numbers, Numbers]:
    """The same for pairs of rows and events."""
    # numpy would turn other numbers into these at each step; and it takes by number faster than by mask.
    left: Numbers = rows.astype(np.int64)
    for slot in slots:
        at = positions.take(slot.axes.take(left) + bases)
        inside = slot.lows.take(left) <= at
        inside &= at <= slot.highs.take(left)
        kept = inside.nonzero()[0]
        left, bases = left.take(kept), bases.take(kept)
        if not left.size:
            break
    return left, bases


def standing(failing: Words) -> Numbers:
    """The numbers of the bits that are not set, rising."""
    places = np.flatnonzero(failing != _FULL)
    bits = np.unpackbits((~failing[places]).view(np.uint8), bitorder="little")
    at = np.flatnonzero(bits)
    numbers: Numbers = places[at >> 6] * WORD + (at & 63)
    return numbers


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
    finite = np.unique(ends[np.isfinite(ends)])
    if finite.size < bins_max:
        return finite
    return finite[np.linspace(0, finite.size - 1, bins_max + 1)[1:-1].astype(np.int64)]
