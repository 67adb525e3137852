"""Binary reflected Gray code, and the prefixes of label bits that clusters own (Hyper 2.1).

A prefix is written as a string of '0' and '1', first dimension first; it names the subcube of all labels that begin
with it. The empty prefix is the whole cube.
"""

from __future__ import annotations

from typing import Annotated, Final, NewType

import msgspec

Prefix = NewType("Prefix", Annotated[str, msgspec.Meta(pattern=r"\A[01]{0,64}\Z")])
"""Leading label bits: a subcube."""

WHOLE: Final = Prefix("")

_FLIPPED: Final = {"0": "1", "1": "0"}


def gray_of(position: int) -> int:
    """The code word of a position; neighbouring positions differ in one bit."""
    return position ^ (position >> 1)


def position_of(code: int) -> int:
    """Inverse of `gray_of`."""
    position = 0
    while code:
        position ^= code
        code >>= 1
    return position


def label_of(position: int, dimensions: int) -> Prefix:
    """The label of a position in the complete cube of 2**dimensions."""
    return Prefix(format(gray_of(position), f"0{dimensions}b")) if dimensions else WHOLE


def sibling_half(prefix: Prefix, dimension: int) -> Prefix:
    """The half across `dimension`: the prefix up to there with that bit flipped."""
    return Prefix(prefix[:dimension] + _FLIPPED[prefix[dimension]])


def contains(subcube: Prefix, other: Prefix) -> bool:
    """Whether every label of `other` is a label of `subcube`."""
    return other.startswith(subcube)


def overlaps(one: Prefix, other: Prefix) -> bool:
    """Whether the two subcubes are nested; subcubes that are not nested are disjoint."""
    return one.startswith(other) or other.startswith(one)


def covers(parts: list[Prefix], whole: Prefix) -> bool:
    """Whether the subcubes `parts` together contain every label of `whole`."""
    return not uncovered(parts, whole)


def uncovered(parts: list[Prefix], whole: Prefix) -> list[Prefix]:
    """The largest subcubes of `whole` that hold no label of any of `parts`, in the order of their labels."""
    if any(contains(part, whole) for part in parts):
        return []
    inside = [part for part in parts if contains(whole, part)]
    return [hole for bit in "01" for hole in uncovered(inside, Prefix(whole + bit))] if inside else [whole]


def padded_flip(prefix: Prefix, dimension: int) -> Prefix:
    """The prefix's own label with bit `dimension` flipped, without the zeros that pad it."""
    return Prefix(prefix[:dimension] + _FLIPPED[prefix[dimension]] + prefix[dimension + 1 :])


def owns_label(prefix: Prefix, label: Prefix) -> bool:
    """Whether the subcube `prefix` holds the label that is `label` padded with zeros."""
    return label.startswith(prefix) or (prefix.startswith(label) and "1" not in prefix[len(label) :])
