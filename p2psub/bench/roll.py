"""What came while a peer followed its subscriptions: every event by its number, since a promise is kept one by one.

It takes about a bit an event, so that it does not show in the memory of the peer that is measured.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from pyroaring import BitMap

from p2psub.api.items import Gap, Notification
from p2psub.bench.ages import rounded_ns
from p2psub.bench.consumer import age_ns
from p2psub.model.ids import NodeId


class Roll:
    """Which events were consumed, how often one came again, and how old they were."""

    __slots__ = ("_consumed", "ages_ns", "duplicates", "events", "last_ns")

    def __init__(self) -> None:
        self._consumed: defaultdict[NodeId, BitMap] = defaultdict(BitMap)
        self.ages_ns: Counter[int] = Counter()
        """How many events were of which age."""
        self.events = 0
        """Different ones."""
        self.duplicates = 0
        """Hand-overs of events that had been handed over before."""
        self.last_ns = 0

    def note(self, items: Sequence[Notification | Gap], now_ns: int) -> None:
        """Items were consumed together. A gap needs no note: what is missing is not on the roll."""
        self.last_ns = now_ns
        notifications = [item for item in items if isinstance(item, Notification)]
        numbers: defaultdict[NodeId, list[int]] = defaultdict(list)
        for notification in notifications:
            numbers[notification.event.id.node].append(notification.event.id.sequence)
        for publisher, several in numbers.items():
            self._count(self._consumed[publisher], several)
        # Events that were published in one call and are consumed together have one age.
        for age, count in Counter([age_ns(each, now_ns) for each in notifications]).items():
            self.ages_ns[rounded_ns(age)] += count

    def _count(self, consumed: BitMap, numbers: list[int]) -> None:
        events_before = len(consumed)
        consumed.update(numbers)
        came = len(consumed) - events_before
        self.events += came
        self.duplicates += len(numbers) - came

    @property
    def consumed(self) -> dict[str, BitMap]:
        """The numbers of the events that came, by publisher."""
        return {publisher.hex(): numbers for publisher, numbers in self._consumed.items()}
