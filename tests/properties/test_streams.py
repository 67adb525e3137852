"""An owner and a subscriber over a link that loses and overtakes: each event once, in order if asked, none left."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.content import Order, Subscription
from p2psub.model.effects import ConsumedCommand, NotifyGap
from p2psub.model.ids import Contact
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import Deliver, Delivered, Route, Routed, WindowUpdate
from tests.unit.bench import CLUSTER, at, effects_of, event_of, forget, make_durable, on_topic, parcel_of, sent, tick
from tests.unit.owner.owners import ALONE, owner, publish
from tests.unit.subscriber.subscribers import ACTIVE, ID, SubscribingPeer

SUPER_NODE = at(1)
CALLS_MAX = 60
"""Messages between the two after which nothing new can be said without time passing."""


class Pair:
    """The owner of a topic, a subscriber, and what is on its way between them."""

    def __init__(self, window: int, order: Order) -> None:
        record = Subscription(ID, 1, ACTIVE, CLUSTER, on_topic("x"), True, order)
        self.owner = owner(record, table=ALONE)
        self.owner.ring.remember(at(64))
        self.subscriber = SubscribingPeer()
        self.subscriber.subscribe(window, order=order)
        forget(self.owner.step)
        self.on_its_way: list[tuple[Contact, Message]] = []
        self.published = 0
        self.taken: list[int] = []
        self.unread = 0

    def publish(self, count: int) -> None:
        """A parcel of as many events, which is safe at once."""
        events = [event_of("x", self.published + n) for n in range(1, count + 1)]
        self.published += count
        publish(self.owner, parcel_of(*events))
        make_durable(self.owner.step)
        self.look()

    def look(self) -> None:
        """Put on its way what was said, and read what was handed over."""
        self.on_its_way += [(to, m) for to, m in sent(self.owner.step) if isinstance(m, Deliver | Route)]
        self.on_its_way += sent(self.subscriber.step)
        handed_over = self.subscriber.handed_over()
        self.taken += handed_over
        self.unread += len(handed_over)

    def arrive(self, index: int) -> None:
        """One of the messages on their way arrives, whichever was sent before it."""
        to, message = self.on_its_way.pop(index % len(self.on_its_way))
        match message:
            case Deliver():
                self.subscriber.core.on_deliver(self.owner.step.me, message)
            case Route():
                ((_, wants, _),) = message.wants
                deliver = Deliver(message.parcel, message.age_us, wants, message.missed, message.owner)
                self.subscriber.core.on_deliver(SUPER_NODE, deliver)
            case Delivered() if to == SUPER_NODE:
                routed = Routed(1, message.parcel, message.outcomes, message.owner, message.acks)
                self.owner.owner.on_routed(SUPER_NODE, routed)
            case Delivered():
                self.owner.owner.on_delivered(at(64), message)
            case WindowUpdate():
                self.owner.owner.on_window_update(at(64), message)
        self.look()

    def consume(self, count: int) -> None:
        """The application takes some of what was handed over."""
        count = min(count, self.unread)
        self.unread -= count
        self.subscriber.core.consumed(ConsumedCommand(ID, count))
        self.look()

    def tick(self) -> None:
        """Half a heartbeat at both."""
        self.owner.arc_lease.renew(self.owner.step.now, None)
        tick(self.owner.step, self.owner.owner.tick)
        tick(self.subscriber.step, self.subscriber.tick)
        self.look()

    def settle(self) -> None:
        """All arrives from now on, and the application reads: there is an end of it, also without time passing."""
        for _ in range(400):
            calls = 0
            while self.on_its_way:
                self.arrive(0)
                calls += 1
                assert calls <= CALLS_MAX + 4 * self.published, "they talk without end"
            self.consume(self.unread)
            if not self.owner.owner.owed_parcels.log.count and not self.on_its_way:
                return
            self.tick()
        raise AssertionError("something is owed for ever")


HAPPENINGS = st.lists(
    st.tuples(st.sampled_from(["publish", "arrive", "arrive", "lose", "consume", "tick"]), st.integers(0, 12)),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(HAPPENINGS, st.integers(1, 12), st.sampled_from(list(Order)))
def test_each_event_is_handed_over_once_and_in_order_if_asked(
    happenings: list[tuple[str, int]], window: int, order: Order
) -> None:
    """However small the channel is, whatever is lost and overtaken; and the owner knows in the end that all is paid."""
    pair = Pair(window, order)
    for what, number in happenings:
        if what == "publish":
            pair.publish(1 + number % 5)
        elif what == "tick":
            pair.tick()
        elif what == "consume":
            pair.consume(number)
        elif pair.on_its_way and what == "arrive":
            pair.arrive(number)
        elif pair.on_its_way:
            pair.on_its_way.pop(number % len(pair.on_its_way))
        assert pair.unread <= window, "no more than the channel takes"
    pair.settle()
    assert sorted(pair.taken) == list(range(1, pair.published + 1))
    if order is Order.PUBLISHER:
        assert pair.taken == sorted(pair.taken)
        assert effects_of(pair.subscriber.step, NotifyGap) == []


def test_lost_delivery_does_not_make_them_talk_without_end() -> None:
    """Many come before their turn, more than may wait: the rest is sent again when its time has come, not before."""
    pair = Pair(3_000, Order.PUBLISHER)
    pair.publish(1)
    pair.settle()
    for _ in range(300):
        pair.publish(1)
    pair.on_its_way.pop(0)
    calls = len(pair.on_its_way)
    while pair.on_its_way:
        pair.arrive(0)
        calls += 1
        assert calls < 1_500
    pair.settle()
    assert pair.taken == list(range(1, 302))
