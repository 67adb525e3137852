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
from p2psub.queueing.expiry import Expiry
from p2psub.queueing.fcfs import FirstCome
from p2psub.queueing.fix import FixedPriority
from p2psub.queueing.lrt import LeastRemainingTime
from p2psub.queueing.mtep import MaxTotalEarning
from p2psub.queueing.policy import POLICIES, QueuePolicy, Ticket
from p2psub.queueing.prospects import prospects_of, worth
from p2psub.queueing.stakes import LinkEstimate, Unsent, Waiting, is_pressed
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
        self._timeless: TimelessLine[T] | None = TimelessLine() if policy in {"lrt", "mtep"} else None
        self._expiry: Expiry[T] | None = Expiry(epsilon) if is_dropping else None
        """None: nothing is dropped. For the paper's experiment alone."""
        self._link = link
        self._waiting: dict[int, Ticket[T]] = {}
        """All, by number."""
        self._pressed = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, waiting: Waiting[T], now: Micros) -> None:
        """Another that waits, behind its equals."""
        self._number += 1
        ticket = Ticket(waiting, self._number, prospects_of(waiting, self._link))
        self._waiting[self._number] = ticket
        if self._timeless is not None and not is_pressed(waiting):
            self._timeless.push(ticket)
            return
        self._pressed += 1
        self._policy.push(ticket, now)
        if self._expiry is not None:
            self._expiry.push(ticket)

    def pop(self, now: Micros) -> Waiting[T]:
        """The next to send; there must be one."""
        timeless = self._timeless
        if timeless is not None and (not self._pressed or timeless.is_overdue(now)):
            ticket = timeless.pop(is_before_pressed=self._pressed > 0)
        else:
            ticket = self._policy.pop(now)
            if timeless is not None:
                timeless.note_pressed(ticket.waiting.size_bytes)
            self._pressed -= 1
        ticket.is_gone = True
        del self._waiting[ticket.number]
        return ticket.waiting

    def expire(self, now: Micros, *, by_estimate: bool = True) -> list[Unsent[T]]:
        """Remove what is not worth sending any more: what is certain, and if asked also what the estimates say.

        Ask by estimate only while the link is busy and its estimate fresh: an idle link sends what looks hopeless.
        """
        if self._expiry is None:
            return []
        unsent = [self._unsent(ticket, Reason.EXPIRED) for ticket in self._expiry.pop_expired(now)]
        if by_estimate:
            unsent += [self._unsent(ticket, Reason.HOPELESS) for ticket in self._expiry.pop_hopeless(now)]
        return unsent

    def _unsent(self, ticket: Ticket[T], reason: Reason) -> Unsent[T]:
        del self._waiting[ticket.number]
        self._pressed -= 1
        return Unsent(ticket.waiting, reason)

    def give_up_least_worth(self, now: Micros) -> Waiting[T]:
        """Remove, from a full queue, what earns least; of equals the one that came last."""
        ticket = min(self._waiting.values(), key=lambda ticket: (worth(ticket.prospects, now), -ticket.number))
        ticket.is_gone = True
        del self._waiting[ticket.number]
        if self._timeless is None or is_pressed(ticket.waiting):
            self._pressed -= 1
        return ticket.waiting

    def estimate(self, link: LinkEstimate) -> None:
        """Go by these delays of the link from now on. All is computed anew, so tell only what moved noticeably."""
        self._link = link
        for ticket in self._waiting.values():
            ticket.prospects = prospects_of(ticket.waiting, link)
        self._policy.estimate(link)
        if self._expiry is not None:
            self._expiry.rebuild()


def _policy(name: str, weight: float, link: LinkEstimate) -> QueuePolicy[T]:
    if name == "fcfs":
        return FirstCome()
    if name == "fix":
        return FixedPriority()
    if name == "lrt":
        return LeastRemainingTime()
    if name == "mtep":
        return MaxTotalEarning(weight, link)
    raise ConfigError("egress.discipline", f"{name!r} is none of {', '.join(POLICIES)}")
