"""How much the applications of a scenario ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked for, and of what sort; shares are of one."""

    subscriptions: int = 64
    all_share: float = 0.0
    """Of the subscriptions: those that want every event."""
    events_per_second: float = 20.0
    body_bytes: int | None = None
    """Of every event; None draws them up to 64."""
    burst_share: float = 0.2
    """Of what applications publish: many events in one call."""
    burst_events_max: int = 20
    churn_per_second: float = 1.0
    """Subscribe and unsubscribe together."""
    open_share: float = 0.25
    replay_share: float = 0.1
    retained_share: float = 0.1
    retain_us: int = 20_000_000
    at_most_once_share: float = 0.05
    slow_share: float = 0.1
    ordered_share: float = 0.3
    """Of the subscriptions: those that ask for the order of publishers."""
    advertised_per_second: float = 0.0
    """Advertise and withdraw together."""

    priced_share: float = 0.0
    """Of the subscriptions: those that bid; nearly all of them name a deadline."""
    timed_share: float = 0.0
    """Of what applications publish: events with a timeout."""
    limit_ms_min: int = 300
    limit_ms_max: int = 20_000
    """Between which deadlines and timeouts lie, short ones as often as long ones."""

    @property
    def calls_per_second(self) -> float:
        """How often an application publishes, so that all bursts and single events come to the asked rate."""
        burst_events = (2 + self.burst_events_max) / 2
        return self.events_per_second / (1 + self.burst_share * (burst_events - 1))
