"""What a workload for matchers is: subscriptions, and events that some of them want."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from p2psub.model.content import DeclarationState, Event, Filter, Subscription, Value
from p2psub.model.ids import ClusterId, EventId, NodeId, Place, SubscriptionId

NODE = NodeId(Place(bytes(20)))
CLUSTER = ClusterId("matching")
TOPIC = "offers"


class MatchingWorkload(Protocol):
    """Draws filters and events, always the same ones from the same seed."""

    def filters(self) -> Iterator[Filter]:
        """Filters without end, or as many as there are."""
        ...

    def events(self, count: int) -> Iterator[Event]:
        """Events for the filters drawn so far."""
        ...


def subscription_of(number: int, wanted: Filter) -> Subscription:
    """The subscription of subscriber `number`."""
    return Subscription(SubscriptionId(NODE, 1, number), 1, DeclarationState.ACTIVE, CLUSTER, wanted)


def event_of(number: int, attributes: dict[str, Value]) -> Event:
    """Event `number`."""
    return Event(EventId(NODE, 1, number), TOPIC, attributes)
