"""Time as the cores see it: integer microseconds that are handed in, and the stamps of the records."""

from __future__ import annotations

from typing import NewType

import msgspec

Micros = NewType("Micros", int)
"""Microseconds: an instant of the node's own steady clock, or a span."""

SECOND_US = Micros(1_000_000)


class Stamp(msgspec.Struct, frozen=True, order=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An instant of the hybrid logical clock; their order extends 'happened before'."""

    wall_us: int
    ticks: int
