"""Tickets: one for each message that waits. Those who order them share the ticket, and each orders its own way.

A ticket that leaves by one way is marked as gone, and passed over where another finds it. So leaving costs nothing in
the orders it was not taken from; they throw out what is gone once it is more than half of what they hold.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from p2psub.model.stakes import Waiting

T = TypeVar("T")

SWEPT_AT_MIN: Final = 64
"""A shorter order is not worth sweeping."""


class Ticket(Generic[T]):
    """One that waits, and its number in the order of arrival."""

    __slots__ = ("is_gone", "is_timeless", "number", "waiting")

    def __init__(self, waiting: Waiting[T], number: int, *, is_timeless: bool) -> None:
        self.waiting = waiting
        self.number = number
        self.is_timeless = is_timeless
        """Whether it stands in the line behind what time presses."""
        self.is_gone = False


class TicketLine(Generic[T]):
    """Tickets in the order they came."""

    __slots__ = ("_line", "_swept_at")

    def __init__(self) -> None:
        self._line: deque[Ticket[T]] = deque()
        self._swept_at = SWEPT_AT_MIN

    def push(self, ticket: Ticket[T]) -> None:
        self._line.append(ticket)
        if len(self._line) > self._swept_at:
            self._line = deque(ticket for ticket in self._line if not ticket.is_gone)
            self._swept_at = max(SWEPT_AT_MIN, 2 * len(self._line))

    def first(self) -> Ticket[T] | None:
        """The first that is not gone; it stays."""
        line = self._line
        while line:
            if not line[0].is_gone:
                return line[0]
            line.popleft()
        return None

    def pop(self) -> Ticket[T]:
        """The first that is not gone; there must be one."""
        while True:
            ticket = self._line.popleft()
            if not ticket.is_gone:
                return ticket


class TicketHeap(Generic[T]):
    """Tickets by a number, lowest first; by arrival where it is equal."""

    __slots__ = ("_heap", "_swept_at")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Ticket[T]]] = []
        self._swept_at = SWEPT_AT_MIN

    def push(self, by: float, ticket: Ticket[T]) -> None:
        heappush(self._heap, (by, ticket.number, ticket))
        if len(self._heap) > self._swept_at:
            self._heap = [entry for entry in self._heap if not entry[2].is_gone]
            heapify(self._heap)
            self._swept_at = max(SWEPT_AT_MIN, 2 * len(self._heap))

    def pop(self) -> Ticket[T]:
        """The lowest that is not gone; there must be one."""
        while True:
            ticket = heappop(self._heap)[2]
            if not ticket.is_gone:
                return ticket

    def pop_until(self, limit: float) -> list[Ticket[T]]:
        """All that are not gone and no higher than the limit, lowest first."""
        heap, popped = self._heap, []
        while heap and heap[0][0] <= limit:
            ticket = heappop(heap)[2]
            if not ticket.is_gone:
                popped.append(ticket)
        return popped
