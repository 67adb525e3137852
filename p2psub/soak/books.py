"""What publishers were promised and what subscribers got, event by event.

Every event carries a number, counted by its stream: those of one publisher on one topic. A set of such numbers takes
about a bit for each, so the books of hours fit into a few megabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pyroaring import BitMap

from p2psub.model.ids import EventId
from p2psub.soak.arrival_order import ArrivalOrder

UNANSWERED = "unanswered"
"""Why an event is not acknowledged that no answer came for."""


class PublisherTopic(NamedTuple):
    """The events of one publisher on one topic."""

    publisher: str
    topic: str


@dataclass(slots=True)
class _PublisherBook:
    """One stream at its publisher."""

    published: int = 0
    acknowledged: BitMap = field(default_factory=BitMap)
    refused: BitMap = field(default_factory=BitMap)

    def promised(self, number: int) -> bool | None:
        """Whether the event was acknowledged; None while that is open."""
        if number in self.acknowledged:
            return True
        return False if number in self.refused else None


@dataclass(slots=True)
class _SubscriberBook:
    """One stream at one subscription."""

    order: ArrivalOrder
    received: BitMap = field(default_factory=BitMap)


class BookFigures(NamedTuple):
    """Counts of events, and of pairs of event and subscription."""

    published: int
    acknowledged: int
    refused: dict[str, int]
    """By reason."""
    received: int
    """Pairs that arrived, each counted once."""
    lost: int
    """Pairs of an acknowledged event and a subscription to its topic that did not arrive, or not yet."""
    duplicates: int
    """Arrivals beyond the first of a pair."""
    unwanted: int
    """Arrivals of what was not published, or not asked for."""
    out_of_order: int
    """Arrivals after a later acknowledged event of the same stream, as far as what is acknowledged is known."""


class SoakBooks:
    """The books of all publishers and subscribers; subscriptions are known by a number."""

    def __init__(self, publishers: Iterable[str], wanted: Mapping[int, Iterable[str]]) -> None:
        streams = {
            topic: [PublisherTopic(name, topic) for name in publishers] for each in wanted.values() for topic in each
        }
        self._sent = {stream: _PublisherBook() for several in streams.values() for stream in several}
        self._got = {
            number: {
                stream: _SubscriberBook(ArrivalOrder(self._sent[stream].promised))
                for topic in topics
                for stream in streams[topic]
            }
            for number, topics in wanted.items()
        }
        self._refused: Counter[str] = Counter()
        self._duplicates = 0
        self._unwanted = 0

    def publish(self, stream: PublisherTopic) -> int:
        """The number of the stream's next event, which is about to be published."""
        book = self._sent[stream]
        book.published += 1
        return book.published - 1

    def acknowledge(self, stream: PublisherTopic, number: int) -> None:
        """The overlay is responsible for an event."""
        self._sent[stream].acknowledged.add(number)

    def refuse(self, stream: PublisherTopic, number: int, reason: str) -> None:
        """An event is promised to no subscription; it may arrive nevertheless."""
        self._sent[stream].refused.add(number)
        self._refused[reason] += 1

    def arrive(self, subscription: int, stream: PublisherTopic, number: int, event: EventId) -> None:
        """A subscription was handed an event, which its publisher's peer gave that id."""
        book = self._got[subscription].get(stream)
        if book is None or not 0 <= number < self._sent[stream].published:
            self._unwanted += 1
        elif number in book.received:
            self._duplicates += 1
        else:
            book.received.add(number)
            book.order.note(number, event)

    @property
    def missing(self) -> int:
        """Acknowledged pairs that have not arrived."""
        return sum(
            self._sent[stream].acknowledged.difference_cardinality(book.received)
            for books in self._got.values()
            for stream, book in books.items()
        )

    def figures(self) -> BookFigures:
        """Everything so far."""
        sent = self._sent.values()
        got = [book for books in self._got.values() for book in books.values()]
        return BookFigures(
            published=sum(book.published for book in sent),
            acknowledged=sum(len(book.acknowledged) for book in sent),
            refused=dict(sorted(self._refused.items())),
            received=sum(len(book.received) for book in got),
            lost=self.missing,
            duplicates=self._duplicates,
            unwanted=self._unwanted,
            out_of_order=sum(book.order.late() for book in got),
        )
