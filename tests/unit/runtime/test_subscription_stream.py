"""An application takes items when it likes, one by one or all that wait, and the node hears how many it consumed."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from p2psub.api.errors import AdmissionRefused, AlreadyEnded
from p2psub.api.items import Gap, Notification
from p2psub.model.effects import ConsumedCommand
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.runtime.subscription_stream import SubscriptionStream
from tests.unit.bench import event_of, node_at

ID = SubscriptionId(node_at(1), 1, 1)
ACCEPTED = SubscribeVerdict(ID, VerdictStatus.ACCEPTED)
STABLE = SubscribeVerdict(ID, VerdictStatus.STABLE)
GAP = Gap(3, Reason.CHANNEL_FULL)


def note(topic: str) -> Notification:
    """An event on this topic."""
    return Notification(event_of(topic))


class Channel:
    """A subscription with its first verdict, and what the node was told."""

    def __init__(self, window: int = 8) -> None:
        self.told: list[ConsumedCommand] = []
        self.subscription = SubscriptionStream(window, self.told.append)
        self.subscription.put(ACCEPTED)

    def put(self, *topics: str) -> None:
        for topic in topics:
            self.subscription.put(note(topic))

    @property
    def consumed(self) -> list[int]:
        return [command.count for command in self.told]


async def test_the_first_verdict_is_waited_for_and_is_no_item(nursery: trio.Nursery) -> None:
    """It gives the subscription its name; later ones are items, and the last one stands."""
    subscription = SubscriptionStream(8, list[ConsumedCommand]().append)
    heard: list[VerdictStatus] = []

    @nursery.start_soon
    async def wait() -> None:
        await subscription.wait_verdict()
        heard.append(subscription.verdict.status)

    await trio.testing.wait_all_tasks_blocked()
    assert heard == []
    subscription.put(ACCEPTED)
    await trio.testing.wait_all_tasks_blocked()
    assert (heard, subscription.id, subscription.waiting) == ([VerdictStatus.ACCEPTED], ID, 0)
    subscription.put(STABLE)
    assert subscription.verdict == STABLE
    assert await subscription.take() == STABLE


async def test_items_come_in_order() -> None:
    """Events and gaps, as the node handed them in; verdicts are passed over by who only wants events."""
    channel = Channel()
    channel.put("a")
    channel.subscription.put(GAP)
    channel.subscription.put(STABLE)
    channel.put("b")
    taken = []
    async for item in channel.subscription:
        taken.append(item)
        if len(taken) == 3:
            break
    assert taken == [note("a"), GAP, note("b")]


async def test_a_batch_is_everything_that_waits() -> None:
    """Without verdicts; and a verdict alone makes no batch."""
    channel = Channel()
    channel.put("a", "b")
    channel.subscription.put(STABLE)
    channel.subscription.put(GAP)
    async for batch in channel.subscription.batches():
        assert batch == [note("a"), note("b"), GAP]
        break
    channel.subscription.put(ACCEPTED)
    with trio.move_on_after(0):
        await channel.subscription.take_all()
        pytest.fail("there was no batch")


async def test_whoever_waits_is_woken_by_an_item(nursery: trio.Nursery) -> None:
    """Of two who wait, one gets it, and the other the next."""
    channel, taken = Channel(), list[object]()

    async def take() -> None:
        taken.append(await channel.subscription.take())

    nursery.start_soon(take)
    nursery.start_soon(take)
    await trio.testing.wait_all_tasks_blocked()
    channel.put("a")
    await trio.testing.wait_all_tasks_blocked()
    assert taken == [note("a")]
    channel.put("b")
    await trio.testing.wait_all_tasks_blocked()
    assert taken == [note("a"), note("b")]


async def test_an_item_is_not_lost_with_who_waited_for_it(nursery: trio.Nursery) -> None:
    """A consumer that is cancelled just when it is woken has taken nothing."""
    channel, scope = Channel(), trio.CancelScope()

    async def take() -> None:
        with scope:
            await channel.subscription.take()
            pytest.fail("it was cancelled")

    nursery.start_soon(take)
    await trio.testing.wait_all_tasks_blocked()
    scope.cancel()
    channel.put("a")
    await trio.testing.wait_all_tasks_blocked()
    assert await channel.subscription.take() == note("a")
    assert channel.consumed == [1]


async def test_the_node_hears_what_was_taken_when_the_channel_is_empty() -> None:
    """Or when a quarter of the window was; in between it is left alone."""
    channel = Channel(window=12)
    channel.put(*"abcdef")
    for expected in ([], [], [3], [3], [3], [3, 3]):
        await channel.subscription.take()
        assert channel.consumed == expected


async def test_only_events_take_room() -> None:
    """The node counts neither gaps nor verdicts: telling of them would open the window too far."""
    channel = Channel()
    channel.subscription.put(GAP)
    channel.subscription.put(STABLE)
    channel.put("a")
    await channel.subscription.take_all()
    assert channel.consumed == [1]
    channel.subscription.put(GAP)
    await channel.subscription.take()
    assert channel.consumed == [1]


@pytest.mark.parametrize("window", [1, 2, 3, 7, 1024])
async def test_all_that_was_taken_is_told(window: int) -> None:
    """Whatever the window: an application that takes everything keeps it open."""
    channel, room = Channel(window), window
    for _ in range(5):
        channel.put(*["a"] * room)
        for _ in range(room):
            await channel.subscription.take()
        assert sum(channel.consumed) == room
        channel.told.clear()


async def test_who_waits_for_a_subscription_that_was_left_hears_so(nursery: trio.Nursery) -> None:
    """What had arrived may still be taken; nothing more will come."""
    channel = Channel()

    @nursery.start_soon
    async def take() -> None:
        with pytest.raises(AlreadyEnded, match="inside the block"):
            await channel.subscription.take()

    await trio.testing.wait_all_tasks_blocked()
    channel.subscription.end()
    await trio.testing.wait_all_tasks_blocked()
    channel.put("a")
    assert await channel.subscription.take() == note("a")
    with pytest.raises(AlreadyEnded):
        await channel.subscription.take_all()


REFUSED = SubscribeVerdict(ID, VerdictStatus.REFUSED, (), Reason.VOTED_DOWN)


@pytest.mark.parametrize("is_waiting", [True, False])
async def test_late_refusal_ends_the_iteration(nursery: trio.Nursery, is_waiting: bool) -> None:
    """With the reason and advice, behind what was handed over before; also out of one that waits."""
    channel, taken = Channel(), list[str]()

    async def iterate() -> None:
        async for item in channel.subscription:
            assert isinstance(item, Notification)
            taken.append(item.event.topic)

    @nursery.start_soon
    async def take() -> None:
        with pytest.raises(AdmissionRefused, match="voted_down; ask for less") as refused:
            await iterate()
        assert refused.value.reason is Reason.VOTED_DOWN
        with pytest.raises(AdmissionRefused):
            await channel.subscription.take()

    if is_waiting:
        await trio.testing.wait_all_tasks_blocked()
    channel.put("one", "two")
    channel.subscription.put(REFUSED)
    await trio.testing.wait_all_tasks_blocked()
    assert taken == ["one", "two"]


async def test_late_refusal_ends_batches() -> None:
    """After the last of them."""
    channel = Channel()
    channel.put("one")
    channel.subscription.put(REFUSED)
    batches = aiter(channel.subscription.batches())
    assert await anext(batches) == [note("one")]
    with pytest.raises(AdmissionRefused):
        await anext(batches)
