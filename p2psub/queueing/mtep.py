"""Maximum total earning priority: the message goes first whose sending now earns most (MTEP 2.3 and 2.4).

Who is first is exact, yet few are looked at to know it. Each that waits has a bound, which its priority does not exceed
until some instant. They are looked at in the order of their bounds, until the best priority seen is no lower than the
next bound. A bound for a short time is close, and one for a long time is wide: one that was in the way is next made
to hold half as long, and one that ended without having been in the way twice as long. Most priorities only fall, and
their bounds hold for good.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

from p2psub.model.instants import Micros
from p2psub.model.stakes import BYTES_PER_KB, LinkEstimate
from p2psub.queueing.prospects import Prospect, prospects_of
from p2psub.queueing.sizes import MeanSize
from p2psub.queueing.slopes import Slopes
from p2psub.queueing.tickets import SWEPT_AT_MIN, Ticket

T = TypeVar("T")

FIRST_SPAN: Final = 8.0
"""For how many postponements the first bound holds. A guess, corrected as bounds are used."""


class _Contender(Generic[T]):
    """A ticket and what is known of its priority."""

    __slots__ = (
        "binding",
        "bound",
        "bound_until_us",
        "number",
        "priority",
        "prospects",
        "seen_us",
        "slopes",
        "span_us",
        "ticket",
    )

    def __init__(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        self.ticket = ticket
        self.prospects: list[Prospect] | None = prospects
        """Until it is looked at."""
        self.number = ticket.number
        self.slopes: Slopes | None = None
        self.seen_us: int | None = None
        """When it was looked at last."""
        self.priority = 0
        """At that instant."""
        self.bound = 0
        self.bound_until_us: int | None = None
        """None: for good."""
        self.span_us = 0
        """For how long a bound is asked for."""
        self.binding = 0
        """Of the entries by which it stands in line; those of another binding are out of date. 0: it has none."""

    def is_before(self, other: _Contender[T]) -> bool:
        """The higher priority, or the first come of equals."""
        return self.priority > other.priority or (self.priority == other.priority and self.number < other.number)

    def may_be_before(self, other: _Contender[T]) -> bool:
        """Whether that is possible, by its bound."""
        return self.bound > other.priority or (self.bound == other.priority and self.number < other.number)


class MaxTotalEarning(Generic[T]):
    """By formula 13; first come, first served among equals."""

    def __init__(self, weight: float, link: LinkEstimate) -> None:
        self._weight = weight
        self._link = link
        self._sizes = MeanSize()
        self._unbounded: list[_Contender[T]] = []
        self._bindings = 0
        self._line: list[tuple[int, int, int, _Contender[T]]] = []
        """Highest bound first, as its negative; then first come. With the number of the binding."""
        self._ends: list[tuple[int, int, _Contender[T]]] = []
        """By the instant at which the bound ends, and the number of the binding."""
        self._swept_at = SWEPT_AT_MIN

    @property
    def postponed_us(self) -> float:
        """LMT: for how long another message would take the link, by mean size and mean delay (8)."""
        return self._sizes.mean_bytes / BYTES_PER_KB * self._link.mean_us_per_kb

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None:
        if self._sizes.note(ticket.waiting.size_bytes):
            self._forget_bounds()
        self._sweep()
        self._unbounded.append(_Contender(ticket, prospects))

    def estimate(self, link: LinkEstimate) -> None:
        self._link = link
        self._forget_bounds()

    def pop(self, now: Micros) -> Ticket[T]:
        looked = self._take_unbounded(now)
        if len(looked) == 1 and not self._standing_first():
            return looked[0].ticket
        best: _Contender[T] | None = None
        for contender in looked:
            self._look(contender, now)
            if best is None or contender.is_before(best):
                best = contender
        while (highest := self._standing_first()) and (best is None or highest.may_be_before(best)):
            heappop(self._line)
            highest.binding = 0
            highest.span_us = 1 + highest.span_us // 2
            self._look(highest, now)
            looked.append(highest)
            if best is None or highest.is_before(best):
                best = highest
        assert best is not None
        for contender in looked:
            if contender is not best:
                self._bind(contender)
        return best.ticket

    def _standing_first(self) -> _Contender[T] | None:
        """The one with the highest bound."""
        line = self._line
        while line:
            _, _, binding, contender = line[0]
            if contender.binding == binding and not contender.ticket.is_gone:
                return contender
            heappop(line)
        return None

    def _take_unbounded(self, now: Micros) -> list[_Contender[T]]:
        """Those that have no bound yet, or have none any more."""
        unbounded = [contender for contender in self._unbounded if not contender.ticket.is_gone]
        self._unbounded.clear()
        ends = self._ends
        while ends and ends[0][0] < now:
            _, binding, contender = heappop(ends)
            if contender.binding == binding and not contender.ticket.is_gone:
                contender.binding = 0
                contender.span_us *= 2
                unbounded.append(contender)
        return unbounded

    def _look(self, contender: _Contender[T], now: Micros) -> None:
        if contender.seen_us == now:
            return
        slopes = contender.slopes
        if slopes is None:
            postponed_us = self.postponed_us
            prospects = contender.prospects or prospects_of(contender.ticket.waiting, self._link)
            slopes = contender.slopes = Slopes(prospects, postponed_us, self._weight)
            contender.prospects = None
            contender.span_us = 1 + int(FIRST_SPAN * postponed_us)
        waited_us = now - contender.ticket.waiting.since_us
        contender.priority, contender.bound = slopes.look(waited_us, waited_us + contender.span_us)
        contender.bound_until_us = None if slopes.only_falls_from(waited_us) else now + contender.span_us
        contender.seen_us = now

    def _bind(self, contender: _Contender[T]) -> None:
        self._bindings += 1
        contender.binding = self._bindings
        heappush(self._line, (-contender.bound, contender.number, contender.binding, contender))
        if contender.bound_until_us is not None:
            heappush(self._ends, (contender.bound_until_us, contender.binding, contender))

    def _forget_bounds(self) -> None:
        """Every priority is another than it was."""
        for contender in self._standing():
            contender.binding = 0
            self._unbounded.append(contender)
        for contender in self._unbounded:
            contender.slopes = contender.prospects = None
            contender.seen_us = None
        self._line.clear()
        self._ends.clear()

    def _standing(self) -> list[_Contender[T]]:
        return [
            contender
            for _, _, binding, contender in self._line
            if contender.binding == binding and not contender.ticket.is_gone
        ]

    def _sweep(self) -> None:
        """Throw out what is out of date once it may be more than half."""
        if len(self._unbounded) + len(self._line) + len(self._ends) <= self._swept_at:
            return
        self._unbounded = [contender for contender in self._unbounded if not contender.ticket.is_gone]
        standing = self._standing()
        self._line.clear()
        self._ends.clear()
        for contender in standing:
            self._bind(contender)
        self._swept_at = max(SWEPT_AT_MIN, 2 * (len(self._unbounded) + len(self._line) + len(self._ends)))
