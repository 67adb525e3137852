"""The mean size of what passes a queue, by which a postponement is estimated before the next message is chosen."""

from __future__ import annotations

from typing import Final

NEWEST_SHARE: Final = 1 / 32
"""How much the newest size counts in the mean. A guess."""
MOVED: Final = 0.1
"""The mean that is gone by changes when it is off by so much: with it changes every priority."""


class MeanSize:
    """A mean that forgets slowly, and is told in steps."""

    __slots__ = ("_mean", "mean_bytes")

    def __init__(self) -> None:
        self._mean = 0.0
        self.mean_bytes = 0.0
        """The mean to go by."""

    def note(self, size_bytes: int) -> bool:
        """Another message of this size came; returns whether the mean to go by has changed."""
        if self._mean:
            self._mean += (size_bytes - self._mean) * NEWEST_SHARE
        else:
            self._mean = float(size_bytes)
        if abs(self._mean - self.mean_bytes) <= MOVED * self.mean_bytes:
            return False
        self.mean_bytes = self._mean
        return True
