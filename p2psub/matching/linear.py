"""The plainest matcher: every filter is tried on every event."""

from __future__ import annotations

from collections.abc import Sequence

from p2psub.matching.matcher import Wanted
from p2psub.matching.predicates import CompiledFilter, compile_filter, content_of, satisfies
from p2psub.model.content import Event, Filter, Subscription
from p2psub.model.ids import SubscriptionId


def matches(wanted: Filter, event: Event) -> bool:
    """Whether the filter takes the event."""
    return satisfies(content_of(event), compile_filter(wanted))


class LinearMatcher:
    """A `Matcher` for a few thousand subscriptions: each costs a fraction of a microsecond per event."""

    __slots__ = ("_filters",)

    def __init__(self) -> None:
        self._filters: dict[SubscriptionId, CompiledFilter] = {}

    def add(self, subscription: Subscription) -> None:
        self._filters[subscription.id] = compile_filter(subscription.filter)

    def remove(self, subscription: SubscriptionId) -> None:
        self._filters.pop(subscription, None)

    def match(self, event: Event) -> list[SubscriptionId]:
        content = content_of(event)
        return [subscription for subscription, wanted in self._filters.items() if satisfies(content, wanted)]

    def match_batch(self, events: Sequence[Event]) -> list[list[SubscriptionId]]:
        return [self.match(event) for event in events]

    def match_many(self, events: Sequence[Event], indexes: Sequence[int], wanted: Wanted) -> None:
        contents = [(index, content_of(events[index])) for index in indexes]
        for subscription, filter_ in self._filters.items():
            found = wanted.get(subscription)
            for index, content in contents:
                if satisfies(content, filter_):
                    if found is None:
                        found = wanted[subscription] = []
                    found.append(index)

    def __len__(self) -> int:
        return len(self._filters)
