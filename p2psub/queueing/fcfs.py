"""First come, first served: the baseline of MTEP's experiments, and the default."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.discipline import Queued
from p2psub.queueing.prospects import Prospect
from p2psub.queueing.tickets import Ticket, TicketLine

T = TypeVar("T")


class FirstComeFirstServed:
    """Content leaves in the order in which it came."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()

    def push(self, queued: Queued, now: Micros) -> None:
        self._waiting.append(queued)

    def pop(self, now: Micros) -> Queued:
        return self._waiting.popleft()

    def give_up_least_worth(self, now: Micros) -> Queued:
        return self._waiting.pop()

    def __len__(self) -> int:
        return len(self._waiting)


class FirstCome(Generic[T]):
    """The same, of tickets."""

    def __init__(self) -> None:
        self._line: TicketLine[T] = TicketLine()

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        self._line.push(ticket)

    def pop(self, now: Micros) -> Ticket[T]:
        return self._line.pop()

    def estimate(self, link: LinkEstimate) -> None:
        """Nothing depends on it."""
