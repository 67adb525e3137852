"""Filters by the topics that they pin: who need not be compared with a filter, because no event has two topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class TopicIndex(Generic[T]):
    """Members, each entered with the topics that its filter pins; none if it may take any topic."""

    def __init__(self) -> None:
        self._members: dict[T, None] = {}
        self._by_topic: dict[str | None, dict[T, None]] = {}
        """Under None those that pin none."""

    def __iter__(self) -> Iterator[T]:
        return iter(self._members)

    def enter(self, member: T, topics: tuple[str, ...]) -> None:
        self._members[member] = None
        for topic in topics or (None,):
            self._by_topic.setdefault(topic, {})[member] = None

    def remove(self, member: T, topics: tuple[str, ...]) -> None:
        """Take one out that was entered with these topics."""
        del self._members[member]
        for topic in topics or (None,):
            del self._by_topic[topic][member]
            if not self._by_topic[topic]:
                del self._by_topic[topic]

    def near(self, topics: tuple[str, ...]) -> Iterable[T]:
        """All that may meet a filter which pins these topics; every one, if it pins none."""
        if not topics:
            return self._members
        found: dict[T, None] = {}
        for topic in (*topics, None):
            found.update(self._by_topic.get(topic, {}))
        return found
