"""Numbers that were seen before, in constant memory: the sliding window of IPsec (RFC 4303, 3.4.3)."""

from __future__ import annotations

from typing import Final

WINDOW: Final = 1024
"""How far numbers may overtake each other."""

_MASK: Final = (1 << WINDOW) - 1


class ReplayWindow:
    """Takes every number once; what is older than the window counts as seen."""

    __slots__ = ("_highest", "_seen")

    def __init__(self) -> None:
        self._highest = -1
        self._seen = 0

    def takes(self, number: int) -> bool:
        """Whether a number is new; from now on it is not."""
        ahead = number - self._highest
        if ahead > 0:
            self._seen = 1 if ahead >= WINDOW else (self._seen << ahead | 1) & _MASK
            self._highest = number
            return True
        if -ahead >= WINDOW or self._seen >> -ahead & 1:
            return False
        self._seen |= 1 << -ahead
        return True
