"""How old events were when they were consumed: how many were of which age, so that it takes little memory.

Every age is rounded by less than half a percent, so there are a few thousand different ones at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SIGNIFICANT_BITS: Final = 8


def rounded_ns(age_ns: int) -> int:
    """The nearest age that has no more significant bits."""
    surplus_bits = max(0, age_ns.bit_length() - _SIGNIFICANT_BITS)
    half = (1 << surplus_bits) >> 1
    return (age_ns + half) >> surplus_bits << surplus_bits


def percentile_ms(ages_ns: Mapping[int, int], percent: int) -> float:
    """The age that so many of 100 events do not exceed; 0 if no event came."""
    rank, passed = (sum(ages_ns.values()) - 1) * percent // 100, 0
    for age_ns in sorted(ages_ns):
        passed += ages_ns[age_ns]
        if passed > rank:
            return round(age_ns / 1e6, 2)
    return 0.0
