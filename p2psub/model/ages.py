"""How old events are. Apart from `Age`, for what is decoded is not compiled, and this is (decision 0025)."""

from __future__ import annotations

from p2psub.model.content import AGE_US_MAX
from p2psub.model.instants import Micros


def older(age_us: Micros, by_us: int) -> Micros:
    """An age so much later."""
    return Micros(min(age_us + by_us, AGE_US_MAX))
