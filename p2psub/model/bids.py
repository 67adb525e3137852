"""What a subscription bids for its events: by when they must come, what that is worth, and what a miss costs.

Applications name prices as decimals. Inside they are ints, in millionths: sums are exact in any order, so books equal
the sum of their pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec

from p2psub.model.instants import Micros

PRICE_ONE: Final = 1_000_000
"""A price of 1, in millionths."""
PRICE_MAX: Final = 1_000_000 * PRICE_ONE
"""Of one pair of event and subscription, as for a penalty: a million pairs still add up within 63 bits. A guess."""
DEADLINE_US_MAX: Final = Micros(24 * 3600 * 1_000_000)
"""A day: no event is kept so long for a subscriber that does not take it. A guess."""
TIMEOUT_US_MAX: Final = DEADLINE_US_MAX
"""What a publisher may name: longer says no more than none."""

Span = Annotated[int, msgspec.Meta(ge=0, le=DEADLINE_US_MAX)]
"""A deadline or a timeout; 0: none."""

Price = Annotated[int, msgspec.Meta(ge=0, le=PRICE_MAX)]
"""In millionths."""


class Bid(msgspec.Struct, frozen=True, array_like=True):
    """Deadline, price and penalty of a subscription (MTEP 1.2), fixed for its life; the default presses nobody."""

    deadline_us: Span = 0
    """How old an event may be when it is handed over; 0: any age."""
    price: Price = PRICE_ONE
    penalty: Price = 0


NO_BID: Final = Bid()
"""Of a subscription that says nothing."""


def bid_or_none(bid: Bid) -> Bid | None:
    """A bid as it travels: the default needs no words."""
    return None if bid == NO_BID else bid


def is_allowed(bid: Bid) -> bool:
    """Whether it is within the caps; what has come over a wire is."""
    return 0 <= bid.deadline_us <= DEADLINE_US_MAX and 0 <= bid.price <= PRICE_MAX and 0 <= bid.penalty <= PRICE_MAX


def limit_us(timeout_us: int, deadline_us: int) -> int:
    """The age up to which an event may be handed over: the earlier of timeout and deadline (MTEP 5); 0: any age."""
    return min(timeout_us, deadline_us) or timeout_us or deadline_us


def is_late(age_us: int, timeout_us: int, deadline_us: int) -> bool:
    """Whether an event of this age may not be handed over any more."""
    return (0 < timeout_us < age_us) or (0 < deadline_us < age_us)


_SUM_MAX: Final = (1 << 63) - 1
_Sum = Annotated[int, msgspec.Meta(ge=0, le=_SUM_MAX)]


class BidSum(msgspec.Struct, frozen=True, array_like=True):
    """What pairs of event and subscription that must be handed over by one age bid together.

    The formulas of MTEP are linear in prices and penalties, so nothing is lost by adding them up.
    """

    limit_us: Span
    """0: any age."""
    price: _Sum
    penalty: _Sum
    pairs: _Sum


def sum_bids(timeout_us: int, several: Iterable[tuple[Bid | None, int]]) -> tuple[BidSum, ...]:
    """Bids, each with the number of events that it is for, added up by limit."""
    sums: dict[int, list[int]] = {}
    for bid, pairs in several:
        one = NO_BID if bid is None else bid
        of_limit = sums.setdefault(limit_us(timeout_us, one.deadline_us), [0, 0, 0])
        of_limit[0] += one.price * pairs
        of_limit[1] += one.penalty * pairs
        of_limit[2] += pairs
    # A liar may say that so much is owed: a message must be able to carry the sum.
    return tuple([BidSum(limit, *[min(_SUM_MAX, one) for one in totals]) for limit, totals in sorted(sums.items())])
