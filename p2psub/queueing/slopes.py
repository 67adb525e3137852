"""The priority of one message as a function of time, and what it cannot exceed until some instant.

Formula 13 is a sum over the stakes of a message. With S(t) for the chance at t, and L for a postponement, weight x EE +
(1 - weight) x (PC + EP) is, stake by stake,

    price x S(t) - (1 - weight) x (price + penalty) x S(t + L) + (1 - weight) x penalty.

S falls from one to zero. So each summand is level while both chances are one; after that it rises at most once, and
then falls: the ratio of the two densities is monotone. Its largest value in a span of time is thus at one end of the
span, or at its peak; and the sum of these is a bound of the priority.
"""

from __future__ import annotations

import math
from typing import Final

from p2psub.queueing.prospects import Prospect

SATURATED: Final = 6.0
"""Beyond this the complementary error function is 0 or 2 to the last bit."""
SLACK: Final = 1e-13
"""Of all that is added up: more than the last bits of a sum can be off by."""

Slope = tuple[float, float, float, float, float, float]
"""One summand: centre, stretch, half the factors of S(t) and of S(t + L), until when it is level, when it peaks."""


class Slopes:
    """The summands of one message, for one postponement and one weight."""

    __slots__ = ("_constant", "_falls_from_us", "_postponed_us", "_slack", "_slopes")

    def __init__(self, prospects: list[Prospect], postponed_us: float, weight: float) -> None:
        rest = 1.0 - weight
        constant = total = 0.0
        falls_from_us = -math.inf
        slopes: list[Slope] = []
        for centre_us, stretch, price, penalty in prospects:
            constant += penalty
            total += price + penalty
            after = rest * (price + penalty)
            level_until_us = centre_us - postponed_us - SATURATED / stretch
            if after <= 0.0:
                peak_us = -math.inf
            elif price > 0.0 and postponed_us > 0.0:
                # Where both densities, times their factors, are equal.
                peak_us = (
                    centre_us - postponed_us / 2.0 + math.log(after / price) / (2.0 * stretch * stretch * postponed_us)
                )
            else:
                peak_us = math.inf if after > price else -math.inf
            if peak_us > level_until_us and peak_us > falls_from_us:
                falls_from_us = peak_us
            slopes.append((centre_us, stretch, price * 0.5, after * 0.5, level_until_us, peak_us))
        self._slopes = slopes
        self._postponed_us = postponed_us
        self._constant = rest * constant
        self._slack = total * SLACK
        self._falls_from_us = falls_from_us

    def only_falls_from(self, waited_us: int) -> bool:
        """Whether it never rises again: then a bound holds for good."""
        return waited_us >= self._falls_from_us

    def look(self, now: int, until: int) -> tuple[int, int]:
        """The priority now, and what it does not exceed until then; both instants as times that it has waited.

        Priorities are told apart to a millionth, as prices are: so equal sums tie, in whatever order they were added.
        """
        erfc, postponed_us = math.erfc, self._postponed_us
        later = now + postponed_us
        total, slack, rise = self._constant, 0.0, 0.0
        for centre_us, stretch, here, after, level_until_us, peak_us in self._slopes:
            if now <= level_until_us:
                summand = 2.0 * (here - after)
                is_rising = peak_us > level_until_us and until > level_until_us
            else:
                summand = here * erfc((now - centre_us) * stretch) - after * erfc((later - centre_us) * stretch)
                slack = self._slack
                is_rising = peak_us > now
            total += summand
            if is_rising:
                highest_at = min(until, peak_us)
                rise += (
                    here * erfc((highest_at - centre_us) * stretch)
                    - after * erfc((highest_at + postponed_us - centre_us) * stretch)
                    - summand
                )
                slack = self._slack
        return round(total), round(total + rise + slack)
