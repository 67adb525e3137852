"""MTEP's choice and its expired events, said once more as the paper says them: every formula for every event."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from p2psub.model.stakes import LinkEstimate, Stake, Waiting


@dataclass
class StraightQueue:
    """A list, walked whole each time. All instants in microseconds, all sizes in KB."""

    link: LinkEstimate
    weight: float
    epsilon: float
    waiting: list[Waiting[int]] = field(default_factory=list)

    def first(self, now: int, postponed_us: float) -> Waiting[int]:
        """The highest priority, told apart to a millionth; the first come of equals (figure 6)."""
        priorities = [round(self.priority(event, now, postponed_us)) for event in self.waiting]
        return self.waiting[priorities.index(max(priorities))]

    def expired(self, now: int) -> list[Waiting[int]]:
        """Those of formula 14, and those of which the last deadline has passed."""
        return [event for event in self.waiting if self.is_over(event, now) or self.is_hopeless(event, now)]

    def is_over(self, event: Waiting[int], now: int) -> bool:
        """Whether its timeout has passed, or every deadline."""
        is_timeout = event.expires_us is not None and now >= event.expires_us
        return is_timeout or (
            bool(event.stakes) and all(stake.due_us is not None and now >= stake.due_us for stake in event.stakes)
        )

    def is_hopeless(self, event: Waiting[int], now: int) -> bool:
        """Whether no chance is above epsilon."""
        return bool(event.stakes) and all(self.success(event, stake, now) <= self.epsilon for stake in event.stakes)

    def priority(self, event: Waiting[int], now: int, postponed_us: float) -> float:
        """Formula 13."""
        earning, penalty = self.earning_and_penalty(event, now)
        earning_later, penalty_later = self.earning_and_penalty(event, now + postponed_us)
        postponed_cost = (earning - penalty) - (earning_later - penalty_later)
        return self.weight * earning + (1.0 - self.weight) * (postponed_cost + penalty)

    def earning_and_penalty(self, event: Waiting[int], now: float) -> tuple[float, float]:
        """Formulas 2 and 3."""
        chances = [(stake, self.success(event, stake, now)) for stake in event.stakes]
        return (
            sum(stake.price * chance for stake, chance in chances),
            sum(stake.penalty * (1.0 - chance) for stake, chance in chances),
        )

    def success(self, event: Waiting[int], stake: Stake, now: float) -> float:
        """Formulas 4 to 7."""
        dues = [due for due in (stake.due_us, event.expires_us) if due is not None]
        if not dues:
            return 1.0
        size = event.size_bytes / 1000
        mean = size * (self.link.mean_us_per_kb + stake.mean_us_per_kb)
        deviation = size * math.sqrt(self.link.deviation_us_per_kb**2 + stake.variance)
        return normal((min(dues) - now - stake.fixed_us - mean) / max(deviation, 100.0))


def normal(x: float) -> float:
    """The standard normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2
