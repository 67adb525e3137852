"""What became of pairs of event and subscription, as their owner takes note of it: recorded once, and booked once."""

from __future__ import annotations

from typing import Final

from p2psub.model.bids import NO_BID, PRICE_ONE, Bid, limit_us
from p2psub.model.books import why_expired
from p2psub.model.content import Guarantee
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.owner.held_parcel import HeldParcel
from p2psub.owner.payments import Payments
from p2psub.parcels.books import Books

_MISSES: Final = {
    Outcome.EXPIRED: Reason.EXPIRED,
    Outcome.HOPELESS: Reason.HOPELESS,
    Outcome.UNREACHABLE: Reason.OLDER_THAN_TTL,
    Outcome.SPOOL_FULL: Reason.SPOOL_FULL,
}
"""Pairs that were owed and not handed over. What its subscriber ended is owed no more, and booked nowhere."""


class Settlements:
    """The outcomes of this process's time as an owner."""

    def __init__(self, step: Step, payments: Payments) -> None:
        self._step = step
        self._payments = payments
        self.books = Books(step, Guarantee.EFFECTIVELY_ONCE)

    def note(self, held: HeldParcel, id_: SubscriptionId, places: int, outcome: Outcome) -> None:
        """These events have an outcome for a subscription, and had none before."""
        bid = held.bids.get(id_, NO_BID)
        reason: Reason | None = None
        earned: int | None = None
        if outcome is Outcome.DELIVERED:
            self.books.hand_over(id_, bid, places.bit_count())
            earned = None if bid.price == PRICE_ONE else bid.price
        elif outcome in _MISSES:
            reason = self._why(held, id_, bid, outcome)
            earned = -self.books.miss(id_, bid, reason, places.bit_count()) or None
        age_us = held.age_us(self._step.now)
        for event, run in held.runs(places):
            self._step.record(
                Kind.OUTCOME,
                event=event,
                run=run,
                subscription=id_,
                outcome=outcome,
                reason=reason,
                age_us=age_us,
                earned=earned,
            )
        self._payments.settled(held.id, id_, places)

    def _why(self, held: HeldParcel, id_: SubscriptionId, bid: Bid, outcome: Outcome) -> Reason:
        """A full channel if it was full when the time ran out; else what ended the pair."""
        over_us: int = self._step.now
        if outcome is Outcome.EXPIRED:
            over_us = min(over_us, held.born_us + limit_us(held.timeout_us, bid.deadline_us))
        if self._payments.had_no_room(id_, over_us):
            return Reason.CHANNEL_FULL
        return why_expired(held.timeout_us, bid.deadline_us) if outcome is Outcome.EXPIRED else _MISSES[outcome]
