"""The identifier circle of 2**160 places: arcs and distances, always clockwise."""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import ID_BYTES, Place

CIRCLE: Final = 1 << (8 * ID_BYTES)


def is_between(low: Place, place: Place, high: Place) -> bool:
    """Whether `place` lies strictly inside the clockwise walk from `low` to `high`; equal ends: the whole circle."""
    if low < high:
        return low < place < high
    return place > low or place < high if low != high else place != low


def is_in_arc(low: Place, place: Place, high: Place) -> bool:
    """Whether `place` lies in the clockwise arc (low, high]; `low == high` is the whole circle."""
    if low < high:
        return low < place <= high
    return place > low or place <= high


def distance(start: Place, end: Place) -> int:
    """Steps clockwise from `start` to `end`."""
    return (int.from_bytes(end, "big") - int.from_bytes(start, "big")) % CIRCLE


def place_after(start: Place, steps: int) -> Place:
    """The place `steps` clockwise of `start`."""
    return Place(((int.from_bytes(start, "big") + steps) % CIRCLE).to_bytes(ID_BYTES, "big"))
