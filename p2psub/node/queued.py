"""What waits in the egress, and what is at stake for its link's queue if it comes too late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from p2psub.model.bids import PRICE_ONE, BidSum
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.base import ClusterBids
from p2psub.model.parcels import Parcel
from p2psub.model.stakes import Stake, Waiting
from p2psub.model.transmission import Transmission
from p2psub.model.ways import NO_WAY, Way
from p2psub.queueing.fix import rank_of

STAKES_MAX: Final = 1024
"""So many subscribers' deadlines are told apart in one message: to look at them takes a millisecond or two. A guess."""


class Queued:
    """A message, since when it has waited, and what its core is told of it."""

    __slots__ = ("message", "since_us", "transmission", "weight")

    def __init__(self, message: Message, weight: int, since_us: Micros, transmission: Transmission | None) -> None:
        self.message = message
        self.weight = weight
        self.since_us = since_us
        self.transmission = transmission


class Content(Protocol):
    """What a message that carries a parcel tells of it."""

    @property
    def parcel(self) -> Parcel: ...

    @property
    def age_us(self) -> Micros: ...

    @property
    def bid_sums(self) -> tuple[ClusterBids, ...]: ...

    @property
    def is_sent_late(self) -> bool: ...

    @property
    def is_repeated(self) -> bool: ...


def waiting_of(queued: Queued, content: Content, beyond: Callable[[ClusterId], Way]) -> Waiting[Queued]:
    """Where nobody knows yet who wants the events, each counts as one pair that bids what all bid."""
    parcel, born_us = content.parcel, queued.since_us - content.age_us
    bids = content.bid_sums
    if not bids:
        count = len(parcel.events)
        bids = ((None, (BidSum(0, PRICE_ONE * count, 0, count),)),)
    stakes: list[Stake] = []
    if sum([len(sums) for _, sums in bids]) > STAKES_MAX:
        stakes.append(_stake(_together([one for _, sums in bids for one in sums]), born_us, NO_WAY))
    else:
        for cluster, sums in bids:
            way = NO_WAY if cluster is None else beyond(cluster)
            stakes += [_stake(one, born_us, way) for one in sums]
    expires_us = None if content.is_sent_late else _after(born_us, parcel.timeout_us)
    return Waiting(queued, queued.weight, queued.since_us, expires_us, tuple(stakes), rank_of(parcel.first))


def _together(several: list[BidSum]) -> BidSum:
    """All as one, with the last of their limits: so nothing expires early."""
    limits = [one.limit_us for one in several]
    price, penalty = sum([one.price for one in several]), sum([one.penalty for one in several])
    return BidSum(max(limits) if all(limits) else 0, price, penalty, sum([one.pairs for one in several]))


def _stake(bids: BidSum, born_us: int, way: Way) -> Stake:
    due_us = _after(born_us, bids.limit_us)
    figures = way.mean_us_per_kb, way.variance, way.fixed_us
    return Stake(due_us, bids.price, bids.penalty, *figures, bids.pairs, way.is_old)


def _after(born_us: int, limit_us: int) -> Micros | None:
    """The first instant at which it is late: at its very limit an event is still in time."""
    return Micros(born_us + limit_us + 1) if limit_us else None
