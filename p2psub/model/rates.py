"""Rates of events as admission adds them up, and the demand of a filter (RacsCBPS 3.4).

Publishers name rates as floats, in events per second. Inside they are ints, in millionths: sums are exact in any order,
so whoever holds the same advertisements states the same demand.
"""

from __future__ import annotations

from typing import Final

import msgspec

from p2psub.model.ids import Natural

RATE_ONE: Final = 1_000_000
"""One event per second, in millionths."""
RATE_SUM_MAX: Final = (1 << 63) - 1
"""What a demand can say: 9,000 advertisements of the largest rate there is, each."""


def millionths_of(rate: float) -> int:
    """An advertised rate in millionths; at least one, so that no advertisement counts for nothing."""
    return max(1, round(rate * RATE_ONE))


class Demand(msgspec.Struct, frozen=True, array_like=True):
    """Bounds on the peak rate of the events that a filter takes, in millionths, and on how many publishers they have.

    The peak is reached when every publisher sends as much as it advertised, and only events that the filter takes.
    """

    rate_min: Natural
    rate_max: Natural
    publishers_min: Natural
    publishers_max: Natural
