"""A matcher that is small while it holds little: a list of filters first, an index once they are many.

There is a matcher for every topic, and most have a few subscriptions. So numpy is loaded, and memory taken, only by the
first one that grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from p2psub.matching.linear import LinearMatcher
from p2psub.matching.matcher import Wanted
from p2psub.matching.predicates import content_of, satisfies
from p2psub.matching.sizes import DEFAULTS, Sizes
from p2psub.model.content import Event, Filter, Subscription
from p2psub.model.ids import SubscriptionId

if TYPE_CHECKING:
    from p2psub.matching.engine import Engine


class GrowingMatcher(LinearMatcher):
    """A `Matcher` for any number of subscriptions, a few or a million."""

    __slots__ = ("_engine", "_sizes", "_wanted")

    def __init__(self, sizes: Sizes = DEFAULTS) -> None:
        super().__init__()
        self._sizes = sizes
        self._wanted: dict[SubscriptionId, Filter] = {}
        """What the engine is to be filled with, in the order of first adding."""
        self._engine: Engine | None = None

    def add(self, subscription: Subscription) -> None:
        if self._engine is None:
            super().add(subscription)
            self._wanted[subscription.id] = subscription.filter
            if len(self._wanted) > self._sizes.linear_max:
                self._grow()
        else:
            self._engine.add(subscription.id, subscription.filter)

    def remove(self, subscription: SubscriptionId) -> None:
        if self._engine is None:
            super().remove(subscription)
            self._wanted.pop(subscription, None)
        else:
            self._engine.remove(subscription)

    def match(self, event: Event) -> list[SubscriptionId]:
        if self._engine is not None:
            return self._engine.match(event)
        # As the base class does, without the price of calling it.
        content = content_of(event)
        return [subscription for subscription, wanted in self._filters.items() if satisfies(content, wanted)]

    def match_batch(self, events: Sequence[Event]) -> list[list[SubscriptionId]]:
        return super().match_batch(events) if self._engine is None else self._engine.match_batch(events)

    def match_many(self, events: Sequence[Event], indexes: Sequence[int], wanted: Wanted) -> None:
        if self._engine is None:
            super().match_many(events, indexes, wanted)
        else:
            self._engine.match_many(events, indexes, wanted)

    def __len__(self) -> int:
        return len(self._wanted) if self._engine is None else len(self._engine)

    def _grow(self) -> None:
        from p2psub.matching.engine import Engine  # noqa: PLC0415, numpy is for those who need it

        self._engine = Engine(self._sizes)
        for subscription, wanted in self._wanted.items():
            self._engine.add(subscription, wanted)
        self._wanted.clear()
        self._filters.clear()
