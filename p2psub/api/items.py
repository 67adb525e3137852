"""What comes out of a subscription: events, word of missing ones, and better verdicts."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from p2psub.model.content import Event
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.outcomes import SubscribeVerdict
from p2psub.model.reasons import Reason


def _standing() -> Micros:
    return Micros(0)


class Notification(msgspec.Struct, frozen=True):
    """An event that the subscription wanted."""

    event: Event
    born_us: Micros = Micros(0)
    """When it was published, by `clock`."""
    limit_us: int = 0
    """The age up to which it may be handed over: the earlier of deadline and timeout; 0: any."""
    clock: Callable[[], Micros] = _standing

    @property
    def age_s(self) -> float:
        """How long ago it was published, as its way knows it: nobody's wall clock but differences alone."""
        return (self.clock() - self.born_us) / SECOND_US

    @property
    def remaining_s(self) -> float | None:
        """How long it has until its deadline or timeout, at least 0; None if it has neither."""
        return max(0.0, self.limit_us / SECOND_US - self.age_s) if self.limit_us else None


class Gap(msgspec.Struct, frozen=True):
    """`count` events are missing here, and why; nobody knows how many if it is 0."""

    count: int
    reason: Reason


Item = Notification | Gap | SubscribeVerdict
