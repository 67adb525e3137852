"""Maximum total earning priority: the message goes first whose sending now earns most (MTEP 2.3 and 2.4)."""

from __future__ import annotations

from typing import Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.queueing.policy import Ticket
from p2psub.queueing.prospects import priority
from p2psub.queueing.sizes import MeanSize
from p2psub.queueing.stakes import BYTES_PER_KB, LinkEstimate

T = TypeVar("T")


class MaxTotalEarning(Generic[T]):
    """By formula 13; first come, first served among equals."""

    def __init__(self, weight: float, link: LinkEstimate) -> None:
        self._weight = weight
        self._link = link
        self._sizes = MeanSize()
        self._line: list[Ticket[T]] = []

    @property
    def postponed_us(self) -> float:
        """LMT: for how long another message would take the link, by mean size and mean delay (8)."""
        return self._sizes.mean_bytes / BYTES_PER_KB * self._link.mean_us_per_kb

    def push(self, ticket: Ticket[T], now: Micros) -> None:
        self._sizes.note(ticket.waiting.size_bytes)
        self._line.append(ticket)

    def pop(self, now: Micros) -> Ticket[T]:
        self._line = [ticket for ticket in self._line if not ticket.is_gone]
        postponed_us, weight = self.postponed_us, self._weight
        best = max(self._line, key=lambda ticket: priority(ticket.prospects, now, postponed_us, weight))
        self._line.remove(best)
        return best

    def estimate(self, link: LinkEstimate) -> None:
        self._link = link
