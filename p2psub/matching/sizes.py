"""The sizes of the match index, apart from how it works. Defaults are measured on the workloads of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WORD: Final = 64
"""Bits of a word of a bitmap."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the cost model compares, and how large the pieces are in which the index grows."""

    linear_max: int = 100
    """So many subscriptions are simply tried one by one: an event alone costs the index as much as trying 70 to 250."""
    hashed_max: int = 512
    """Rows under one constant. Comparing so many costs about as much as an event does otherwise."""
    present_max: int = 16
    """Rows under one axis: every event that has the attribute is compared with them."""
    members_max: int = 8
    """Members of an IN that is filed under each of them, with a row each."""
    slots: int = 4
    """Spans of a row; what it asks beyond that is tried one by one. A guess: filters rarely have more ranges."""
    hashed_slots: int = 3
    """The same for rows that are filed under a constant, of which fewer are met."""
    axes_max: int = 512
    """Axes on which events have positions; spans on further ones are tried one by one. Guards against floods."""
    batch: int = 256
    """Events that are compared at once: enough to spread the cost of a call, few enough to stay in the cache."""
    block: int = 256
    """Rows that get their bits at once; until then they are compared one by one. A multiple of 64."""
    segment: int = 65_536
    """Rows of a segment, a multiple of a block. Larger: fewer and longer bitmaps, and more to move if it empties."""
    bins: int = 16
    """Bins of an axis: more rule out more, but each takes a bit per row and axis."""
    mapped_axes_max: int = 32
    """Axes of a segment that have bitmaps; on others its rows are compared exactly."""
    asked_min: int = 4
    """Rows of a block that must have a span on an axis to make bitmaps of it worth while."""
    moved: int = 16
    """Rows that leave a sparse segment with each change."""

    def __post_init__(self) -> None:
        assert self.block % WORD == 0
        assert self.segment % self.block == 0


DEFAULTS: Final = Sizes()
