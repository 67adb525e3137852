"""The chance that the pairs of a stake are reached in time, and what follows from it: formulas 2 to 13 of MTEP."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, TypeVar

from p2psub.model.stakes import BYTES_PER_KB, LinkEstimate, Waiting

T = TypeVar("T")

ROOT_2: Final = math.sqrt(2.0)
DEVIATION_US_MIN: Final = 100.0
"""A smaller deviation is taken for this: no clock of ours is better, and nothing divides by zero."""

Prospect = tuple[float, float, float, float]
"""One stake as a function of the time that it has waited: centre, stretch, price, penalty.

The chance is a normal distribution function of (centre - waited): at the centre it is even, and the complementary error
function takes (waited - centre) x stretch.
"""


def success(centre_us: float, stretch: float, waited_us: float) -> float:
    """P(X <= (due - now - fixed - size x mean) / (size x deviation)), by (7)."""
    return 0.5 * math.erfc((waited_us - centre_us) * stretch)


def prospects_of(waiting: Waiting[T], link: LinkEstimate, *, by_old_ways: bool = True) -> list[Prospect]:
    """Its stakes, each with the delays of the link and of the way beyond it, or of the link alone if that is old."""
    kb, since_us = waiting.size_bytes / BYTES_PER_KB, waiting.since_us
    own_us, own_variance = link.mean_us_per_kb, link.deviation_us_per_kb * link.deviation_us_per_kb
    prospects: list[Prospect] = []
    for stake, due_us in zip(waiting.stakes, dues_of(waiting), strict=True):
        if due_us is None:
            centre_us, deviation_us = math.inf, DEVIATION_US_MIN
        elif stake.is_way_old and not by_old_ways:
            centre_us, deviation_us = due_us - since_us - kb * own_us, kb * link.deviation_us_per_kb
        else:
            centre_us = due_us - since_us - stake.fixed_us - kb * (own_us + stake.mean_us_per_kb)
            deviation_us = kb * math.sqrt(own_variance + stake.variance)
        deviation_us = max(deviation_us, DEVIATION_US_MIN)
        prospects.append((centre_us, 1.0 / (deviation_us * ROOT_2), float(stake.price), float(stake.penalty)))
    return prospects


def dues_of(waiting: Waiting[T]) -> list[int | None]:
    """Per stake the instant by which its pairs must be handed over: the earlier of deadline and timeout (5)."""
    expires_us = waiting.expires_us
    if expires_us is None:
        return [stake.due_us for stake in waiting.stakes]
    return [expires_us if stake.due_us is None else min(stake.due_us, expires_us) for stake in waiting.stakes]


@lru_cache(maxsize=16)
def quantile(chance: float) -> float:
    """How many deviations from the mean the standard normal distribution function has this value."""
    low, high = -40.0, 40.0
    while True:
        middle = (low + high) / 2.0
        if middle in {low, high}:
            return middle
        if 0.5 * math.erfc(-middle / ROOT_2) > chance:
            high = middle
        else:
            low = middle
