"""Counts what comes out of a subscription."""

from __future__ import annotations

import time
from collections.abc import Sequence

import trio

from p2psub.api.items import Gap, Notification
from p2psub.bench.content import AT_NS
from p2psub.bench.orders import Consumed, ConsumeOrder
from p2psub.runtime.subscription_stream import SubscriptionStream


class ConsumedTally:
    """What was consumed so far."""

    __slots__ = ("_ages_ns", "_consumed", "_last_ns", "_missing")

    def __init__(self) -> None:
        self._consumed = 0
        self._missing = 0
        self._last_ns = 0
        self._ages_ns: list[int] = []

    @property
    def total(self) -> int:
        """Events that came, or were said to be missing."""
        return self._consumed + self._missing

    def count(self, items: Sequence[Notification | Gap], now_ns: int) -> None:
        """Items were consumed together."""
        gaps = [item for item in items if isinstance(item, Gap)]
        self._consumed += len(items) - len(gaps)
        self._missing += sum(gap.count for gap in gaps)
        self._last_ns = now_ns

    def time(self, item: Notification | Gap, now_ns: int) -> None:
        """Note how old an event is now."""
        if isinstance(item, Notification):
            self._ages_ns.append(age_ns(item, now_ns))

    def consumed(self) -> Consumed:
        """The answer to the order."""
        return Consumed(self._consumed, self._missing, self._last_ns, self._ages_ns)


def age_ns(notification: Notification, now_ns: int) -> int:
    """How old its event is now."""
    made_ns = notification.event.attributes[AT_NS]
    assert isinstance(made_ns, int)
    return now_ns - made_ns


async def consume(subscription: SubscriptionStream, order: ConsumeOrder) -> Consumed:
    """Carry the order out; silence for as long as its patience ends it."""
    tally = ConsumedTally()
    with trio.CancelScope() as patience:
        await (_one_by_one if order.one_by_one else _batches)(subscription, order, tally, patience)
    return tally.consumed()


async def _batches(
    subscription: SubscriptionStream, order: ConsumeOrder, tally: ConsumedTally, patience: trio.CancelScope
) -> None:
    while tally.total < order.count:
        patience.deadline = trio.current_time() + order.patience_s
        items = await subscription.take_all()
        tally.count(items, time.monotonic_ns())


async def _one_by_one(
    subscription: SubscriptionStream, order: ConsumeOrder, tally: ConsumedTally, patience: trio.CancelScope
) -> None:
    while tally.total < order.count:
        patience.deadline = trio.current_time() + order.patience_s
        item = await anext(subscription)
        now_ns = time.monotonic_ns()
        tally.count([item], now_ns)
        if order.is_timed:
            tally.time(item, now_ns)
