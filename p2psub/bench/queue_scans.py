"""What a queue without bounds does for each message that leaves: all formulas of MTEP, for all that wait.

Once in Python and once in numpy. Both prepare what does not depend on the time when a message comes, and go through
formulas 2 to 14 in the order of the paper's figure 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate, Waiting
from p2psub.queueing.link_queue import EPSILON, WEIGHT
from p2psub.queueing.prospects import prospects_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a scan found, by the numbers of the messages."""

    first: int | None
    expired: set[int]


class StraightScan:
    """Message by message, stake by stake."""

    def __init__(self, link: LinkEstimate) -> None:
        self._link = link
        self._rows: dict[int, list[tuple[float, float, float, float]]] = {}

    def push(self, waiting: Waiting[int]) -> None:
        since_us = waiting.since_us
        self._rows[waiting.item] = [
            (centre_us + since_us, stretch, price, penalty)
            for centre_us, stretch, price, penalty in prospects_of(waiting, self._link)
        ]

    def remove(self, number: int) -> None:
        del self._rows[number]

    def choose(self, now: Micros, postponed_us: float) -> Chosen:
        erfc, later = math.erfc, now + postponed_us
        first, highest = None, -1
        expired: set[int] = set()
        for number, row in self._rows.items():
            earning = cost = earning_later = cost_later = likeliest = 0.0
            for centre_us, stretch, price, penalty in row:
                chance = 0.5 * erfc((now - centre_us) * stretch)
                chance_later = 0.5 * erfc((later - centre_us) * stretch)
                earning += price * chance
                cost += penalty * (1.0 - chance)
                earning_later += price * chance_later
                cost_later += penalty * (1.0 - chance_later)
                if chance > likeliest:
                    likeliest = chance
            if likeliest <= EPSILON:
                expired.add(number)
                continue
            postponed = (earning - cost) - (earning_later - cost_later)
            priority = round(WEIGHT * earning + (1.0 - WEIGHT) * (postponed + cost))
            if priority > highest:
                first, highest = number, priority
        return Chosen(first, expired)


class VectorisedScan:
    """All stakes of all messages as columns of numpy: a row for each message, which the next to come takes over."""

    def __init__(self, link: LinkEstimate, length: int, subscriptions: int) -> None:
        self._link = link
        shape = (length, subscriptions)
        self._numbers = np.zeros(length, np.int64)
        self._centre_us, self._stretch, self._price, self._penalty = (np.zeros(shape) for _ in range(4))
        self._free = list(range(length))
        self._row_of: dict[int, int] = {}

    def push(self, waiting: Waiting[int]) -> None:
        row = self._free.pop()
        self._row_of[waiting.item] = row
        self._numbers[row] = waiting.item
        columns = np.array(prospects_of(waiting, self._link)).T
        self._centre_us[row], self._stretch[row], self._price[row], self._penalty[row] = columns
        self._centre_us[row] += waiting.since_us

    def remove(self, number: int) -> None:
        self._free.append(self._row_of.pop(number))

    def choose(self, now: Micros, postponed_us: float) -> Chosen:
        """All rows must be taken."""
        argument = (now - self._centre_us) * self._stretch
        chance = _chance(argument)
        chance_later = _chance(argument + postponed_us * self._stretch)
        earning = (self._price * chance).sum(axis=1)
        cost = (self._penalty * (1.0 - chance)).sum(axis=1)
        earning_later = (self._price * chance_later).sum(axis=1)
        cost_later = (self._penalty * (1.0 - chance_later)).sum(axis=1)
        postponed = (earning - cost) - (earning_later - cost_later)
        priority = WEIGHT * earning + (1.0 - WEIGHT) * (postponed + cost)
        is_expired = chance.max(axis=1) <= EPSILON
        priority[is_expired] = -1.0
        expired = set(self._numbers[is_expired].tolist())
        first = None if is_expired.all() else int(self._numbers[int(priority.argmax())])
        return Chosen(first, expired)


def _chance(argument: Floats) -> Floats:
    """Half the complementary error function, by Abramowitz and Stegun 7.1.26: right to 1.5e-7, and quick."""
    size = np.abs(argument)
    step = 1.0 / (1.0 + 0.3275911 * size)
    polynomial = step * (
        0.254829592 + step * (-0.284496736 + step * (1.421413741 + step * (-1.453152027 + step * 1.061405429)))
    )
    tail = 0.5 * polynomial * np.exp(-size * size)
    chance: Floats = np.where(argument > 0.0, tail, 1.0 - tail)
    return chance
