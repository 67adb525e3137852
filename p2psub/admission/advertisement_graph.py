"""The graph of advertisements, ordered by covering (RacsCBPS 2.1 and 3.1 to 3.3): what is offered, and at what rate.

A filter stands below all that cover it directly, so it may have several parents. It has a rate and a count of its own,
of the advertisements with exactly that filter; and those of all that it covers and itself, each counted once however
many ways lead to it. The paper adds up children and takes off what two of them share, which is right one level deep.
Filters that cover each other are one. A filter leaves with its own last advertisement, whatever it still covers.

The graph is a function of the advertisements in it: in which order they came makes no difference.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from p2psub.admission.topic_index import TopicIndex
from p2psub.matching.covering import Scope, scope_of
from p2psub.model.content import Filter, pinned_topics
from p2psub.model.ids import SubscriptionId
from p2psub.model.rates import millionths_of


@dataclass(eq=False, slots=True)
class AdvertisedFilter:
    """A filter, the advertisements with exactly that, and what stands next to it in the graph. Rates in millionths."""

    scope: Scope
    topics: tuple[str, ...]
    """Those that it pins; empty: it may take any."""
    rates: dict[SubscriptionId, int] = field(default_factory=dict)
    """Of its own advertisements."""
    parents: dict[AdvertisedFilter, None] = field(default_factory=dict)
    """Those that cover it directly (definition 6)."""
    children: dict[AdvertisedFilter, None] = field(default_factory=dict)
    """Those that it covers directly."""
    rate: int = 0
    """Of its own advertisements and of all that it covers."""
    count: int = 0
    """How many those are."""

    def ancestry(self) -> Iterator[AdvertisedFilter]:
        """Itself and all that cover it, each once."""
        return _reached(self, lambda one: one.parents)

    def closure(self) -> Iterator[AdvertisedFilter]:
        """Itself and all that it covers, each once."""
        return _reached(self, lambda one: one.children)

    def hang_below(self, parent: AdvertisedFilter) -> None:
        self.parents[parent] = parent.children[self] = None

    def leave(self, parent: AdvertisedFilter) -> None:
        del self.parents[parent], parent.children[self]


class AdvertisementGraph:
    """Advertisements by what they offer. One that no event can satisfy offers nothing, and is not held."""

    def __init__(self) -> None:
        self._filters: TopicIndex[AdvertisedFilter] = TopicIndex()
        self._by_advertisement: dict[SubscriptionId, AdvertisedFilter] = {}

    def __len__(self) -> int:
        return len(self._by_advertisement)

    def __iter__(self) -> Iterator[AdvertisedFilter]:
        return iter(self._filters)

    def advertise(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> None:
        """Take an advertisement up, in place of one with the same id; at most so many events per second (3.2)."""
        self.withdraw(advertisement)
        scope = scope_of(offered)
        if scope.conjunctions:
            found = self._find_or_insert(scope, pinned_topics(offered))
            self._by_advertisement[advertisement] = found
            found.rates[advertisement] = millionths_of(rate)
            _count(found, found.rates[advertisement], 1)

    def withdraw(self, advertisement: SubscriptionId) -> None:
        """Take an advertisement out, if it is there, and its filter if no other advertisement has it (3.3)."""
        found = self._by_advertisement.pop(advertisement, None)
        if found is not None:
            _count(found, -found.rates.pop(advertisement), -1)
            if not found.rates:
                self._remove(found)

    def near(self, topics: tuple[str, ...]) -> Iterable[AdvertisedFilter]:
        """All that may meet a filter which pins these topics; every one, if it pins none."""
        return self._filters.near(topics)

    def around(self, scope: Scope, topics: tuple[str, ...]) -> tuple[list[AdvertisedFilter], list[AdvertisedFilter]]:
        """What covers a filter directly, and what it covers directly: for one that is advertised, twice itself."""
        near = self.near(topics)
        above = {one: None for one in near if one.scope.covers(scope)}
        below = {one: None for one in near if scope.covers(one.scope)}
        return (
            [one for one in above if not any(child in above for child in one.children)],
            [one for one in below if not any(parent in below for parent in one.parents)],
        )

    def _find_or_insert(self, scope: Scope, topics: tuple[str, ...]) -> AdvertisedFilter:
        parents, children = self.around(scope, topics)
        if parents and parents == children:
            return parents[0]
        inserted = AdvertisedFilter(scope, topics)
        self._filters.enter(inserted, topics)
        _link(inserted, parents, children)
        return inserted

    def _remove(self, removed: AdvertisedFilter) -> None:
        self._filters.remove(removed, removed.topics)
        _unlink(removed)


def _link(
    inserted: AdvertisedFilter, parents: Iterable[AdvertisedFilter], children: Iterable[AdvertisedFilter]
) -> None:
    for parent in parents:
        inserted.hang_below(parent)
    for child in children:
        for parent in [one for one in child.parents if one in inserted.parents]:
            child.leave(parent)
        child.hang_below(inserted)
    for one in inserted.closure():
        inserted.rate += sum(one.rates.values())
        inserted.count += len(one.rates)


def _unlink(removed: AdvertisedFilter) -> None:
    parents, children = list(removed.parents), list(removed.children)
    for parent in parents:
        removed.leave(parent)
    for child in children:
        child.leave(removed)
        for parent in parents:
            # Not directly, if another way leads there.
            if not any(parent.scope.covers(other.scope) for other in child.parents):
                child.hang_below(parent)


def _count(found: AdvertisedFilter, rate: int, count: int) -> None:
    for one in found.ancestry():
        one.rate += rate
        one.count += count


def _reached(
    start: AdvertisedFilter, step: Callable[[AdvertisedFilter], Iterable[AdvertisedFilter]]
) -> Iterator[AdvertisedFilter]:
    seen = {start}
    waiting = deque(seen)
    while waiting:
        one = waiting.popleft()
        yield one
        fresh = [other for other in step(one) if other not in seen]
        seen.update(fresh)
        waiting += fresh
