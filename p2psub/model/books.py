"""What a node's books say of the pairs of event and subscription that ended at it (MTEP 2.2, formula 1)."""

from __future__ import annotations

import msgspec

from p2psub.model.bids import limit_us
from p2psub.model.content import Guarantee
from p2psub.model.ids import SubscriptionId
from p2psub.model.reasons import Reason


class BookSums(msgspec.Struct, frozen=True):
    """Pairs that ended, and what they earned and cost; money in millionths, so that sums are exact."""

    on_time: int = 0
    """Pairs that were handed over."""
    earned: int = 0
    """Their prices."""
    penalties: int = 0
    """Of the pairs that were owed and not handed over."""
    expired: dict[Reason, int] = {}
    """Those pairs, by why."""

    @property
    def earning(self) -> int:
        """What is left of the prices after the penalties: `TotalEarning` of formula (1)."""
        return self.earned - self.penalties

    def plus(self, other: BookSums) -> BookSums:
        """Both together."""
        expired = dict(self.expired)
        for reason, pairs in other.expired.items():
            expired[reason] = expired.get(reason, 0) + pairs
        earned, penalties = self.earned + other.earned, self.penalties + other.penalties
        return BookSums(self.on_time + other.on_time, earned, penalties, expired)


EMPTY_BOOKS = BookSums()


class SubscriptionBooks(msgspec.Struct, frozen=True):
    """The books of one subscription at one node: an owner of what it is promised, or its own peer."""

    subscription: SubscriptionId
    guarantee: Guarantee
    sums: BookSums


def why_expired(timeout_us: int, deadline_us: int) -> Reason:
    """Which limit passes first: the publisher's or the subscription's."""
    return Reason.DEADLINE if limit_us(timeout_us, deadline_us) == deadline_us else Reason.TIMEOUT
