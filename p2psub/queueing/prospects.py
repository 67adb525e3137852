"""The chance that a stake is handed over in time, and what follows from it: formulas 2 to 13 of MTEP."""

from __future__ import annotations

import math
from typing import Final, TypeVar

from p2psub.queueing.stakes import BYTES_PER_KB, LinkEstimate, Waiting, dues_of

T = TypeVar("T")

ROOT_2: Final = math.sqrt(2.0)
SCALE_US_MIN: Final = 1.0
"""A deviation below a microsecond is one: nothing is told apart more finely, and nothing divides by zero."""
GRAIN: Final = 1000.0
"""Priorities are told apart to a thousandth of a millionth, so that sums in another order tie as they should."""


class Prospect:
    """One stake as a function of the instant: its chance is a normal distribution function of (centre - now)."""

    __slots__ = ("centre_us", "penalty", "price", "scale_us", "stretch")

    def __init__(self, centre_us: float, scale_us: float, price: int, penalty: int) -> None:
        self.centre_us = centre_us
        """When it must leave this queue to have an even chance."""
        self.scale_us = scale_us
        self.stretch = 1.0 / (scale_us * ROOT_2)
        self.price = float(price)
        self.penalty = float(penalty)

    def success(self, now: float) -> float:
        """P(X <= (due - now - fixed - size x mean) / (size x deviation)), by (7)."""
        return 0.5 * math.erfc((now - self.centre_us) * self.stretch)


def prospects_of(waiting: Waiting[T], link: LinkEstimate) -> list[Prospect]:
    """Its stakes, each with the delays of the link and of the way beyond it."""
    kb = waiting.size_bytes / BYTES_PER_KB
    variance = link.deviation_us_per_kb * link.deviation_us_per_kb
    prospects: list[Prospect] = []
    for stake, due_us in zip(waiting.stakes, dues_of(waiting), strict=True):
        if due_us is None:
            centre_us, scale_us = math.inf, SCALE_US_MIN
        else:
            centre_us = due_us - stake.fixed_us - kb * (link.mean_us_per_kb + stake.mean_us_per_kb)
            scale_us = max(SCALE_US_MIN, kb * math.sqrt(variance + stake.variance))
        prospects.append(Prospect(centre_us, scale_us, stake.price, stake.penalty))
    return prospects


def priority(prospects: list[Prospect], now: int, postponed_us: float, weight: float) -> int:
    """Formula 13, in grains.

    weight x EE + (1 - weight) x (PC + EP) is, stake by stake, price x success - (1 - weight) x (price + penalty) x
    success' + (1 - weight) x penalty, where success' is the chance after one more message (9).
    """
    total, rest = 0.0, 1.0 - weight
    for prospect in prospects:
        price, penalty = prospect.price, prospect.penalty
        total += price * prospect.success(now) + rest * (
            penalty - (price + penalty) * prospect.success(now + postponed_us)
        )
    return round(total * GRAIN)


def worth(prospects: list[Prospect], now: int) -> float:
    """What is lost by giving it up: prices that would be earned, and penalties that would not be paid."""
    return sum((prospect.price + prospect.penalty) * prospect.success(now) for prospect in prospects)


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
