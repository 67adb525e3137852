"""Parts of an ordered type as a rising row of cuts: inside from the first to just before the second, and so on.

A cut lies just below a value. Where one says "above 5", the cut is below the next value there is: texts and dates have
one after each, and so have numbers, since they are 64-bit floats or whole. So every stretch between two cuts holds a
value, and what no value can satisfy has no cuts at all. A row of odd length goes on without end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

Cuts = tuple[Any, ...]
NOTHING: Final[Cuts] = ()


class CutOrder(NamedTuple):
    """How cuts lie among the values of one type."""

    bottom: Any
    """The cut below everything."""
    at: Callable[[Any], Any]
    """The cut just below a value."""
    above: Callable[[Any], Any]
    """The cut just above a value; None if there is nothing above."""

    def from_(self, value: Any) -> Cuts:
        """The value and all above it."""
        return (self.at(value),)

    def beyond(self, value: Any) -> Cuts:
        """All above the value."""
        above = self.above(value)
        return NOTHING if above is None else (above,)

    def point(self, value: Any) -> Cuts:
        """The value alone."""
        return (self.at(value), *self.beyond(value))

    def points(self, values: Iterable[Any]) -> Cuts:
        """These values, which must rise, alone."""
        cuts: list[Any] = []
        for value in values:
            first, *rest = self.point(value)
            if cuts and cuts[-1] == first:
                cuts[-1:] = rest
            else:
                cuts += [first, *rest]
        return tuple(cuts)

    def outside(self, cuts: Cuts) -> Cuts:
        """All that does not lie inside."""
        return cuts[1:] if cuts and cuts[0] == self.bottom else (self.bottom, *cuts)


def overlap(one: Cuts, other: Cuts) -> Cuts:
    """What lies inside of both."""
    if one == other:
        return one
    if not one or not other:
        return NOTHING
    if len(one) <= 2 and len(other) <= 2:
        return _shared(one, other)
    found: list[Any] = []
    rows = one, other
    at = [0, 0]
    is_inside = False
    while at[0] < len(one) or at[1] < len(other):
        cut = min(row[place] for row, place in zip(rows, at, strict=True) if place < len(row))
        for which, row in enumerate(rows):
            at[which] += at[which] < len(row) and row[at[which]] == cut
        if (at[0] & at[1] & 1) != is_inside:
            is_inside = not is_inside
            found.append(cut)
    return tuple(found)


def _shared(one: Cuts, other: Cuts) -> Cuts:
    """What two single stretches share: most rows are no more than that."""
    low, ends = max(one[0], other[0]), (*one[1:], *other[1:])
    if not ends:
        return (low,)
    high = min(ends)
    return (low, high) if low < high else NOTHING


def is_within(inner: Cuts, outer: Cuts) -> bool:
    """Whether all that lies inside of `inner` lies inside of `outer`."""
    if not inner or inner == outer:
        return True
    if len(outer) == 2 and len(inner) == 2:
        return bool(outer[0] <= inner[0] and inner[1] <= outer[1])
    if not outer:
        return False
    return overlap(inner, outer) == inner


def _next_number(number: float) -> int | float:
    """The least number above a finite one: whole numbers have no end, floats lie between them and beyond."""
    whole = math.floor(number) + 1
    try:
        nearest = float(number)
    except OverflowError:
        return whole
    return min(whole, nearest if nearest > number else math.nextafter(nearest, math.inf))


def _above_number(number: float) -> tuple[float, int] | None:
    if number == math.inf:
        return None
    # There is no least number above -INFINITY: whole numbers go down without end.
    return (number, 1) if number == -math.inf else (_next_number(number), 0)


def after_prefix(prefix: str) -> Cuts:
    """The cut above all texts with this prefix, if there is one."""
    shorter = prefix.rstrip("\U0010ffff")
    return (shorter[:-1] + chr(ord(shorter[-1]) + 1),) if shorter else NOTHING


NUMBERS: Final = CutOrder((-math.inf, 0), lambda number: (number, 0), _above_number)
TEXTS: Final = CutOrder("", lambda text: text, lambda text: text + "\0")
DATES: Final = CutOrder(-math.inf, lambda date: date.us, lambda date: date.us + 1)
