"""The axes on which spans lie: one per attribute and kind of value, as long as some row has a span there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from p2psub.matching.buckets import RowNumber
from p2psub.matching.homes import Filing
from p2psub.matching.kernel import Slot
from p2psub.matching.spans import CHECKSUM, Kind

_INFINITY: Final = math.inf
NO_AXIS: Final = 0
"""Where rows have no span, and every event has position 0."""

Axis = tuple[str, Kind]
"""Attribute and kind of value."""
Ends = dict[Axis, tuple[float, float]]
"""The spans of a conjunction: both ends, by axis."""
PlacedSpan = tuple[int, int, float, float]
"""Its breadth, the number of its axis, and both ends."""


def breadth(kind: Kind, low: float, high: float) -> int:
    """How much a span lets through, roughly: a point 0, a range 1, all on one side 2.

    Of texts, which must be tried besides, 3.
    """
    if kind >= CHECKSUM:
        return 3
    return 0 if low == high else 1 if low > -_INFINITY and high < _INFINITY else 2


class Axes:
    """Numbers axes from 1; `width` is one more than the highest in use so far."""

    __slots__ = ("_axes_max", "_filing", "_free", "_names", "_uses")

    def __init__(self, filing: Filing, axes_max: int) -> None:
        self._filing = filing
        self._axes_max = axes_max
        self._names: list[Axis] = [("", 0)]
        self._uses = [1]
        self._free: list[int] = []

    @property
    def width(self) -> int:
        return len(self._names)

    def is_full(self) -> bool:
        """Whether no new axis can be had."""
        return not self._free and len(self._names) > self._axes_max

    def number_of(self, attribute: str, kind: Kind) -> int:
        """The axis, if it is in use, or NO_AXIS."""
        found = self._filing.attributes.get(attribute)
        return NO_AXIS if found is None else found.axes[kind]

    def place(self, ends: Ends) -> list[PlacedSpan]:
        """Spans on their axes, each of which has one more use now; the most telling first. There must be room."""
        attributes, uses = self._filing.attributes, self._uses
        placed: list[PlacedSpan] = []
        for (name, kind), (low, high) in ends.items():
            attribute = attributes.get(name)
            axis = NO_AXIS if attribute is None else attribute.axes[kind]
            if not axis:
                axis = self._new(name, kind)
            uses[axis] += 1
            placed.append((breadth(kind, low, high), axis, low, high))
        placed.sort()
        return placed

    def _new(self, attribute: str, kind: Kind) -> int:
        if self._free:
            axis = self._free.pop()
            self._names[axis] = attribute, kind
        else:
            axis = len(self._names)
            self._names.append((attribute, kind))
            self._uses.append(0)
        self._filing.attribute(attribute).axes[kind] = axis
        return axis

    def drop(self, slots: Sequence[Slot], row: RowNumber) -> None:
        """One use less of each axis on which the row has a span."""
        uses = self._uses
        for slot in slots:
            axis = slot.axis_of[row]
            if axis:
                uses[axis] = left = uses[axis] - 1
                if not left:
                    self._forget(axis)

    def _forget(self, axis: int) -> None:
        attribute, kind = self._names[axis]
        self._filing.attributes[attribute].axes[kind] = NO_AXIS
        self._filing.tidy(attribute)
        self._free.append(axis)
