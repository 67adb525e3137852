"""The mean size of what passes a queue, by which a postponement is estimated before the next message is chosen."""

from __future__ import annotations

from typing import Final

COUNTED: Final = 256
"""Sizes that the mean remembers, about. A guess."""
MOVED: Final = 0.1
"""The mean that is gone by changes when it is off by so much: with it changes every priority."""


class MeanSize:
    """A mean that forgets slowly, and is told in steps."""

    __slots__ = ("_counted", "_mean", "mean_bytes")

    def __init__(self) -> None:
        self._counted = 0
        self._mean = 0.0
        self.mean_bytes = 0.0
        """The mean to go by."""

    def note(self, size_bytes: int) -> bool:
        """Another message of this size came; returns whether the mean to go by has changed."""
        self._counted = min(self._counted + 1, COUNTED)
        self._mean += (size_bytes - self._mean) / self._counted
        if abs(self._mean - self.mean_bytes) <= MOVED * self.mean_bytes:
            return False
        self.mean_bytes = self._mean
        return True
