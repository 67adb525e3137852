"""What comes out of a subscription is counted, whichever way it is consumed, and whatever is missing."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from p2psub.api.items import Gap, Notification
from p2psub.bench.consumer import consume
from p2psub.bench.content import EventLoad
from p2psub.bench.orders import Consumed, ConsumeOrder
from p2psub.model.effects import ConsumedCommand
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.runtime.subscription_stream import SubscriptionStream
from tests.unit.bench import node_at


def subscription_with(events: int, *gaps: Gap) -> SubscriptionStream:
    """A stable subscription in which these wait."""

    def tell(_: ConsumedCommand) -> None:
        """The node hears of it."""

    subscription = SubscriptionStream(1 << 20, tell)
    subscription.put(SubscribeVerdict(SubscriptionId(node_at(1), 1, 1), VerdictStatus.STABLE))
    for event in EventLoad(events, ("t",)).events(node_at(2), 0):
        subscription.put(Notification(event))
    for gap in gaps:
        subscription.put(gap)
    return subscription


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_events_and_gaps_are_counted(one_by_one: bool) -> None:
    """Together they are what was published, so nobody waits for what was said to be missing."""
    consumed = await consume(subscription_with(5, Gap(3, Reason.CHANNEL_FULL)), ConsumeOrder(8, 1.0, one_by_one))
    assert (consumed.count, consumed.missing, consumed.ages_ns) == (5, 3, [])
    assert consumed.last_ns > 0


async def test_ages_are_told_when_asked_for() -> None:
    """One for each event, by the clock of the machine."""
    consumed = await consume(subscription_with(4), ConsumeOrder(4, 1.0, one_by_one=True, is_timed=True))
    assert len(consumed.ages_ns) == 4
    assert max(consumed.ages_ns) == consumed.last_ns


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_taking_ends_when_nothing_comes_any_more(autojump_clock: MockClock, one_by_one: bool) -> None:
    """Not before so long a silence, and what came later than others still counts."""
    subscription, consumed = subscription_with(2), Consumed(0, 0, 0)
    (late,) = EventLoad(1, ("t",)).events(node_at(3), 0)

    async def take_all() -> None:
        nonlocal consumed
        consumed = await consume(subscription, ConsumeOrder(9, 10.0, one_by_one))

    began_s = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(take_all)
        await trio.sleep(9.0)
        subscription.put(Notification(late))
    assert consumed.count == 3
    assert trio.current_time() - began_s >= 19.0
