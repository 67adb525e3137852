"""How long to wait before a disk that took nothing is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_PAUSE_S_MIN: Final = 0.05
_PAUSE_S_MAX: Final = 2.0
"""Guesses: soon after a hiccup, and no burden on a disk that stays full."""


def backoff_s() -> Iterator[float]:
    """Seconds to wait after each failure in a row, without end."""
    pause_s = _PAUSE_S_MIN
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _PAUSE_S_MAX)
