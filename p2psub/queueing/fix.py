"""Fixed priority: the highest rank goes first, whatever the time. What JMS and CORBA's notification service do."""

from __future__ import annotations

import hashlib
from typing import Final, Generic, TypeVar

from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.prospects import Prospect
from p2psub.queueing.tickets import Ticket, TicketHeap

T = TypeVar("T")

RANKS: Final = 5
"""As in the paper's experiment, 3.2."""


def rank_of(event: EventId) -> int:
    """A rank from 1 to RANKS, drawn from the event's id: the same at every hop."""
    name = b"%b %d %d" % (event.node, event.incarnation, event.sequence)
    return 1 + int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") % RANKS


class FixedPriority(Generic[T]):
    """By rank; first come, first served within a rank."""

    def __init__(self) -> None:
        self._line: TicketHeap[T] = TicketHeap()

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        self._line.push(-ticket.waiting.rank, ticket)

    def pop(self, now: Micros) -> Ticket[T]:
        return self._line.pop()

    def estimate(self, link: LinkEstimate) -> None:
        """Nothing depends on it."""
