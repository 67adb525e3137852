"""Rows filed under a key: one row is held as itself, several as an array that numpy can read in place."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from typing import Union

RowNumber = int
Bucket = Union[RowNumber, "array[int]"]


class Buckets(dict[Hashable, Bucket]):
    """Buckets by key. `positions` says where in its bucket a row lies, for all rows of the engine."""

    __slots__ = ("_positions", "attribute")

    def __init__(self, attribute: str, positions: array[int]) -> None:
        super().__init__()
        self.attribute = attribute
        self._positions = positions

    def size(self, key: Hashable) -> int:
        """How many rows are filed under the key."""
        bucket = self.get(key)
        return 0 if bucket is None else 1 if isinstance(bucket, int) else len(bucket)

    def file(self, key: Hashable, row: RowNumber) -> None:
        """Put a row under a key."""
        bucket = self.get(key)
        if bucket is None:
            self[key] = row
        elif isinstance(bucket, int):
            self._positions[bucket], self._positions[row] = 0, 1
            self[key] = array("i", (bucket, row))
        else:
            self._positions[row] = len(bucket)
            bucket.append(row)

    def unfile(self, key: Hashable, row: RowNumber) -> None:
        """Take a row out, in constant time: the last of its bucket takes its place."""
        bucket = self[key]
        if isinstance(bucket, int):
            del self[key]
            return
        last = bucket.pop()
        if last != row:
            bucket[self._positions[row]] = last
            self._positions[last] = self._positions[row]
        if len(bucket) == 1:
            self[key] = bucket[0]


class PrefixBuckets(Buckets):
    """Buckets by prefix, and how many prefixes there are of each length: only those need to be looked up."""

    __slots__ = ("lengths",)

    def __init__(self, attribute: str, positions: array[int]) -> None:
        super().__init__(attribute, positions)
        self.lengths: dict[int, int] = {}

    def file(self, key: Hashable, row: RowNumber) -> None:
        assert isinstance(key, str)
        if key not in self:
            self.lengths[len(key)] = self.lengths.get(len(key), 0) + 1
        super().file(key, row)

    def unfile(self, key: Hashable, row: RowNumber) -> None:
        assert isinstance(key, str)
        super().unfile(key, row)
        if key not in self:
            self.lengths[len(key)] -= 1
            if not self.lengths[len(key)]:
                del self.lengths[len(key)]


class TriedBuckets(Buckets):
    """Buckets by number of a predicate in the store: the caller that unfiles a row drops the predicate too."""

    __slots__ = ()
