"""How many events of one stream came to a subscription after a later one that was acknowledged.

An event often arrives before its publisher hears that it is acknowledged. So arrivals wait in their order until that is
known: as many as come while one publish waits for its answer. A peer numbers the events that it takes: the
smaller number is the earlier event, whichever way its application asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from p2psub.model.ids import EventId


class ArrivalOrder:
    """Judges the arrivals of one stream; `promised` says whether an event was acknowledged, None while it is open."""

    __slots__ = ("_late", "_latest", "_promised", "_waiting")

    def __init__(self, promised: Callable[[int], bool | None]) -> None:
        self._promised = promised
        self._waiting: deque[tuple[int, EventId]] = deque()
        self._latest: EventId | None = None
        """The latest acknowledged event among those that were judged."""
        self._late = 0

    def note(self, number: int, event: EventId) -> None:
        """An event has arrived for the first time."""
        self._waiting.append((number, event))
        self._judge()

    def late(self) -> int:
        """How many of those that could be judged so far came too late."""
        self._judge()
        return self._late

    def _judge(self) -> None:
        while self._waiting:
            number, event = self._waiting[0]
            is_promised = self._promised(number)
            if is_promised is None:
                return
            self._waiting.popleft()
            if self._latest is not None and event < self._latest:
                self._late += 1
            elif is_promised:
                self._latest = event
