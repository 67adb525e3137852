"""Hashes over a batch of events: how each of them is shown to be one of the batch.

The signature is over the root of a Merkle tree whose leaves are the events' hashes. Level by level four neighbours are
hashed together, at the end of a level as many as there are. A node that has some of the events needs, level by level
and from left to right, the neighbours it cannot compute: that is a proof. With all events it is empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from p2psub.model.seals import BATCH_MAX, LEAF_BYTES, Leaf

# Copied, because that is cheaper than to make them; marked, so that nothing above can pass for an event.
_LEAF: Final = hashlib.blake2b(digest_size=LEAF_BYTES, person=b"p2psub event")
_ABOVE: Final = hashlib.blake2b(digest_size=LEAF_BYTES, person=b"p2psub above")

_TOGETHER: Final = 4
"""Neighbours in one hash: with two there are thrice as many hashes, with eight a proof is half as long again."""


class Tree:
    """All hashes over a batch, for a node that has all of its leaves."""

    __slots__ = ("_levels",)

    def __init__(self, leaves: Sequence[bytes]) -> None:
        assert leaves, "a batch has an event"
        self._levels = [list(leaves)]
        while len(self._levels[-1]) > 1:
            self._levels.append(_above(self._levels[-1]))

    @property
    def root(self) -> bytes:
        return self._levels[-1][0]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(self._levels[0])

    def proof(self, places: Sequence[int]) -> tuple[Leaf, ...]:
        """What a node needs that has the events at these places."""
        needed: list[bytes] = []
        known = set(places)
        for level in self._levels[:-1]:
            above = {place // _TOGETHER for place in known}
            needed += [level[place] for place in _below(sorted(above), len(level)) if place not in known]
            known = above
        return tuple(needed)


def statement_of(root: bytes, size: int, parcel: int | None) -> bytes:
    """What is signed: a promised event cannot be put into a parcel, nor a parcel be counted anew."""
    return root + size.to_bytes(2, "big") + (b"" if parcel is None else parcel.to_bytes(8, "big"))


def leaf_of(content: bytes) -> Leaf:
    """Hash of an event's content."""
    hasher = _LEAF.copy()
    hasher.update(content)
    return hasher.digest()


def root_of(size: int, leaves: Mapping[int, bytes], proof: Sequence[bytes]) -> bytes | None:
    """The root over a batch of which these leaves, by place, are known; None if the proof is not exactly enough."""
    if not leaves or not all(0 <= place < size <= BATCH_MAX for place in leaves):
        return None
    if len(leaves) == size and not proof:
        return _whole_root([leaves[place] for place in range(size)])
    known, needed = dict(leaves), list(reversed(proof))
    while size > 1:
        above = sorted({place // _TOGETHER for place in known})
        for place in _below(above, size):
            if place not in known:
                if not needed:
                    return None
                known[place] = needed.pop()
        known = {place: _hash([known[one] for one in _below((place,), size)]) for place in above}
        size = -(-size // _TOGETHER)
    return None if needed else known[0]


def _whole_root(level: list[bytes]) -> bytes:
    while len(level) > 1:
        level = _above(level)
    return level[0]


def _above(level: list[bytes]) -> list[bytes]:
    return [_hash(level[first : first + _TOGETHER]) for first in range(0, len(level), _TOGETHER)]


def _below(places: Iterable[int], size: int) -> list[int]:
    """The places under some, on a level of this size."""
    return [below for place in places for below in range(place * _TOGETHER, min(size, place * _TOGETHER + _TOGETHER))]


def _hash(neighbours: list[bytes]) -> bytes:
    hasher = _ABOVE.copy()
    hasher.update(b"".join(neighbours))
    return hasher.digest()
