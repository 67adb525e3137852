"""How much the applications of a scenario ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked for, and of what sort; shares are of one."""

    subscriptions: int = 64
    events_per_second: float = 20.0
    churn_per_second: float = 1.0
    """Subscribe and unsubscribe together."""
    open_share: float = 0.25
    replay_share: float = 0.1
    retained_share: float = 0.1
    retain_us: int = 20_000_000
    at_most_once_share: float = 0.05
    slow_share: float = 0.1
    advertised_per_second: float = 0.0
    """Advertise and withdraw together."""
