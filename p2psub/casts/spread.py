"""How a cast walks the cube: which cluster covers which half. Pure arithmetic on prefixes.

A message names the subcube its receiver must cover. The receiver keeps its own part and hands every sibling half inside
that subcube to the neighbour there. In a complete cube this is the rule of Hyper 2.1, "only dimensions above the one it
came by": every label is reached exactly once, with N-1 messages.
"""

from __future__ import annotations

from functools import lru_cache

from p2psub.model.graycode import Prefix, overlaps, owns_label, padded_flip, sibling_half


@lru_cache(maxsize=1 << 12)
def halves(own: Prefix, subcube: Prefix) -> tuple[tuple[int, Prefix], ...]:
    """The dimensions beyond `subcube` and the sibling halves across them, which `own` must hand on."""
    return tuple((d, sibling_half(own, d)) for d in range(len(subcube), len(own)))


@lru_cache(maxsize=1 << 12)
def neighbour(own: Prefix, dimension: int, prefixes: tuple[Prefix, ...]) -> Prefix | None:
    """The prefix that owns our label with bit `dimension` flipped; None if there is none."""
    label = padded_flip(own, dimension)
    return next((prefix for prefix in prefixes if owns_label(prefix, label)), None)


def is_mine(own: Prefix, subcube: Prefix) -> bool:
    """Whether the owner of `own` may take a cast for `subcube` at all."""
    return overlaps(own, subcube)
