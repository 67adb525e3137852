"""What an application asks of a peer becomes commands to its node, and the node's answers find the one who asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import pytest
import trio
import trio.testing

from p2psub.api.errors import (
    ADVICE,
    AdvertisementRefused,
    AlreadyEnded,
    BadContent,
    NotAuthorized,
    NotTaken,
    SubscriptionRefused,
)
from p2psub.api.items import Gap, Notification
from p2psub.api.status import PeerStatus
from p2psub.matching.faults import FilterError
from p2psub.matching.language import parse_filter
from p2psub.model.content import Draft, Event, Filter, Guarantee, Value
from p2psub.model.effects import (
    AdvertiseCommand,
    ConsumedCommand,
    Input,
    Notify,
    NotifyGap,
    PublishCommand,
    PublishReply,
    Reply,
    SubscribeCommand,
    UnsubscribeCommand,
    WithdrawCommand,
)
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.outcomes import AdvertiseVerdict, PublishOutcome, SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import REFUSALS, Reason
from p2psub.runtime import peer as peer_module
from p2psub.runtime.advertisement_handle import AdvertisementHandle
from p2psub.runtime.driver import steady_us
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.peer import Peer
from p2psub.runtime.pulse import Pulse
from p2psub.runtime.subscription_stream import SubscriptionStream
from tests.unit.bench import event_of, node_at
from tests.unit.runtime.control.fakes import STATUS, UNREADY

ID = SubscriptionId(node_at(1), 1, 1)
OTHER_ID = SubscriptionId(node_at(1), 1, 2)


def note(topic: str) -> Notification:
    """An event on this topic, as it is handed over at the instant of its publishing."""
    return Notification(event_of(topic), Micros(0), 0, steady_us)


def outcome(number: int) -> PublishOutcome:
    """How the publish with this number went."""
    return PublishOutcome(EventId(node_at(1), 1, number), 3, number)


def numbers_of(commands: Iterable[Input]) -> list[int]:
    """The publishes in some commands."""
    numbers: list[int] = []
    for command in commands:
        assert isinstance(command, PublishCommand)
        numbers += range(command.number, command.number + len(command.drafts))
    return numbers


def drafts_of(*topics: str) -> list[Draft]:
    """An event on each of some topics."""
    return [Draft(topic) for topic in topics]


class Node:
    """A peer whose node is the test."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.status: PeerStatus = STATUS
        self.backlog = 0
        self.pulse = Pulse()
        self.peer = Peer(self.inbox, lambda: self.status, lambda: self.backlog, self.pulse)
        self.outcomes: list[list[PublishOutcome]] = []

    async def publish(self, *topics: str) -> None:
        """As an application does."""
        self.outcomes.append(await self.peer.publish_many(drafts_of(*topics)))

    async def asked(self) -> list[Input]:
        """The commands since the last time, when nothing moves any more."""
        await trio.testing.wait_all_tasks_blocked()
        return self.inbox.take()

    def answer(self, commands: Iterable[Input]) -> None:
        """Acknowledge publishes, each by itself."""
        for number in numbers_of(commands):
            self.acknowledge(number)

    def acknowledge(self, *numbers: int) -> None:
        """Some publishes in one answer."""
        self.peer.replied(PublishReply([(number, outcome(number)) for number in numbers]))

    def judge(self, command: Input, status: VerdictStatus, name: SubscriptionId = ID) -> None:
        """Give a verdict on a subscription."""
        assert isinstance(command, SubscribeCommand)
        self.peer.replied(Reply(command.number, SubscribeVerdict(name, status)))


# Publishing


async def test_a_publish_returns_its_outcome(nursery: trio.Nursery) -> None:
    """With everything that was given on its way to the node."""
    node, outcomes = Node(), list[PublishOutcome]()

    @nursery.start_soon
    async def publish() -> None:
        guarantee = Guarantee.AT_MOST_ONCE
        outcomes.append(
            await node.peer.publish({"price": 1.5}, topic="t", body=b"b", retain_s=2.5, guarantee=guarantee)
        )

    (command,) = await node.asked()
    assert command == PublishCommand(1, [Draft("t", {"price": 1.5}, b"b", 2.5, Guarantee.AT_MOST_ONCE)])
    assert outcomes == []
    node.answer([command])
    await trio.testing.wait_all_tasks_blocked()
    assert outcomes == [outcome(1)]


async def test_many_outcomes_come_in_the_order_of_the_drafts(nursery: trio.Nursery) -> None:
    """In whatever order the overlay acknowledges; each call gets its own."""
    node = Node()
    nursery.start_soon(node.publish, "a", "b", "c")
    first = await node.asked()
    nursery.start_soon(node.publish, "d", "e")
    second = await node.asked()
    assert [*first, *second] == [PublishCommand(1, drafts_of(*"abc")), PublishCommand(4, drafts_of(*"de"))]
    for number in (5, 4):
        node.acknowledge(number)
    await trio.testing.wait_all_tasks_blocked()
    for number in (3, 2, 1):
        node.acknowledge(number)
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == [[outcome(4), outcome(5)], [outcome(1), outcome(2), outcome(3)]]


async def test_one_answer_may_be_to_many_publishes(nursery: trio.Nursery) -> None:
    """As the node gives it where nothing is promised; the rest of the call waits for its own."""
    node = Node()
    nursery.start_soon(node.publish, "a", "b", "c")
    await node.asked()
    node.acknowledge(1, 2)
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == []
    node.acknowledge(3)
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == [[outcome(1), outcome(2), outcome(3)]]


async def test_what_was_handed_in_may_be_used_for_something_else(nursery: trio.Nursery) -> None:
    """The node packs, signs and repeats what was checked, though the application goes on with its attributes."""
    node, attributes = Node(), dict[str, Value](price=1)
    nursery.start_soon(node.peer.publish_many, [Draft("t", attributes)])
    (command,) = await node.asked()
    attributes["price"] = 2
    assert command == PublishCommand(1, [Draft("t", {"price": 1})])
    nursery.cancel_scope.cancel()


async def test_a_long_call_becomes_commands_of_bounded_size(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbered through; one more of them goes out while there is a place, so that many may be over the bound."""
    monkeypatch.setattr(peer_module, "UNACKNOWLEDGED_MAX", 3)
    monkeypatch.setattr(peer_module, "PACE_EVENTS", 2)
    node = Node()
    nursery.start_soon(node.publish, *"abcde")
    first = await node.asked()
    assert first == [PublishCommand(1, drafts_of("a", "b")), PublishCommand(3, drafts_of("c", "d"))]
    node.acknowledge(1)
    assert await node.asked() == []
    node.acknowledge(2)
    assert await node.asked() == [PublishCommand(5, drafts_of("e"))]
    node.acknowledge(3, 4, 5)
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == [[outcome(number) for number in range(1, 6)]]


def test_every_refusal_of_an_event_has_advice() -> None:
    """Whatever a core says no for, the publisher is told what to do."""
    assert set(ADVICE) == set(REFUSALS)


@pytest.mark.parametrize(
    ("reason", "refusal", "advice"),
    [
        (Reason.NOT_AUTHORIZED, NotAuthorized, "join token that has the right"),
        (Reason.OUTBOX_FULL, NotTaken, "wait until earlier events are acknowledged"),
        (Reason.BAD_SIGNATURE, NotTaken, "enrol it anew"),
        (Reason.NO_PROMISE, NotTaken, "see the log"),
    ],
)
async def test_a_refused_publish_is_raised_with_advice(
    nursery: trio.Nursery, reason: Reason, refusal: type[Exception], advice: str
) -> None:
    """For that reason; one of many is an outcome like the others, lest it hide them."""
    node, refused = Node(), PublishOutcome(outcome(1).event, refused=reason)

    @nursery.start_soon
    async def publish() -> None:
        with pytest.raises(refusal, match=f"t: {reason}; .*{advice}"):
            await node.peer.publish({}, topic="t")

    await node.asked()
    node.peer.replied(PublishReply([(1, refused)]))
    await trio.testing.wait_all_tasks_blocked()
    nursery.start_soon(node.publish, "a", "b")
    await node.asked()
    node.peer.replied(PublishReply([(2, refused), (3, outcome(3))]))
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == [[refused, outcome(3)]]


async def test_publishing_nothing_is_done_at_once() -> None:
    """It needs no node."""
    assert await Node().peer.publish_many([]) == []


async def test_nothing_is_published_if_one_draft_is_no_good() -> None:
    """The application can mend it and publish all."""
    node = Node()
    with pytest.raises(BadContent):
        await node.publish("a", "")
    assert await node.asked() == []


async def test_what_is_not_acknowledged_holds_back_the_rest(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further publishes wait for a place, and take it as soon as there is one; nobody is forgotten."""
    monkeypatch.setattr(peer_module, "UNACKNOWLEDGED_MAX", 3)
    monkeypatch.setattr(peer_module, "PACE_EVENTS", 1)
    node = Node()
    nursery.start_soon(node.publish, *"abcde")
    first = await node.asked()
    nursery.start_soon(node.publish, *"fg")
    assert (len(first), await node.asked()) == (3, [])
    node.answer(first[:2])
    second = await node.asked()
    assert len(second) == 2
    node.answer([first[2], *second])
    third = await node.asked()
    node.answer(third)
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(map(len, node.outcomes)) == [2, 5]


async def test_an_application_that_gives_up_leaves_its_place(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it published is on its way all the same; the answer frees the place for somebody else."""
    monkeypatch.setattr(peer_module, "UNACKNOWLEDGED_MAX", 1)
    monkeypatch.setattr(peer_module, "PACE_EVENTS", 1)
    node = Node()
    with trio.move_on_after(0.0) as scope:
        await node.publish("a", "b")
    assert scope.cancelled_caught
    first = await node.asked()
    nursery.start_soon(node.publish, "c")
    assert (len(first), await node.asked()) == (1, [])
    node.answer(first)
    node.answer(await node.asked())
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == [[outcome(2)]]


async def test_publisher_waits_while_the_links_cannot_keep_up(nursery: trio.Nursery) -> None:
    """A full queue would drop what is not promised; so it is not filled. The first step that finds room goes on."""
    node = Node()
    node.backlog = peer_module.BACKLOG_MAX + 1
    nursery.start_soon(node.publish, "a")
    for _ in range(3):
        assert await node.asked() == []
        node.pulse.beat(is_tick=False)
    node.backlog = 0
    node.pulse.beat(is_tick=False)
    node.answer(await node.asked())
    await trio.testing.wait_all_tasks_blocked()
    assert node.outcomes == [[outcome(1)]]


# Subscribing


async def test_a_subscription_is_entered_with_its_verdict(nursery: trio.Nursery) -> None:
    """Asked for with its filter and window; items come in; leaving the block unsubscribes."""
    node, entered, leave = Node(), list[SubscriptionStream](), trio.Event()

    @nursery.start_soon
    async def subscribe() -> None:
        async with node.peer.subscribe("price > :p", params={"p": 3}, replay=True, window=8) as subscription:
            entered.append(subscription)
            await leave.wait()

    (command,) = await node.asked()
    assert command == SubscribeCommand(1, parse_filter("price > 3"), replay=True, window=8)
    assert entered == []
    node.judge(command, VerdictStatus.ACCEPTED)
    await trio.testing.wait_all_tasks_blocked()
    (subscription,) = entered
    assert node.peer.subscriptions == (subscription,)
    assert (subscription.id, subscription.verdict.status) == (ID, VerdictStatus.ACCEPTED)
    node.peer.notified(Notify(ID, [event_of("t")], [Micros(0)]))
    node.peer.notified(NotifyGap(ID, 2, Reason.SPOOL_FULL))
    assert await subscription.take_all() == [note("t"), Gap(2, Reason.SPOOL_FULL)]
    leave.set()
    assert await node.asked() == [ConsumedCommand(ID, 1), UnsubscribeCommand(2, ID)]
    assert not node.peer.subscriptions


async def test_an_application_cannot_alter_what_others_get(nursery: trio.Nursery) -> None:
    """An owner in the same process, and another subscription of the peer, go on with the very same event."""
    node, entered = Node(), list[SubscriptionStream]()

    async def subscribe() -> None:
        async with node.peer.subscribe(Filter()) as subscription:
            entered.append(subscription)
            await trio.sleep_forever()

    nursery.start_soon(subscribe)
    nursery.start_soon(subscribe)
    first, second = await node.asked()
    node.judge(first, VerdictStatus.STABLE)
    node.judge(second, VerdictStatus.STABLE, OTHER_ID)
    await trio.testing.wait_all_tasks_blocked()
    event = Event(event_of("t").id, "t", {"price": 1})
    for id_ in (ID, OTHER_ID):
        node.peer.notified(Notify(id_, [event], [Micros(0)]))
    (item,), others = await entered[0].take_all(), await entered[1].take_all()
    assert isinstance(item, Notification)
    item.event.attributes["price"] = 2
    (other,) = others
    assert isinstance(other, Notification)
    assert event.attributes == other.event.attributes == {"price": 1}
    nursery.cancel_scope.cancel()


async def test_a_better_verdict_reaches_the_application(nursery: trio.Nursery) -> None:
    """As an item, and as the subscription's verdict."""
    node, seen = Node(), list[object]()

    @nursery.start_soon
    async def subscribe() -> None:
        async with node.peer.subscribe(Filter()) as subscription:
            seen.append(await subscription.take())
            seen.append(subscription.verdict)

    (command,) = await node.asked()
    node.judge(command, VerdictStatus.ACCEPTED)
    await trio.testing.wait_all_tasks_blocked()
    node.judge(command, VerdictStatus.STABLE)
    await trio.testing.wait_all_tasks_blocked()
    assert seen == [SubscribeVerdict(ID, VerdictStatus.STABLE)] * 2


async def test_items_of_two_subscriptions_are_kept_apart(nursery: trio.Nursery) -> None:
    """Whichever verdict came first."""
    node, entered = Node(), dict[SubscriptionId, SubscriptionStream]()

    async def subscribe() -> None:
        async with node.peer.subscribe(Filter()) as subscription:
            entered[subscription.id] = subscription
            await trio.sleep_forever()

    nursery.start_soon(subscribe)
    nursery.start_soon(subscribe)
    first, second = await node.asked()
    node.judge(second, VerdictStatus.STABLE, OTHER_ID)
    node.judge(first, VerdictStatus.STABLE)
    node.peer.notified(Notify(OTHER_ID, [event_of("other")], [Micros(0)]))
    node.peer.notified(Notify(ID, [event_of("one")], [Micros(0)]))
    await trio.testing.wait_all_tasks_blocked()
    assert await entered[ID].take() == note("one")
    assert await entered[OTHER_ID].take() == note("other")
    nursery.cancel_scope.cancel()


async def test_a_refusal_is_raised_with_advice(nursery: trio.Nursery) -> None:
    """And the subscription is nobody's any more."""
    node = Node()

    @nursery.start_soon
    async def subscribe() -> None:
        with pytest.raises(SubscriptionRefused, match="ask for less"):
            async with node.peer.subscribe(Filter()):
                pytest.fail("it was refused")

    (command,) = await node.asked()
    node.judge(command, VerdictStatus.REFUSED)
    await trio.testing.wait_all_tasks_blocked()
    assert node.peer.subscriptions == ()


async def test_giving_up_before_the_verdict_unsubscribes_later(nursery: trio.Nursery) -> None:
    """The node cannot end what has no name yet; with the verdict it has one, and is ended at once."""
    node, scope = Node(), trio.CancelScope()

    @nursery.start_soon
    async def subscribe() -> None:
        with scope:
            async with node.peer.subscribe(Filter()):
                pytest.fail("there was no verdict")

    (command,) = await node.asked()
    scope.cancel()
    assert await node.asked() == []
    node.judge(command, VerdictStatus.STABLE)
    assert await node.asked() == [UnsubscribeCommand(2, ID)]
    assert node.peer.subscriptions == ()


async def test_what_comes_for_an_ended_subscription_is_dropped(nursery: trio.Nursery) -> None:
    """It was on its way, and so was the node's last word on it."""
    node = Node()

    @nursery.start_soon
    async def subscribe() -> None:
        async with node.peer.subscribe(Filter()):
            pass

    (command,) = await node.asked()
    node.judge(command, VerdictStatus.STABLE)
    assert await node.asked() == [UnsubscribeCommand(2, ID)]
    node.peer.notified(Notify(ID, [event_of("t")], [Micros(0)]))
    node.peer.notified(NotifyGap(ID, 1, Reason.SPOOL_FULL))
    node.peer.replied(Reply(2, SubscribeVerdict(ID, VerdictStatus.STABLE)))
    assert await node.asked() == []


async def test_what_cannot_be_asked_for_is_refused_at_once() -> None:
    """A filter that is none, a window that takes nothing: the node hears of neither."""
    node = Node()
    with pytest.raises(FilterError):
        async with node.peer.subscribe("price >"):
            pytest.fail("that is no filter")
    with pytest.raises(BadContent, match="give 1 or more"):
        async with node.peer.subscribe(Filter(), window=0):
            pytest.fail("that is no window")
    assert await node.asked() == []


# Advertising


async def test_an_advertisement_stands_while_its_block_runs(nursery: trio.Nursery) -> None:
    """Entered with its verdict, which may become a better one; then withdrawn."""
    node, statuses, leave = Node(), list[VerdictStatus](), trio.Event()
    ended = list[AdvertisementHandle]()

    @nursery.start_soon
    async def advertise() -> None:
        async with node.peer.advertise("topic = 'a'", rate=2.5) as advertisement:
            assert advertisement.id == ID
            ended.append(advertisement)
            statuses.append(advertisement.verdict.status)
            statuses.append((await advertisement.wait_verdict(advertisement.verdict)).status)
            await leave.wait()

    (command,) = await node.asked()
    assert command == AdvertiseCommand(1, parse_filter("topic = 'a'"), 2.5)
    for status in (VerdictStatus.ACCEPTED, VerdictStatus.STABLE):
        node.peer.replied(Reply(1, AdvertiseVerdict(ID, status)))
        await trio.testing.wait_all_tasks_blocked()
    assert statuses == [VerdictStatus.ACCEPTED, VerdictStatus.STABLE]
    leave.set()
    assert await node.asked() == [WithdrawCommand(1)]
    assert ended[0].is_over
    node.peer.replied(Reply(1, AdvertiseVerdict(ID, VerdictStatus.STABLE)))


async def test_a_refused_advertisement_is_raised_with_advice(nursery: trio.Nursery) -> None:
    """And withdrawn."""
    node = Node()

    @nursery.start_soon
    async def advertise() -> None:
        with pytest.raises(AdvertisementRefused, match="not_authorized; enrol with"):
            async with node.peer.advertise(Filter(), rate=1):
                pytest.fail("it was refused")

    await node.asked()
    node.peer.replied(Reply(1, AdvertiseVerdict(ID, VerdictStatus.REFUSED, (), Reason.NOT_AUTHORIZED)))
    assert await node.asked() == [WithdrawCommand(1)]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 2e9])
async def test_a_rate_that_is_none_is_refused_at_once(rate: float) -> None:
    """The node hears nothing of it."""
    node = Node()
    with pytest.raises(BadContent, match="events per second"):
        async with node.peer.advertise(Filter(), rate=rate):
            pytest.fail("that is no rate")
    assert await node.asked() == []


# Looking


async def test_readiness_can_be_waited_for(nursery: trio.Nursery) -> None:
    """For as long as it takes; the step that makes the peer ready ends it."""
    node, ready = Node(), trio.Event()
    node.status = UNREADY

    @nursery.start_soon
    async def wait() -> None:
        await node.peer.wait_ready()
        ready.set()

    for _ in range(60):
        await trio.testing.wait_all_tasks_blocked()
        node.pulse.beat(is_tick=True)
    assert not ready.is_set()
    assert node.peer.status() == UNREADY
    node.status = STATUS
    await trio.testing.wait_all_tasks_blocked()
    node.pulse.beat(is_tick=False)
    await ready.wait()
    await node.peer.wait_ready()


async def test_a_ready_peer_is_looked_at_by_ticks(nursery: trio.Nursery) -> None:
    """Under load it steps thousands of times a second, and a picture is not for free."""
    node, looks, seen = Node(), list[PeerStatus](), list[PeerStatus]()

    def is_unready(status: PeerStatus) -> bool:
        looks.append(status)
        return not status.ready

    @nursery.start_soon
    async def wait() -> None:
        seen.append(await node.peer.wait_status(is_unready))

    for _ in range(5):
        await trio.testing.wait_all_tasks_blocked()
        node.pulse.beat(is_tick=False)
    assert looks == [STATUS]
    node.status = UNREADY
    node.pulse.beat(is_tick=True)
    await trio.testing.wait_all_tasks_blocked()
    assert (looks, seen) == ([STATUS, UNREADY], [UNREADY])


# The end


async def subscribe_at(peer: Peer) -> None:
    """Hold a subscription for ever."""
    async with peer.subscribe("x = 1") as held:
        await held.wait_verdict(held.verdict)


async def advertise_at(peer: Peer) -> None:
    """Hold an advertisement for ever."""
    async with peer.advertise("x = 1", rate=1.0) as held:
        await held.wait_verdict(held.verdict)


async def publish_at(peer: Peer) -> None:
    """Publish, and wait for the outcome."""
    await peer.publish({}, topic="t")


@pytest.mark.parametrize("use", [subscribe_at, advertise_at, publish_at, Peer.wait_ready])
@pytest.mark.parametrize("is_under_way", [True, False])
async def test_no_task_waits_for_a_peer_whose_block_has_ended(
    use: Callable[[Peer], Awaitable[None]], is_under_way: bool, nursery: trio.Nursery
) -> None:
    """Whether it asked before or asks after the end: nothing will answer any more."""
    node, told = Node(), list[AlreadyEnded]()
    node.status = UNREADY

    async def ask() -> None:
        with pytest.raises(AlreadyEnded) as error:
            await use(node.peer)
        told.append(error.value)

    if is_under_way:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
    node.peer.end()
    if not is_under_way:
        nursery.start_soon(ask)
    await trio.testing.wait_all_tasks_blocked()
    assert [error.advice for error in told]
