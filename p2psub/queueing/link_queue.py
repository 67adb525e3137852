"""The queue of one link's content: it hands out what goes next, and what is not worth sending any more.

Its policy chooses. Beside it are rules that hold whatever the policy: what expires leaves (formula 14 of MTEP), a full
queue gives up what is worth least, and under the policies that look at time, content that no time presses waits behind
(`timeless`).
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from p2psub.errors import ConfigError
from p2psub.model.instants import Micros
from p2psub.model.reasons import Reason
from p2psub.model.stakes import LinkEstimate, Unsent, Waiting
from p2psub.queueing.expiry import Expiry, expires_at
from p2psub.queueing.fcfs import FirstComeFirstServed
from p2psub.queueing.fix import FixedPriority
from p2psub.queueing.least_worth import LeastWorth
from p2psub.queueing.lrt import LeastRemainingTime
from p2psub.queueing.mtep import MaxTotalEarning
from p2psub.queueing.policy import POLICIES, QueuePolicy
from p2psub.queueing.prospects import prospects_of
from p2psub.queueing.tickets import Ticket
from p2psub.queueing.timeless import TimelessLine

T = TypeVar("T")

WEIGHT: Final = 0.4
"""Of the expected earning: that of the paper's figures 7 and 8."""
EPSILON: Final = 0.04
"""A chance that is no higher is none. The paper's, 3.2."""


class LinkQueue(Generic[T]):
    """What waits for one link. `now` never runs backwards.

    Call `expire` before `pop`, and at every tick: what has no chance any more is never the next.
    """

    def __init__(
        self,
        policy: str,
        link: LinkEstimate,
        *,
        weight: float = WEIGHT,
        epsilon: float = EPSILON,
        is_dropping: bool = True,
    ) -> None:
        self._policy: QueuePolicy[T] = _policy(policy, weight, link)
        self._looks_at_time = policy in {"lrt", "mtep"}
        self._timeless: TimelessLine[T] = TimelessLine()
        self._expiry: Expiry[T] | None = Expiry(epsilon) if is_dropping else None
        """None: nothing is dropped. For the paper's experiment alone."""
        self._link = link
        self._is_stale = False
        """Whether the link was estimated anew, and nothing was computed anew yet."""
        self._tickets: dict[int, Ticket[T]] = {}
        """All that wait, by number."""
        self._least_worth: LeastWorth[T] = LeastWorth()
        self._pressed = 0
        """How many of them do not stand in the timeless line."""
        self._number = 0

    def __len__(self) -> int:
        return len(self._tickets)

    def push(self, waiting: Waiting[T], now: Micros) -> None:
        """Another that waits, behind its equals."""
        self._number += 1
        is_pressed = waiting.is_pressed
        ticket = Ticket(waiting, self._number, is_timeless=self._looks_at_time and not is_pressed)
        self._tickets[self._number] = ticket
        self._least_worth.push(ticket)
        if ticket.is_timeless:
            self._timeless.push(ticket)
            return
        self._pressed += 1
        if self._looks_at_time and expires_at(waiting) is None:
            # A pair of it may have it whenever: it stands in that line, too, lest what others bid keep it here for ever.
            self._timeless.push(ticket)
        prospects = prospects_of(waiting, self._link) if is_pressed else []
        self._policy.push(ticket, prospects)
        if self._expiry is not None:
            self._expiry.push(ticket, prospects)

    def pop(self, now: Micros) -> Waiting[T]:
        """The next to send; there must be one."""
        self._refresh()
        if not self._pressed:
            ticket = self._timeless.pop()
        elif self._timeless.is_overdue(now):
            ticket = self._timeless.pop_overdue()
        else:
            ticket = self._policy.pop(now)
            self._timeless.note_pressed(ticket.waiting.size_bytes)
        self._remove(ticket)
        return ticket.waiting

    def expire(self, now: Micros, *, by_estimate: bool = True) -> list[Unsent[T]]:
        """Remove what is not worth sending any more: what is certain, and if asked also what the estimates say.

        Ask by estimate only while the link is busy and its estimate fresh: an idle link sends what looks hopeless.
        """
        if self._expiry is None or not self._pressed:
            return []
        unsent: list[Unsent[T]] = []
        for ticket in self._expiry.pop_expired(now):
            self._remove(ticket)
            unsent.append(Unsent(ticket.waiting, Reason.EXPIRED))
        if by_estimate:
            self._refresh()
            for ticket in self._expiry.pop_hopeless(now):
                self._remove(ticket)
                unsent.append(Unsent(ticket.waiting, Reason.HOPELESS))
        return unsent

    def give_up_least_worth(self, now: Micros) -> Waiting[T]:
        """Remove, from a full queue, what it would earn least by; of equals the one that came last."""
        ticket = self._least_worth.pop(self._tickets, self._link, now)
        self._remove(ticket)
        return ticket.waiting

    def estimate(self, link: LinkEstimate) -> None:
        """Go by these delays of the link from now on. All is computed anew, so tell only what moved noticeably."""
        self._is_stale = self._is_stale or link != self._link
        self._link = link

    def _refresh(self) -> None:
        """Compute anew what an estimate has changed; once for many estimates."""
        if self._is_stale and self._pressed:
            self._is_stale = False
            self._policy.estimate(self._link)
            if self._expiry is not None:
                self._expiry.estimate(self._link, self._tickets.values())

    def _remove(self, ticket: Ticket[T]) -> None:
        ticket.is_gone = True
        del self._tickets[ticket.number]
        if not ticket.is_timeless:
            self._pressed -= 1


def _policy(name: str, weight: float, link: LinkEstimate) -> QueuePolicy[T]:
    if name == "fcfs":
        return FirstComeFirstServed()
    if name == "fix":
        return FixedPriority()
    if name == "lrt":
        return LeastRemainingTime()
    if name == "mtep":
        return MaxTotalEarning(weight, link)
    raise ConfigError("egress.discipline", f"{name!r} is none of {', '.join(POLICIES)}")
