"""Messages for the queue of one link that stays as long as it is: the paper's subscriptions, and a fast link.

The link takes thirty seconds for a full queue, which is how long the shorter deadlines are: some messages leave in
time, and some expire. At a length of ten it is the line of the paper's experiment (MTEP 3.2), 60 ms for a KB. The ways
beyond it are one to five such lines.
"""

from __future__ import annotations

import math
from random import Random
from typing import Final

from p2psub.model.bids import PRICE_ONE
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import BYTES_PER_KB, LinkEstimate, Stake, Waiting

BIDS: Final = tuple(
    (seconds * SECOND_US, int(price * PRICE_ONE), int(price * PRICE_ONE / 10))
    for seconds, price in ((20, 3.0), (24, 2.5), (30, 2.0), (40, 1.5), (60, 1.0))
)
"""Deadline, price, penalty."""
MEAN_US_PER_KB: Final = 60_000.0
DEVIATION_US_PER_KB: Final = 20_000.0
HOPS_MAX: Final = 5
PROCESSING_US: Final = 2_000
LAST_HOP_US: Final = 20_000
SIZE_KB: Final = (10, 90)
"""From, to; 50 in the mean, as all of the paper's."""
QUEUE_S: Final = 30.0


class QueueLoad:
    """Draws the messages, and how long the link takes for them. The same seed draws the same."""

    def __init__(self, length: int, subscriptions: int, seed: int) -> None:
        self._rng = Random(seed)
        self._subscriptions = subscriptions
        mean_us_per_kb = QUEUE_S * SECOND_US / length / (sum(SIZE_KB) / 2)
        self.link = LinkEstimate(mean_us_per_kb, mean_us_per_kb * DEVIATION_US_PER_KB / MEAN_US_PER_KB)
        self._drawn = 0

    def draw(self, now: Micros) -> Waiting[int]:
        """The next message, which comes now; its item is its number."""
        self._drawn += 1
        size_bytes = self._rng.randint(SIZE_KB[0] * BYTES_PER_KB, SIZE_KB[1] * BYTES_PER_KB)
        stakes = tuple(self._stake(now) for _ in range(self._subscriptions))
        return Waiting(self._drawn, size_bytes, now, stakes=stakes)

    def transfer_us(self, size_bytes: int) -> int:
        """How long the link is busy with it."""
        kb = size_bytes / BYTES_PER_KB
        delay_us = self._rng.gauss(self.link.mean_us_per_kb, self.link.deviation_us_per_kb)
        return max(1, round(kb * max(0.0, delay_us)))

    def _stake(self, now: Micros) -> Stake:
        deadline_us, price, penalty = self._rng.choice(BIDS)
        hops = self._rng.randint(1, HOPS_MAX)
        return Stake(
            Micros(now + deadline_us - self._rng.randrange(SECOND_US)),
            price,
            penalty,
            hops * MEAN_US_PER_KB,
            hops * math.pow(DEVIATION_US_PER_KB, 2),
            hops * PROCESSING_US + LAST_HOP_US,
        )
