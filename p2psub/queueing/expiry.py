"""When what waits is not worth sending any more: formula 14 of MTEP, as an instant for each message.

What is certain is kept apart from what estimates say: a link that is idle, or whose estimate is old, sends even what
looks hopeless, for only that can show that the estimate was wrong.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.queueing.policy import Ticket
from p2psub.queueing.prospects import Prospect, quantile
from p2psub.queueing.stakes import Waiting, dues_of

T = TypeVar("T")


class Expiry(Generic[T]):
    """Two heaps of instants. A ticket that is gone stays until it is met, and is passed over."""

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon
        self._quantile = quantile(epsilon)
        self._certain: list[tuple[int, int, Ticket[T]]] = []
        self._hopeless: list[tuple[int, int, Ticket[T]]] = []

    def push(self, ticket: Ticket[T]) -> None:
        expires_us = expires_at(ticket.waiting)
        if expires_us is not None:
            heappush(self._certain, (expires_us, ticket.number, ticket))
            if ticket.prospects:
                heappush(self._hopeless, (self._hopeless_from(ticket.prospects), ticket.number, ticket))

    def rebuild(self) -> None:
        """The prospects of all tickets have changed."""
        tickets = [ticket for _, _, ticket in self._hopeless if not ticket.is_gone]
        self._hopeless = [(self._hopeless_from(ticket.prospects), ticket.number, ticket) for ticket in tickets]
        heapify(self._hopeless)

    def pop_expired(self, now: Micros) -> list[Ticket[T]]:
        """Those whose time is over, whatever the estimates."""
        return _pop_until(self._certain, now)

    def pop_hopeless(self, now: Micros) -> list[Ticket[T]]:
        """Those of whose stakes none has a chance above epsilon."""
        return _pop_until(self._hopeless, now)

    def _hopeless_from(self, prospects: list[Prospect]) -> int:
        """The first microsecond at which no chance is above epsilon; exactly that of the straight comparison."""
        epsilon, quantile_ = self._epsilon, self._quantile
        latest_us = 0
        for prospect in prospects:
            from_us = int(prospect.centre_us - prospect.scale_us * quantile_)
            if from_us >= latest_us:
                while prospect.success(from_us) > epsilon:
                    from_us += 1
                while prospect.success(from_us - 1) <= epsilon:
                    from_us -= 1
                latest_us = max(latest_us, from_us)
        return latest_us


def expires_at(waiting: Waiting[T]) -> int | None:
    """The instant at which timeout or last deadline has passed; None if a pair may have it whenever it comes."""
    if waiting.expires_us is not None and not waiting.stakes:
        return waiting.expires_us
    latest_us: int | None = None
    for due_us in dues_of(waiting):
        if due_us is None:
            return None
        latest_us = due_us if latest_us is None else max(latest_us, due_us)
    return latest_us


def _pop_until(heap: list[tuple[int, int, Ticket[T]]], now: Micros) -> list[Ticket[T]]:
    """In the order of their instants."""
    popped: list[Ticket[T]] = []
    while heap and (heap[0][0] <= now or heap[0][2].is_gone):
        ticket = heappop(heap)[2]
        if not ticket.is_gone:
            ticket.is_gone = True
            popped.append(ticket)
    return popped
