"""Messages for a link's queue, on a line that takes 60 ms for a KB."""

from __future__ import annotations

from typing import Final

from p2psub.model.bids import PRICE_ONE
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import LinkEstimate, Stake, Waiting

LINE: Final = LinkEstimate(60_000.0, 20_000.0)
BEGIN: Final = Micros(1000 * SECOND_US)


def after(seconds: float) -> Micros:
    """An instant, counted from the beginning."""
    return Micros(BEGIN + round(seconds * SECOND_US))


def stake(due_s: float | None, price: float = 1.0, penalty: float = 0.0, hops: int = 0, pairs: int = 1) -> Stake:
    """What is due so long after the beginning, so many lines beyond this one."""
    due_us = None if due_s is None else after(due_s)
    mean, variance = hops * LINE.mean_us_per_kb, hops * LINE.deviation_us_per_kb**2
    return Stake(due_us, round(price * PRICE_ONE), round(penalty * PRICE_ONE), mean, variance, 2_000 * hops, pairs)


def message(
    name: str,
    *stakes: Stake,
    size_kb: float = 50.0,
    since_s: float = 0.0,
    expires_s: float | None = None,
    rank: int = 1,
) -> Waiting[str]:
    """A message of so many KB, which takes three seconds unless told otherwise."""
    expires_us = None if expires_s is None else after(expires_s)
    return Waiting(name, round(size_kb * 1000), after(since_s), expires_us, stakes, rank)
