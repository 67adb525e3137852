"""Least remaining time first: the mean, over the pairs of a message, of what is left until they are due."""

from __future__ import annotations

import math
from typing import Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate, Waiting
from p2psub.queueing.prospects import Prospect, dues_of
from p2psub.queueing.tickets import Ticket, TicketHeap

T = TypeVar("T")


class LeastRemainingTime(Generic[T]):
    """All remaining times shrink alike, so their order is that of the mean instants at which they end."""

    def __init__(self) -> None:
        self._line: TicketHeap[T] = TicketHeap()

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        self._line.push(mean_due_us(ticket.waiting), ticket)

    def pop(self, now: Micros) -> Ticket[T]:
        return self._line.pop()

    def estimate(self, link: LinkEstimate) -> None:
        """Nothing depends on it."""


def mean_due_us(waiting: Waiting[T]) -> float:
    """When the remaining time ends, in the mean over the pairs that have one."""
    total_us = pairs = 0
    for stake, due_us in zip(waiting.stakes, dues_of(waiting), strict=True):
        if due_us is not None:
            total_us += due_us * stake.pairs
            pairs += stake.pairs
    if pairs:
        return total_us / pairs
    return math.inf if waiting.expires_us is None else float(waiting.expires_us)
