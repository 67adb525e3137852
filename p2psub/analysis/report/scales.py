"""From values to places on a plot, with ticks a person can read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_STEPS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900)
_STEPS_LONG_S: Final = (1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000)


@dataclass(frozen=True, slots=True)
class Scale:
    """A stretch of values on a stretch of pixels."""

    low: float
    high: float
    first_px: float
    last_px: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies, held inside."""
        low, high, value = (self._straight(number) for number in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.0
        return self.first_px + min(max(share, 0.0), 1.0) * (self.last_px - self.first_px)

    def _straight(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.is_log else value


def count_ticks(high: float, wanted: int = 4) -> list[float]:
    """Round numbers from 0 to `high`."""
    if high <= 0:
        return [0.0]
    raw = high / wanted
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * base for factor in (1, 2, 5, 10) if factor * base >= raw)
    return [step * number for number in range(int(high / step + 1e-9) + 1)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Powers of ten around a stretch."""
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def time_ticks(begin_us: int, end_us: int, wanted: int = 6) -> tuple[list[int], Callable[[int], str]]:
    """Round instants of UTC inside a stretch, and how to write them."""
    span_s = max(end_us - begin_us, 1) / 1e6
    step_s = next((step for step in (*_STEPS_S, *_STEPS_LONG_S) if span_s / step <= wanted), _STEPS_LONG_S[-1])
    step_us = round(step_s * 1e6)
    first = -(-begin_us // step_us)
    ticks = [number * step_us for number in range(first, end_us // step_us + 1)]
    return ticks, lambda at_us: clock_text(at_us, step_s)


def clock_text(at_us: int, step_s: float = 0.001) -> str:
    """An instant of UTC, as fine as the steps are."""
    at = instant(at_us)
    if step_s >= 86400:
        return at.strftime("%d %b %Y")
    if step_s >= 60:
        return at.strftime("%H:%M")
    if step_s >= 1:
        return at.strftime("%H:%M:%S")
    return at.strftime("%H:%M:%S.%f")[:-3]


def instant(at_us: int) -> datetime:
    """An instant of UTC; one that no calendar has is the nearest that it has."""
    at_us = min(max(at_us, 0), 253_402_300_799_000_000)
    return datetime.fromtimestamp(at_us // 1_000_000, tz=UTC).replace(microsecond=at_us % 1_000_000)


def moment_text(at_us: int | None) -> str:
    """An instant of UTC to the millisecond, with its day."""
    return "" if at_us is None else instant(at_us).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def span_text(span_us: float) -> str:
    """How long something took, in a unit that suits it."""
    for unit, size_us in (("h", 3.6e9), ("min", 6e7), ("s", 1e6), ("ms", 1e3)):
        if span_us >= size_us:
            return f"{span_us / size_us:.3g} {unit}"
    return f"{span_us:.0f} µs"
