"""Fixed priority: the highest rank goes first, whatever the time. What JMS and CORBA's notification service do."""

from __future__ import annotations

import hashlib
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.queueing.policy import Ticket
from p2psub.queueing.stakes import LinkEstimate

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
        self._line: list[tuple[int, int, Ticket[T]]] = []

    def push(self, ticket: Ticket[T], now: Micros) -> None:
        heappush(self._line, (-ticket.waiting.rank, ticket.number, ticket))

    def pop(self, now: Micros) -> Ticket[T]:
        while True:
            ticket = heappop(self._line)[2]
            if not ticket.is_gone:
                return ticket

    def estimate(self, link: LinkEstimate) -> None:
        """Nothing depends on it."""
