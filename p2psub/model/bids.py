"""What a subscription bids for its events: by when they must come, what that is worth, and what a miss costs.

Applications name prices as decimals. Inside they are ints, in millionths: sums are exact in any order, so books equal
the sum of their pairs.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from p2psub.model.instants import Micros

PRICE_ONE: Final = 1_000_000
"""A price of 1, in millionths."""
PRICE_MAX: Final = 1_000_000 * PRICE_ONE
"""Of one pair of event and subscription, as for a penalty: a million pairs still add up within 63 bits. A guess."""
DEADLINE_US_MAX: Final = Micros(24 * 3600 * 1_000_000)
"""A day: no event is kept so long for a subscriber that does not take it. A guess."""

Price = Annotated[int, msgspec.Meta(ge=0, le=PRICE_MAX)]
"""In millionths."""


class Bid(msgspec.Struct, frozen=True, array_like=True):
    """Deadline, price and penalty of a subscription (MTEP 1.2), fixed for its life; the default presses nobody."""

    deadline_us: Annotated[int, msgspec.Meta(ge=0, le=DEADLINE_US_MAX)] = 0
    """How old an event may be when it is handed over; 0: any age."""
    price: Price = PRICE_ONE
    penalty: Price = 0
