"""Content that no time presses: it waits behind what has a deadline or a timeout, yet not for ever.

Once the first of it has waited for a minute, it has a quarter of the link: thrice its bytes of what is pressed go
before the next. So what is pressed keeps most of the link, however much of the other there is; and what is first in
this line waits a minute and thrice its own size at most. Behind others of its kind it waits for those too. A price
without a deadline hurries nothing: it is earned as well later.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.queueing.tickets import Ticket, TicketLine

T = TypeVar("T")

BEHIND_US_MAX: Final = Micros(60_000_000)
OVERDUE_SHARE: Final = 0.25
"""Part of the link for what has waited so long. A guess."""


class TimelessLine(Generic[T]):
    """First come, first served among themselves."""

    def __init__(self) -> None:
        self._line: TicketLine[T] = TicketLine()
        self._debt_bytes = 0.0
        """What is pressed has still to get before the overdue may go again."""

    def push(self, ticket: Ticket[T]) -> None:
        self._line.push(ticket)

    def is_overdue(self, now: Micros) -> bool:
        """Whether the first goes before what is pressed."""
        if self._debt_bytes > 0.0:
            return False
        first = self._line.first()
        return first is not None and now - first.waiting.since_us >= BEHIND_US_MAX

    def pop(self) -> Ticket[T]:
        """The first, while nothing that is pressed waits."""
        return self._line.pop()

    def pop_overdue(self) -> Ticket[T]:
        """The first, ahead of what is pressed."""
        ticket = self._line.pop()
        self._debt_bytes = ticket.waiting.size_bytes * (1.0 - OVERDUE_SHARE) / OVERDUE_SHARE
        return ticket

    def note_pressed(self, size_bytes: int) -> None:
        """So much of what is pressed has gone."""
        self._debt_bytes = max(0.0, self._debt_bytes - size_bytes)
