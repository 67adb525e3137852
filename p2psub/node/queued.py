"""What waits in the egress, and what is at stake for its link's queue if it comes too late."""

from __future__ import annotations

from typing import Protocol

from p2psub.model.bids import PRICE_ONE, BidSum
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.parcels import Parcel
from p2psub.model.stakes import Stake, Waiting
from p2psub.model.transmission import Transmission
from p2psub.queueing.fix import rank_of


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
    def bid_sums(self) -> tuple[BidSum, ...]: ...

    @property
    def is_sent_late(self) -> bool: ...


def waiting_of(queued: Queued, content: Content) -> Waiting[Queued]:
    """Where nobody knows yet who wants the events, each counts as one pair that bids what all bid."""
    parcel, born_us = content.parcel, queued.since_us - content.age_us
    sums = content.bid_sums or (BidSum(0, PRICE_ONE * len(parcel.events), 0, len(parcel.events)),)
    stakes = tuple([Stake(_after(born_us, one.limit_us), one.price, one.penalty, pairs=one.pairs) for one in sums])
    expires_us = None if content.is_sent_late else _after(born_us, parcel.timeout_us)
    return Waiting(queued, queued.weight, queued.since_us, expires_us, stakes, rank_of(parcel.first))


def _after(born_us: int, limit_us: int) -> Micros | None:
    """The first instant at which it is late: at its very limit an event is still in time."""
    return Micros(born_us + limit_us + 1) if limit_us else None
