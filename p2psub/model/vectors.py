"""Vectors of changes: what a node holds of each log, compared and brought together."""

from __future__ import annotations

import hashlib

import msgspec

from p2psub.model.changes import LogId, Vector


def lowest_common(vectors: list[Vector]) -> Vector:
    """What every one of the vectors contains."""
    first, *rest = vectors
    others = [dict(other) for other in rest if other != first]
    if not others:
        return first
    common: list[tuple[LogId, int]] = []
    for log, n in first:
        lowest = min([n, *[other.get(log, 0) for other in others]])
        if lowest:
            common.append((log, lowest))
    return tuple(common)


def vector_of(numbers: dict[LogId, int]) -> Vector:
    """The one way to write down the highest number of each log."""
    return tuple(sorted(numbers.items()))


def vector_digest(vector: Vector) -> bytes:
    """Short hash by which two nodes see that they hold different changes."""
    return hashlib.blake2b(msgspec.msgpack.encode(vector), digest_size=8).digest()
