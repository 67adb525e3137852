"""Token buckets: how much one peer may make us do."""

from __future__ import annotations


class TokenBucket:
    """Fills with `rate` tokens a second up to `burst`; a taker of more than there is owes time."""

    __slots__ = ("_burst", "_filled_s", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, now_s: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._filled_s = now_s

    def take(self, count: float, now_s: float) -> float:
        """Take tokens; returns the seconds to wait before the next taking."""
        self._tokens = min(self._burst, self._tokens + (now_s - self._filled_s) * self._rate) - count
        self._filled_s = now_s
        return max(0.0, -self._tokens / self._rate)
