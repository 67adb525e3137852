"""What an owner asks of its match index, however it is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from p2psub.model.content import Event, Subscription
from p2psub.model.ids import SubscriptionId

Wanted = dict[SubscriptionId, list[int]]
"""By subscription, the indexes of the events it wants."""


class Matcher(Protocol):
    """Subscriptions that can be asked who wants an event; what filters mean is in `predicates`."""

    def add(self, subscription: Subscription) -> None:
        """Take a subscription up, in place of one with the same id. Its state is not looked at."""
        ...

    def remove(self, subscription: SubscriptionId) -> None:
        """Forget a subscription; forgetting an unknown one is harmless."""
        ...

    def match(self, event: Event) -> list[SubscriptionId]:
        """Who wants the event, in the order of first adding."""
        ...

    def match_batch(self, events: Sequence[Event]) -> list[list[SubscriptionId]]:
        """Who wants each of the events."""
        ...

    def match_many(self, events: Sequence[Event], indexes: Sequence[int], wanted: Wanted) -> None:
        """Add to `wanted` who wants which of the events at these indexes."""
        ...

    def __len__(self) -> int:
        """How many subscriptions are held."""
        ...
