"""When what waits is not worth sending any more: formula 14 of MTEP, as an instant for each message.

What is certain is kept apart from what estimates say: a link that is idle, or whose estimate is old, sends even what
looks hopeless, for only that can show that the estimate was wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate, Waiting
from p2psub.queueing.prospects import ROOT_2, Prospect, dues_of, prospects_of, quantile, success
from p2psub.queueing.tickets import Ticket, TicketHeap

T = TypeVar("T")

ROUNDING_US: Final = 4
"""Instants by the quantile are right to a microsecond or two."""


class Expiry(Generic[T]):
    """The tickets that time presses, by both instants."""

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon
        self._quantile = quantile(epsilon)
        self._certain: TicketHeap[T] = TicketHeap()
        self._hopeless: TicketHeap[T] = TicketHeap()

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        expires_us = expires_at(ticket.waiting)
        if expires_us is not None:
            self._certain.push(expires_us, ticket)
            self._push_hopeless(ticket, prospects)

    def estimate(self, link: LinkEstimate, tickets: Iterable[Ticket[T]]) -> None:
        """These are all, and the link's delays have changed."""
        self._hopeless = TicketHeap()
        for ticket in tickets:
            if expires_at(ticket.waiting) is not None:
                self._push_hopeless(ticket, prospects_of(ticket.waiting, link))

    def pop_expired(self, now: Micros) -> list[Ticket[T]]:
        """Those whose time is over, whatever the estimates."""
        return self._certain.pop_until(now)

    def pop_hopeless(self, now: Micros) -> list[Ticket[T]]:
        """Those of whose stakes none has a chance above epsilon."""
        return self._hopeless.pop_until(now)

    def _push_hopeless(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        if prospects:
            self._hopeless.push(ticket.waiting.since_us + self._hopeless_after(prospects), ticket)

    def _hopeless_after(self, prospects: list[Prospect]) -> int:
        """The first microsecond of waiting at which no chance is above epsilon; what a straight comparison says."""
        deviations = self._quantile / ROOT_2
        by_quantile = [centre_us - deviations / stretch for centre_us, stretch, _, _ in prospects]
        last_us = max(by_quantile)
        if last_us < -ROUNDING_US:
            # It always was. Others name the way beyond our link, and no float tells two instants of theirs apart.
            return 0
        latest_us = int(last_us) - ROUNDING_US
        for after_us, prospect in zip(by_quantile, prospects, strict=True):
            if after_us >= last_us - ROUNDING_US:
                latest_us = max(latest_us, self._exactly(int(after_us), prospect))
        return latest_us

    def _exactly(self, after_us: int, prospect: Prospect) -> int:
        centre_us, stretch, _, _ = prospect
        while success(centre_us, stretch, after_us) > self._epsilon:
            after_us += 1
        while success(centre_us, stretch, after_us - 1) <= self._epsilon:
            after_us -= 1
        return after_us


def expires_at(waiting: Waiting[T]) -> int | None:
    """The instant at which timeout or last deadline has passed; None if a pair may have it whenever it comes."""
    if not waiting.stakes:
        return waiting.expires_us
    latest_us: int | None = None
    for due_us in dues_of(waiting):
        if due_us is None:
            return None
        if latest_us is None or due_us > latest_us:
            latest_us = due_us
    return latest_us
