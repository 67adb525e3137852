"""First come, first served: the baseline of MTEP's experiments."""

from __future__ import annotations

from typing import Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.prospects import Prospect
from p2psub.queueing.tickets import Ticket, TicketLine

T = TypeVar("T")


class FirstComeFirstServed(Generic[T]):
    """In the order in which they came."""

    def __init__(self) -> None:
        self._line: TicketLine[T] = TicketLine()

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        self._line.push(ticket)

    def pop(self, now: Micros) -> Ticket[T]:
        return self._line.pop()

    def estimate(self, link: LinkEstimate) -> None:
        """Nothing depends on it."""
