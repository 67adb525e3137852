"""The axes on which spans lie: one per attribute and kind of value, as long as some row has a span there."""

from __future__ import annotations

from array import array
from typing import Final

from p2psub.matching.filing import Filing
from p2psub.matching.spans import Kind

NO_AXIS: Final = 0
"""Where rows have no span, and every event has position 0."""


class Axes:
    """Numbers axes from 1; `width` is one more than the highest in use so far."""

    __slots__ = ("_axes_max", "_filing", "_free", "_names", "_uses")

    def __init__(self, filing: Filing, axes_max: int) -> None:
        self._filing = filing
        self._axes_max = axes_max
        self._names: list[tuple[str, Kind]] = [("", 0)]
        self._uses = array("q", [1])
        self._free: list[int] = []

    @property
    def width(self) -> int:
        return len(self._names)

    @property
    def is_full(self) -> bool:
        """Whether no new axis can be had."""
        return not self._free and len(self._names) > self._axes_max

    def number_of(self, attribute: str, kind: Kind) -> int:
        """The axis, if it is in use, or NO_AXIS."""
        found = self._filing.attributes.get(attribute)
        return NO_AXIS if found is None else found.axes[kind]

    def take(self, attribute: str, kind: Kind) -> int:
        """The axis, which has one more use now; there must be room for it."""
        axes = self._filing.attribute(attribute).axes
        axis = axes[kind]
        if not axis:
            if self._free:
                axis = self._free.pop()
                self._names[axis] = attribute, kind
            else:
                axis = len(self._names)
                self._names.append((attribute, kind))
                self._uses.append(0)
            axes[kind] = axis
        self._uses[axis] += 1
        return axis

    def drop(self, axes: list[int]) -> None:
        """One use of each less."""
        uses = self._uses
        for axis in axes:
            uses[axis] -= 1
            if not uses[axis]:
                attribute, kind = self._names[axis]
                self._filing.attributes[attribute].axes[kind] = NO_AXIS
                self._filing.tidy(attribute)
                self._free.append(axis)
