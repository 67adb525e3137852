"""The hand-over to the application: what it is given, what it is told to miss, and what both are worth.

Everything that is handed over passes here, whether it comes after the verdict or was held back until then.
"""

from __future__ import annotations

from p2psub.model.bids import PRICE_ONE
from p2psub.model.books import why_expired
from p2psub.model.content import Event, Guarantee
from p2psub.model.effects import NotifyGap
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.parcels.books import Books
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.subscriber.checked_parcel import rows_of
from p2psub.subscriber.held_subscription import Arrived, HeldSubscription, arrivals, notification


class HandOvers:
    """All hand-overs of this process."""

    def __init__(self, step: Step, sampler: TraceSampler) -> None:
        self._step = step
        self._sampler = sampler
        self.books = Books(step, Guarantee.AT_MOST_ONCE)

    def release(self, wanted: HeldSubscription) -> None:
        """It stands: what was held back for the verdict is handed over, but for what became late."""
        if wanted.declared.has_lapsed and wanted.declared.is_active:
            wanted.declared.has_lapsed = False
            self.notify_gap(wanted.declared.record.id, 0, Reason.LAPSED)
        held_back, wanted.held_back = wanted.held_back, []
        in_time: list[Arrived] = []
        for one in arrivals(held_back):
            if 0 < one.limit_us < self._step.now - one.born_us:
                self.drop_late(wanted, one.hashed[0][0].timeout_us, one.born_us, len(one.hashed))
            else:
                in_time.append(one)
        if in_time:
            self.give(wanted, in_time)

    def free(self, wanted: HeldSubscription) -> None:
        """It was refused: what was held back for the verdict is let go."""
        if wanted.held_back:
            id_, count = wanted.declared.record.id, len(wanted.held_back)
            self._step.record(Kind.DROP, subscription=id_, reason=Reason.REFUSED, count=count)
            wanted.held_back.clear()

    def drop_late(self, wanted: HeldSubscription, timeout_us: int, born_us: Micros, count: int) -> None:
        """Events of one age come too late for their limit."""
        id_, bid, age_us = wanted.declared.record.id, wanted.bid, self._step.now - born_us
        penalty = self.books.miss(id_, bid, why_expired(timeout_us, bid.deadline_us), count)
        self._step.record(
            Kind.DROP, subscription=id_, reason=Reason.EXPIRED, count=count, age_us=age_us, earned=-penalty
        )

    def give(self, wanted: HeldSubscription, several: list[Arrived]) -> None:
        """Put events into the application's channel, behind word of those that it missed."""
        id_ = wanted.declared.record.id
        self.tell_gap(wanted)
        events = [event for one in several for event, _ in one.hashed]
        wanted.window -= len(events)
        late = 0 if wanted.order is None else wanted.order.count_late(events, self._step.now)
        if late:
            self.notify_gap(id_, late, Reason.ORDER)
        for one in several:
            self._record_delivery(wanted, one, events if len(several) == 1 else [event for event, _ in one.hashed])
        self._step.effects.append(notification(id_, events, several))

    def _record_delivery(self, wanted: HeldSubscription, one: Arrived, events: list[Event]) -> None:
        """What promises nothing is booked here, all else by its owner."""
        id_, bid = wanted.declared.record.id, wanted.bid
        is_promised = events[0].guarantee is Guarantee.EFFECTIVELY_ONCE
        if not is_promised:
            self.books.hand_over(id_, bid, len(events))
        traced = [one.hashed[index] for index in self._sampler.sample(Kind.DELIVER, events)]
        for first, count in rows_of(traced):
            self._step.record(
                Kind.DELIVER,
                event=traced[first][0].id,
                run=None if count == 1 else count,
                subscription=id_,
                digest=b"".join([leaf for _, leaf in traced[first : first + count]]),
                age_us=self._step.now - one.born_us,
                earned=None if bid.price == PRICE_ONE else bid.price,
                guarantee=None if is_promised else Guarantee.AT_MOST_ONCE,
            )

    def tell_gap(self, wanted: HeldSubscription) -> None:
        """The channel has room for word of what it did not take."""
        if wanted.gap:
            self.notify_gap(wanted.declared.record.id, wanted.gap, Reason.CHANNEL_FULL)
            wanted.gap = 0

    def notify_gap(self, id_: SubscriptionId, count: int, reason: Reason) -> None:
        """Tell of events that never come."""
        self._step.record(Kind.GAP, subscription=id_, count=count, reason=reason)
        self._step.effects.append(NotifyGap(id_, count, reason))
