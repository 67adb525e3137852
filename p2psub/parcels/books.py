"""The books of one role: what the pairs of event and subscription that it settles earn and cost.

A pair is booked once, when its owner takes note of its outcome, or, where nothing is promised, when its subscriber
hands it over or finds it late. Amounts are ints, so the books are the sum of their pairs, whatever the order.
"""

from __future__ import annotations

from typing import Final

from p2psub.model.bids import Bid
from p2psub.model.books import BookSums, SubscriptionBooks
from p2psub.model.content import Guarantee
from p2psub.model.ids import SubscriptionId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step

_SUBSCRIPTIONS_MAX: Final = 1024
"""How many subscriptions are shown by themselves: those booked last. The sums of the node are of all."""
_TELL_EVERY_TICKS: Final = 20
"""How often the trace is told the sums, if they have changed. A guess: ten seconds."""


class _Account:
    """Sums that grow."""

    __slots__ = ("earned", "expired", "on_time", "penalties")

    def __init__(self) -> None:
        self.on_time = 0
        self.earned = 0
        self.penalties = 0
        self.expired: dict[Reason, int] | None = None

    def miss(self, reason: Reason, pairs: int, penalties: int) -> None:
        if self.expired is None:
            self.expired = {}
        self.expired[reason] = self.expired.get(reason, 0) + pairs
        self.penalties += penalties

    def sums(self) -> BookSums:
        return BookSums(self.on_time, self.earned, self.penalties, dict(self.expired or {}))


class Books:
    """Of the owner in this process, or of its subscriber."""

    def __init__(self, step: Step, guarantee: Guarantee) -> None:
        self._step = step
        self._guarantee = guarantee
        self._all = _Account()
        self._by_subscription: dict[SubscriptionId, _Account] = {}
        """The subscription booked last is the last."""
        self._is_told = True

    def hand_over(self, id_: SubscriptionId, bid: Bid, pairs: int) -> None:
        """So many events were handed over in time."""
        # Straight on: this is done for every delivery.
        earned, every, account = pairs * bid.price, self._all, self._account(id_)
        every.on_time += pairs
        every.earned += earned
        account.on_time += pairs
        account.earned += earned

    def miss(self, id_: SubscriptionId, bid: Bid, reason: Reason, pairs: int) -> int:
        """So many events were owed and end without having been handed over; returns what each of them costs.

        What a full channel made late costs nothing: no owner could have done better.
        """
        penalty = 0 if reason is Reason.CHANNEL_FULL else bid.penalty
        for account in (self._all, self._account(id_)):
            account.miss(reason, pairs, pairs * penalty)
        return penalty

    def _account(self, id_: SubscriptionId) -> _Account:
        self._is_told = False
        account = self._by_subscription.pop(id_, None)
        if account is None:
            account = _Account()
            if len(self._by_subscription) >= _SUBSCRIPTIONS_MAX:
                del self._by_subscription[next(iter(self._by_subscription))]
        self._by_subscription[id_] = account
        return account

    def sums(self) -> BookSums:
        """Of all subscriptions, since the process began."""
        return self._all.sums()

    def by_subscription(self) -> list[SubscriptionBooks]:
        """Of the subscriptions that were booked last, each since it was not among them."""
        return [SubscriptionBooks(id_, self._guarantee, a.sums()) for id_, a in self._by_subscription.items()]

    def tick(self) -> None:
        """Tell the trace where they stand, so that whoever reads it can compare them with the pairs before."""
        if not self._is_told and self._step.tick % _TELL_EVERY_TICKS == 0:
            self._is_told = True
            self._step.record(Kind.BOOKS, guarantee=self._guarantee, books=self._all.sums())
