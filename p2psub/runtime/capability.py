"""How well a machine would serve as super-node: measured now and then, in numbers that compare.

Nothing is sent for it: goodput and round trips are those of the links that are there. What is measured wavers, so the
super-node lets a candidate keep its rank until another is clearly better (`p2psub/overlay/roster.py`).
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from p2psub.api.status import Capability

if TYPE_CHECKING:
    from p2psub.runtime.tcp_figures import TcpFigures

UNFIT = -1.0
"""The score of a peer that may not lead."""
MEASURE_EVERY_S = 60.0

_GIB = 1 << 30
_DAY_S = 24 * 3600
_PROCESSORS_ENOUGH = 8
_NEAR_US = 50_000
"""A round trip that is worth half a point: within a continent. A guess."""
_RATE_LEAST = 10_000
_RATE_ENOUGH = 100_000_000
"""Bytes per second that are worth nothing, and a point; between them each tenfold is worth a quarter. Guesses."""
_FADING = 0.9
"""What a goodput once seen is still worth a minute later: links that are idle show little, and prove nothing."""


class CapabilityMeter:
    """Measures one machine, again and again."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._bytes_per_s = 0.0

    def measure(self, online_s: float, neighbours: Iterable[TcpFigures] = ()) -> Capability:
        """The machine as it is, and the links it has."""
        figures = list(neighbours)
        rates = [figure.bytes_per_s for figure in figures]
        self._bytes_per_s = max([_FADING * self._bytes_per_s, *map(float, rates)])
        return Capability(
            online=_part(online_s / _DAY_S),
            storage=_part(shutil.disk_usage(self._data).free / (100 * _GIB)),
            memory=_part(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (16 * _GIB)),
            processors=_part(_idle_processors() / _PROCESSORS_ENOUGH),
            goodput=_part(_orders(self._bytes_per_s) / _orders(_RATE_ENOUGH)),
            nearness=_nearness([figure.rtt_us for figure in figures]),
        )


def _idle_processors() -> float:
    """As many as no process waited for in the last minute, on average."""
    return max(0.0, (os.cpu_count() or 1) - os.getloadavg()[0])


def _orders(bytes_per_s: float) -> float:
    return math.log10(max(1.0, bytes_per_s / _RATE_LEAST))


def _nearness(rtts_us: Sequence[int]) -> float:
    return _part(_NEAR_US / (_NEAR_US + statistics.median(rtts_us))) if rtts_us else 0.0


def _part(share: float) -> float:
    return round(min(1.0, max(0.0, share)), 3)
