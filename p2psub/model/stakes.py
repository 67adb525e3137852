"""What waits for a link, and what is at stake if it comes too late: the terms of MTEP's sums."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from p2psub.model.instants import Micros
from p2psub.model.reasons import Reason

T = TypeVar("T")

BYTES_PER_KB: Final = 1000
"""Delays are told by the KB, as in the paper."""


class LinkEstimate(msgspec.Struct, frozen=True, gc=False):
    """How long a link takes for a KB: mean and standard deviation (MTEP 2.1.2)."""

    mean_us_per_kb: float
    deviation_us_per_kb: float


class Stake(msgspec.Struct, frozen=True, gc=False):
    """One term of formulas 2, 3, 10 and 11: what pairs with one deadline and one way beyond the link are worth.

    The formulas are linear, so pairs that share deadline and way may share a stake: price, penalty and count add up.
    """

    due_us: Micros | None
    """The instant of our steady clock by which they must be handed over; None: whenever."""
    price: int
    """In millionths, as is the penalty."""
    penalty: int
    mean_us_per_kb: float = 0.0
    """Of the way beyond this queue's link: the sum of its links."""
    variance: float = 0.0
    """Of the same, in (µs per KB) squared."""
    fixed_us: int = 0
    """What does not depend on the size: processing at each hop, and the last hop to the subscriber (SBD)."""
    pairs: int = 1
    is_way_old: bool = False
    """Whether the figures of the way are old: they count for the order, but make nothing hopeless."""


class Waiting(msgspec.Struct, Generic[T], frozen=True):
    """One message in a queue; the queue never looks into the item itself."""

    item: T
    size_bytes: int
    since_us: Micros
    expires_us: Micros | None = None
    """The instant of our steady clock at which the publisher's timeout ends."""
    stakes: tuple[Stake, ...] = ()
    rank: int = 1
    """Its fixed priority, for `fix` alone: 1 to 5, of which 5 goes first."""

    @property
    def is_pressed(self) -> bool:
        """Whether time matters to it: it has a timeout, or a stake of it a deadline."""
        if self.expires_us is not None:
            return True
        for stake in self.stakes:  # noqa: SIM110, a generator costs more than the few stakes
            if stake.due_us is not None:
                return True
        return False


class Unsent(msgspec.Struct, Generic[T], frozen=True):
    """What left a queue without being sent, and why."""

    waiting: Waiting[T]
    reason: Reason
    """`expired`: the timeout, or every deadline, has passed. `hopeless`: the estimates leave no pair a chance."""
