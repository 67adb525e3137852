"""The order of a queue: what each algorithm has in common with its siblings."""

from __future__ import annotations

from typing import Final, Generic, Protocol, TypeVar

from p2psub.model.instants import Micros
from p2psub.queueing.prospects import Prospect
from p2psub.queueing.stakes import LinkEstimate, Waiting

T = TypeVar("T")

POLICIES: Final = ("fcfs", "fix", "lrt", "mtep")


class Ticket(Generic[T]):
    """One that waits, its number in the order of arrival, and its prospects under the estimate of today."""

    __slots__ = ("is_gone", "number", "prospects", "waiting")

    def __init__(self, waiting: Waiting[T], number: int, prospects: list[Prospect]) -> None:
        self.waiting = waiting
        self.number = number
        self.prospects = prospects
        self.is_gone = False
        """It left by another way than this order."""


class QueuePolicy(Protocol[T]):
    """Who goes next. A ticket that is gone stays here until it is met, and is passed over."""

    def push(self, ticket: Ticket[T], now: Micros) -> None: ...

    def pop(self, now: Micros) -> Ticket[T]:
        """The next that is not gone; there must be one."""
        ...

    def estimate(self, link: LinkEstimate) -> None:
        """The link's delays have changed, and with them the prospects of every ticket."""
        ...
