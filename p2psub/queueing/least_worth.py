"""What a full queue gives up first: that by which it would earn least.

A worth is what giving up loses: the prices that would be earned, and the penalties that would not be paid. It falls as
time passes, and a queue may be full of twenty thousand. So all are weighed once a second at most, and the least of them
are remembered; between two weighings only what has come since is weighed.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush, nsmallest
from typing import Final, Generic, TypeVar

from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import LinkEstimate, Waiting
from p2psub.queueing.prospects import prospects_of, success
from p2psub.queueing.tickets import Ticket

T = TypeVar("T")

REMEMBERED_MIN: Final = 64
REMEMBERED_SHARE: Final = 1 / 16
"""Of those weighed at once. A guess."""


class LeastWorth(Generic[T]):
    """The lowest of one weighing, and what came after it."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Ticket[T]]] = []
        """By worth, then the last come first."""
        self._came_since: list[Ticket[T]] = []
        self._weighed_us: int | None = None
        """None: nothing is remembered."""
        self._remembered = 0
        self._known_below = 0.0
        """Whatever waited at the weighing and is worth less is in the heap."""

    def push(self, ticket: Ticket[T]) -> None:
        if self._weighed_us is not None:
            self._came_since.append(ticket)
            if len(self._came_since) > self._remembered:
                self._forget()

    def pop(self, tickets: Mapping[int, Ticket[T]], link: LinkEstimate, now: Micros) -> Ticket[T]:
        """The one worth least, as of at most a second ago; the caller removes it."""
        if self._weighed_us is not None and now - self._weighed_us < SECOND_US:
            for ticket in self._came_since:
                heappush(self._heap, _entry(ticket, link, now))
            self._came_since.clear()
            while self._heap and self._heap[0][0] <= self._known_below:
                ticket = heappop(self._heap)[2]
                if not ticket.is_gone:
                    return ticket
        self._weigh(tickets, link, now)
        return heappop(self._heap)[2]

    def _weigh(self, tickets: Mapping[int, Ticket[T]], link: LinkEstimate, now: Micros) -> None:
        self._came_since.clear()
        self._remembered = max(REMEMBERED_MIN, int(len(tickets) * REMEMBERED_SHARE))
        self._heap = nsmallest(self._remembered, (_entry(ticket, link, now) for ticket in tickets.values()))
        self._known_below = self._heap[-1][0]
        heapify(self._heap)
        self._weighed_us = now

    def _forget(self) -> None:
        self._heap.clear()
        self._came_since.clear()
        self._weighed_us = None


def _entry(ticket: Ticket[T], link: LinkEstimate, now: Micros) -> tuple[float, int, Ticket[T]]:
    return worth(ticket.waiting, link, now), -ticket.number, ticket


def worth(waiting: Waiting[T], link: LinkEstimate, now: Micros) -> float:
    """In millionths."""
    waited_us = now - waiting.since_us
    total = 0.0
    for centre_us, stretch, price, penalty in prospects_of(waiting, link):
        total += (price + penalty) * success(centre_us, stretch, waited_us)
    return total
