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


def statement_of(root: bytes, size: int, parcel: int, is_promised: bool) -> bytes:
    """What is signed: a parcel cannot be counted anew, nor a promise be made of what promised nothing."""
    return root + size.to_bytes(2, "big") + parcel.to_bytes(8, "big") + (b"\x01" if is_promised else b"\x00")


def leaf_of(content: bytes) -> Leaf:
    """Hash of an event's content."""
    hasher = _LEAF.copy()
    hasher.update(content)
    return hasher.digest()


def root_of(size: int, leaves: Mapping[int, bytes], proof: Sequence[bytes]) -> bytes | None:
    """The root over a batch of which these leaves, by place, are known; None if the proof is not exactly enough."""
    if leaves and len(leaves) == size <= BATCH_MAX and not proof and all(0 <= place < size for place in leaves):
        return _whole_root([leaves[place] for place in range(size)])
    levels = _known_levels(size, leaves, proof)
    return None if levels is None else levels[-1][0]


def narrow_proof(
    size: int, leaves: Mapping[int, bytes], proof: Sequence[bytes], places: Sequence[int]
) -> tuple[Leaf, ...] | None:
    """What a node needs that gets only the leaves at these places from us; None if our own proof is not enough."""
    levels = _known_levels(size, leaves, proof)
    if levels is None:
        return None
    needed: list[bytes] = []
    known = set(places)
    for level in levels[:-1]:
        above = {place // _TOGETHER for place in known}
        needed += [level[place] for place in _below(sorted(above), size) if place not in known]
        known, size = above, _length_above(size)
    return tuple(needed)


def _known_levels(size: int, leaves: Mapping[int, bytes], proof: Sequence[bytes]) -> list[dict[int, bytes]] | None:
    """All hashes that follow from these leaves and the proof, level by level; None if it is not exactly enough."""
    if not leaves or not all(0 <= place < size <= BATCH_MAX for place in leaves):
        return None
    levels, needed = [dict(leaves)], list(reversed(proof))
    while size > 1:
        known = levels[-1]
        above = sorted({place // _TOGETHER for place in known})
        for place in _below(above, size):
            if place not in known:
                if not needed:
                    return None
                known[place] = needed.pop()
        levels.append({place: _hash([known[one] for one in _below((place,), size)]) for place in above})
        size = _length_above(size)
    return None if needed else levels


def _length_above(size: int) -> int:
    return -(-size // _TOGETHER)


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
