"""A peer without an overlay: it hands what is published to its own subscriptions, and remembers what it was asked."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
import trio

from p2psub.api.bids import Span, bid_of
from p2psub.api.errors import NotAuthorized
from p2psub.api.items import Item, Notification
from p2psub.api.status import LinkStatus, PeerStatus
from p2psub.matching.faults import FilterError
from p2psub.model.bids import NO_BID
from p2psub.model.books import BookSums, SubscriptionBooks
from p2psub.model.content import (
    Advertisement,
    DeclarationState,
    Draft,
    Event,
    Filter,
    Guarantee,
    Operator,
    Predicate,
    Value,
)
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact, Epoch, EventId, NodeId, SubscriptionId, digest_of
from p2psub.model.outcomes import AdvertiseVerdict, PublishOutcome, SubscribeVerdict, VerdictStatus
from p2psub.model.places import TableVersion
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.status import LifeStage, LinkQueueStatus, NodeStatus, Role

TOKEN = "a-token-for-tests"


def node_id(name: str) -> NodeId:
    """The id of a peer with this name."""
    return NodeId(digest_of(name.encode()))


def contact(name: str) -> Contact:
    """A peer with this name, and an address."""
    return Contact(node_id(name), f"{name}.test:7400")


def advertisement(number: int, topic: str, rate: float) -> Advertisement:
    """What somebody says of a topic."""
    offered = Filter(((Predicate("topic", Operator.EQUAL, topic),),))
    name = SubscriptionId(node_id("ann"), 5, number)
    return Advertisement(name, 1, DeclarationState.ACTIVE, ClusterId("blue"), offered, rate)


EPOCH = Epoch(3, node_id("queen"), 2)

SUBSCRIPTION = SubscriptionId(node_id("ann"), 5, 99)
PROMISED = BookSums(3, 4_500_000, 150_000, {Reason.DEADLINE: 1, Reason.CHANNEL_FULL: 2})

BOBS = LinkQueueStatus(
    discipline="mtep",
    waiting=1,
    waiting_bytes=20_256,
    committed_bytes=1_500,
    window_bytes=1_600,
    us_per_kb=62_500.0,
    deviation_us_per_kb=1_000.0,
)

NODE = NodeStatus(
    id=node_id("ann"),
    incarnation=5,
    cluster=ClusterId("blue"),
    role=Role.CANDIDATE,
    epoch=EPOCH,
    super_node=contact("queen"),
    candidates=(contact("ann"), contact("bob")),
    predecessor=contact("bob"),
    successors=(contact("queen"), contact("bob")),
    table=TableVersion(EPOCH, 7),
    owners=(node_id("ann"), node_id("bob"), node_id("queen")),
    serves=True,
    prefix=Prefix("0"),
    clusters=((ClusterId("blue"), Prefix("0")), (ClusterId("red"), Prefix("1"))),
    filling=False,
    stage=LifeStage.CANDIDATE,
    hears_no_member=False,
    outbox=4,
    undischarged=6,
    kept=(EventId(node_id("ann"), 5, 1),),
    promised_books=PROMISED,
    at_most_once_books=BookSums(2, 1_000_000, 0, {Reason.DEADLINE: 1}),
    subscription_books=(SubscriptionBooks(SUBSCRIPTION, Guarantee.EFFECTIVELY_ONCE, PROMISED),),
    changes_digest=b"\x01\x02",
    active_advertisements=(advertisement(1, "a", 2.5),),
    advertised=(advertisement(1, "a", 2.5), advertisement(2, "b", 7.0)),
    active_subscriptions=(SUBSCRIPTION,),
    queued_messages=8,
    queued_messages_max=80,
)

STATUS = PeerStatus(
    name="ann",
    address="ann.test:7400",
    overlay="test",
    stage="in the ring",
    missing=None,
    ready=True,
    uptime_s=12.5,
    node=NODE,
    links=(
        LinkStatus(peer=node_id("bob").hex(), address="bob.test:7400", up=True, bytes_in=10, bytes_out=20, queue=BOBS),
        LinkStatus(peer=node_id("eve").hex(), address="eve.test:7400", up=False, bytes_in=1, bytes_out=2),
    ),
    certificate_days_left=6.5,
    rank=1,
    score=0.75,
    counters={"frames_in": 3, "duplicates_total": 2},
    recorded={(Kind.DROP, "above_rate"): 5, (Kind.PUBLISH, ""): 7},
)

UNREADY = msgspec.structs.replace(STATUS, ready=False, stage="looking for a cluster", missing="an answer of bootstrap")


class FakeSubscription:
    """Items are put in by the test, or by publishing to its topic."""

    def __init__(self, name: SubscriptionId, wanted: str, params: Mapping[str, Value], replay: bool) -> None:
        self.id = name
        self.verdict = SubscribeVerdict(name, VerdictStatus.ACCEPTED, (ClusterId("red"),))
        self.wanted = wanted
        self.params = dict(params)
        self.replay = replay
        self.bid = NO_BID
        self.ended = trio.Event()
        self.taken = 0
        self._items: deque[Item | Exception] = deque()
        self._arrived = trio.lowlevel.ParkingLot()

    @property
    def waiting(self) -> int:
        return len(self._items)

    @property
    def topic(self) -> str | None:
        named = re.fullmatch(r"topic = '(.*)'", self.wanted)
        return named and named[1]

    def put(self, item: Item | Exception) -> None:
        self._items.append(item)
        self._arrived.unpark_all()

    async def take(self) -> Item:
        await trio.lowlevel.checkpoint()
        while not self._items:
            await self._arrived.park()
        item = self._items.popleft()
        if isinstance(item, Exception):
            raise item
        self.taken += 1
        return item


class FakeAdvertisement:
    """Its verdicts are put in by the test."""

    def __init__(self, name: SubscriptionId, offered: str, rate: float, params: Mapping[str, Value]) -> None:
        self.verdict = AdvertiseVerdict(name, VerdictStatus.ACCEPTED, (ClusterId("red"),))
        self.offered = offered
        self.rate = rate
        self.params = dict(params)
        self.ended = trio.Event()
        self._judged = trio.lowlevel.ParkingLot()

    def judge(self, status: VerdictStatus) -> None:
        self.verdict = AdvertiseVerdict(self.verdict.advertisement, status)
        self._judged.unpark_all()

    async def wait_verdict(self, after: AdvertiseVerdict | None = None) -> AdvertiseVerdict:
        await trio.lowlevel.checkpoint()
        while self.verdict == after:
            await self._judged.park()
        return self.verdict


WHY_NOT = {"withheld": Reason.NOT_AUTHORIZED, "crowded": Reason.OUTBOX_FULL}
"""By the beginning of its topic, why the overlay does not take an event."""


class FakePeer:
    """Takes every filter that ends. Topics that begin with `secret` it refuses itself, others the overlay does."""

    def __init__(self, status: PeerStatus = STATUS) -> None:
        self.said = status
        self.published: list[Draft] = []
        self.batches: list[int] = []
        self.subscriptions: list[FakeSubscription] = []
        self.advertisements: list[FakeAdvertisement] = []
        self.subscribed = trio.lowlevel.ParkingLot()
        self.hold_publishing: trio.Event | None = None
        self.publishing_begun = trio.Event()
        self.publishing_left = trio.Event()

    def status(self) -> PeerStatus:
        return self.said

    async def publish_many(self, drafts: Sequence[Draft]) -> list[PublishOutcome]:
        for draft in drafts:
            if draft.topic.startswith("secret"):
                raise NotAuthorized(f"no right to publish {draft.topic}", "ask for a token with the right to it")
        self.publishing_begun.set()
        if self.hold_publishing is not None:
            try:
                await self.hold_publishing.wait()
            finally:
                self.publishing_left.set()
        self.batches.append(len(drafts))
        return [self._publish(draft) for draft in drafts]

    def _publish(self, draft: Draft) -> PublishOutcome:
        for beginning, reason in WHY_NOT.items():
            if draft.topic.startswith(beginning):
                return PublishOutcome(EventId(NODE.id, NODE.incarnation, 0), refused=reason)
        self.published.append(draft)
        name = EventId(NODE.id, NODE.incarnation, len(self.published))
        retain_us = int(draft.retain_s * 1e6)
        event = Event(name, draft.topic, draft.attributes, draft.body, retain_us, draft.guarantee, draft.timeout_us)
        matched = [sub for sub in self.subscriptions if not sub.ended.is_set() and sub.topic in {None, draft.topic}]
        for subscription in matched:
            subscription.put(Notification(event, limit_us=draft.timeout_us))
        is_promised = draft.guarantee is Guarantee.EFFECTIVELY_ONCE
        return PublishOutcome(name, 3, len(matched)) if is_promised else PublishOutcome(name)

    @asynccontextmanager
    async def subscribe(
        self,
        wanted: str,
        /,
        *,
        params: Mapping[str, Value] | None = None,
        replay: bool = False,
        window: int = 1024,
        order: str = "none",
        deadline: Span | None = None,
        price: float = 1.0,
        penalty: float = 0.0,
    ) -> AsyncIterator[FakeSubscription]:
        if wanted.endswith(">"):
            raise FilterError(wanted, len(wanted), "a value is missing", "write one, such as price > 10")
        if "secret" in wanted:
            raise NotAuthorized("no right to subscribe to secrets", "ask for a token with the right to it")
        name = SubscriptionId(NODE.id, NODE.incarnation, len(self.subscriptions) + 1)
        subscription = FakeSubscription(name, wanted, params or {}, replay)
        subscription.bid = bid_of(deadline, price, penalty)
        self.subscriptions.append(subscription)
        self.subscribed.unpark_all()
        try:
            yield subscription
        finally:
            subscription.ended.set()

    @asynccontextmanager
    async def advertise(
        self, offered: str, /, *, rate: float, params: Mapping[str, Value] | None = None
    ) -> AsyncIterator[FakeAdvertisement]:
        if "secret" in offered:
            raise NotAuthorized("no right to publish secrets", "ask for a token with the right to it")
        name = SubscriptionId(NODE.id, NODE.incarnation, 100 + len(self.advertisements))
        advertisement = FakeAdvertisement(name, offered, rate, params or {})
        self.advertisements.append(advertisement)
        try:
            yield advertisement
        finally:
            advertisement.ended.set()
