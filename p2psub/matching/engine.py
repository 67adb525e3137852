"""The match index for many subscriptions: every conjunction is a row, filed where few events come by (see `filing`).

An event gathers candidates from the homes that its values lead to; the kernel compares all their spans at once; what is
left of a row's predicates is tried one by one, each at most once per event. Equal filters share their rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from p2psub.matching.candidates import Candidates
from p2psub.matching.conjunctions import Conjunctions
from p2psub.matching.holdings import Holdings, Standing
from p2psub.matching.lone import rows_satisfied
from p2psub.matching.matcher import Wanted
from p2psub.matching.predicates import content_of
from p2psub.matching.sizes import DEFAULTS, Sizes
from p2psub.model.content import Event, Filter
from p2psub.model.ids import SubscriptionId


class Engine:
    """What a `GrowingMatcher` becomes; the same methods, for any number of subscriptions."""

    __slots__ = ("_batch", "_conjunctions", "_holdings")

    def __init__(self, sizes: Sizes = DEFAULTS) -> None:
        self._batch = sizes.batch
        self._conjunctions = Conjunctions(sizes)
        self._holdings = Holdings(self._conjunctions)

    def __len__(self) -> int:
        return len(self._holdings)

    def add(self, subscription: SubscriptionId, wanted: Filter) -> None:
        """Take a subscription up, in place of one with the same id."""
        self._holdings.hold(subscription, wanted)
        self._conjunctions.tend()

    def remove(self, subscription: SubscriptionId) -> None:
        self._holdings.forget(subscription)
        self._conjunctions.tend()

    def match(self, event: Event) -> list[SubscriptionId]:
        return self._holdings.holders_of(rows_satisfied(self._conjunctions, content_of(event)))

    def match_batch(self, events: Sequence[Event]) -> list[list[SubscriptionId]]:
        """Who wants each of the events, in the order of first adding."""
        found: list[list[SubscriptionId]] = []
        for start in range(0, len(events), self._batch):
            batch = events[start : start + self._batch]
            standings, subscriptions = self._found(batch)
            ends = [bisect_left(standings, number * self._holdings.ranks) for number in range(len(batch) + 1)]
            found += [subscriptions[low:high] for low, high in pairwise(ends)]
        return found

    def match_many(self, events: Sequence[Event], indexes: Sequence[int], wanted: Wanted) -> None:
        by_rank: dict[int, tuple[SubscriptionId, list[int]]] = {}
        for start in range(0, len(indexes), self._batch):
            chosen = indexes[start : start + self._batch]
            for standing, subscription in zip(*self._found([events[index] for index in chosen]), strict=True):
                number, rank = divmod(standing, self._holdings.ranks)
                if rank not in by_rank:
                    by_rank[rank] = subscription, []
                by_rank[rank][1].append(chosen[number])
        for rank in sorted(by_rank):
            subscription, indexes_found = by_rank[rank]
            wanted.setdefault(subscription, []).extend(indexes_found)

    def _found(self, events: Sequence[Event]) -> tuple[list[Standing], list[SubscriptionId]]:
        candidates = Candidates(self._conjunctions, [content_of(event) for event in events])
        return self._holdings.holders(*candidates.satisfied())
