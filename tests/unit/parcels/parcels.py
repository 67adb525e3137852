"""A cluster in which events are streamed: members that hear each other through the wire format, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from p2psub.config import NodeConfig
from p2psub.model.content import TOPIC as TOPIC_NAME
from p2psub.model.content import Draft, Event, Filter, Guarantee, Operator, Predicate, Subscription
from p2psub.model.effects import Notify, NotifyGap, PublishCommand, SubscribeCommand
from p2psub.model.ids import ClusterId, Contact, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.cluster import ShardEmpty, ShardRequest
from p2psub.model.messages.declarations import Verdict
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Want
from p2psub.model.messages.shards import ParcelToShard
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.parcels import Parcel
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from p2psub.wire.codec import decode_batch, encode_batch
from tests.unit import notaries
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    change_of,
    effects_of,
    event_of,
    forget,
    member_at,
    node_at,
    on_topic,
    records_of,
    sent,
    subscription_of,
    table_of,
    topic_in,
)
from tests.unit.notaries import PlainNotary

SUBSCRIBER, SECOND_SHARD, OWNER, PUBLISHER, FIRST_SHARD = 32, 64, 96, 128, 160
"""Who is who; the owner of the second shard owns topics as well."""

PLACES = (SUBSCRIBER, SECOND_SHARD, OWNER, PUBLISHER, FIRST_SHARD)
TABLE = table_of(*PLACES)
SHARD_OWNERS = (FIRST_SHARD, SECOND_SHARD)
SUPER_NODE = at(1)
ELSEWHERE = ClusterId("c2")

TOPIC = topic_in(SECOND_SHARD, OWNER)
OTHER_TOPIC = topic_in(SUBSCRIBER, SECOND_SHARD)
"""Of the owner of the second shard."""

FREE = Guarantee.AT_MOST_ONCE
START_US = Micros(1)

M = TypeVar("M", bound=Message)

_HANDLERS: dict[type[Message], Callable[[Cores], Callable[[Contact, Any], None]]] = {
    ParcelToOwner: lambda cores: cores.owner.parcels.on_parcel_to_owner,
    ParcelToShard: lambda cores: cores.owner.parcels.on_parcel_to_shard,
    Deliver: lambda cores: cores.subscriber.on_deliver,
    ShardRequest: lambda cores: cores.owner.shards.on_shard_request,
    ShardEmpty: lambda cores: cores.owner.shards.on_shard_empty,
}


def hear(cores: Cores, peer: Contact, message: Message) -> None:
    """A node hears a message of a stream."""
    _HANDLERS[type(message)](cores)(peer, message)


def through_the_wire(message: M) -> M:
    """The message as its receiver reads it."""
    (read,), _, _ = decode_batch(encode_batch([message], Stamp(0, 0)))
    assert isinstance(read, type(message))
    return read


def drafts(count: int, topic: str = TOPIC, body: bytes = b"") -> list[Draft]:
    """Events that promise nothing, told apart by an attribute that counts from 1."""
    return [Draft(topic, {"n": n}, body, 0.0, FREE) for n in range(1, count + 1)]


def free_event(sequence: int = 1, topic: str = TOPIC, publisher: int = PUBLISHER) -> Event:
    """What the draft with this number becomes."""
    event = event_of(topic, sequence, publisher, guarantee=FREE)
    return msgspec.structs.replace(event, attributes={"n": sequence})


def free_events(count: int, topic: str = TOPIC) -> tuple[Event, ...]:
    """What that many drafts become."""
    return tuple(free_event(sequence, topic) for sequence in range(1, count + 1))


def stream_of(events: Iterable[Event], number: int = 1, publisher: int = PUBLISHER) -> ParcelToOwner:
    """Events as their publisher signs and sends them."""
    return notaries.stream_of(PlainNotary(node_at(publisher)), *events, number=number)


def delivery(parcel: Parcel, *wants: Want) -> Deliver:
    """A parcel on its way to a subscriber, as young as an owner sends it."""
    return Deliver(parcel, Micros(0), wants)


class Ring:
    """The five members; subscriptions are in every index that they concern, and stable."""

    def __init__(self, *records: Subscription, window: int = 1024, config: NodeConfig = CONFIG) -> None:
        changes = [change_of(record, n) for n, record in enumerate(records, 1)]
        self.members = {
            place: member_at(place, TABLE, changes, config=config, notary=PlainNotary(node_at(place)))
            for place in PLACES
        }
        for cores in self.members.values():
            # Later than the table, so that answers count which belong to it.
            cores.step.now = START_US
        self.said: list[tuple[int, int, Message]] = []
        """Who said what to whom, in this order."""
        for record in records:
            self.subscribe(record, window)

    def __getitem__(self, place: int) -> Cores:
        return self.members[place]

    def subscribe(self, record: Subscription, window: int, status: VerdictStatus | None = VerdictStatus.STABLE) -> None:
        """An application at a member of this cluster asks for a subscription that the indexes have already."""
        cores = self.members.get(record.id.node[0])
        if cores is None or record.cluster != CLUSTER:
            return
        cores.declarations._sequence = record.id.sequence - 1
        cores.subscriber.subscribe(SubscribeCommand(1, record.filter, record.replay, window))
        if status is not None:
            self.verdict(record, status)
        forget(cores.step)

    def verdict(self, record: Subscription, status: VerdictStatus = VerdictStatus.STABLE) -> None:
        """The super-node's word on a subscription."""
        cores, said = self[record.id.node[0]], Verdict(record.id, 1, status, ())
        if cores.declarations.on_verdict(SUPER_NODE, said):
            cores.subscriber.judged(said)

    def lease_shards(self) -> None:
        """Everybody knows that both shards are empty."""
        for place in self.members:
            for shard in range(CONFIG.pubsub.shards):
                self.lease(place, shard)

    def lease(self, place: int, shard: int) -> None:
        """A member was told that a shard is empty."""
        cores, owner = self[place], (FIRST_SHARD, SECOND_SHARD)[shard]
        cores.step.now = Micros(cores.step.now + 1)
        cores.owner.shards.lease(at(owner), shard, cores.step.now)

    def publish(self, *commands: list[Draft], place: int = PUBLISHER) -> None:
        """A step of a publisher with these commands, and everything that follows from it."""
        cores = self[place]
        for drafted in commands:
            cores.publisher.publish(PublishCommand(1, drafted))
        cores.publisher.flush()
        self.run()

    def hear(self, place: int, peer: int, message: Message) -> None:
        """A member hears something, and everything follows from it."""
        hear(self[place], at(peer), message)
        self.run()

    def run(self) -> None:
        """Let everybody hear what was said, until nobody says anything any more."""
        while any(cores.step.sends or cores.step.sends_to_me for cores in self.members.values()):
            for place, cores in self.members.items():
                while cores.step.sends_to_me:
                    hear(cores, cores.step.me, cores.step.sends_to_me.popleft())
                for to, message in sent(cores.step):
                    self.said.append((place, to.id[0], message))
                    if to.id[0] in self.members:
                        hear(self[to.id[0]], at(place), through_the_wire(message))

    def said_of(self, kind: type[M]) -> list[tuple[int, int, M]]:
        """The messages of one kind since the last look; the rest is thrown away."""
        said, self.said = self.said, []
        return [(who, to, message) for who, to, message in said if isinstance(message, kind)]

    def handed_over(self, place: int = SUBSCRIBER) -> dict[SubscriptionId, list[int]]:
        """By subscription, the numbers of the events given to applications of a member since the last look."""
        given: dict[SubscriptionId, list[int]] = {}
        for notify in effects_of(self[place].step, Notify):
            given.setdefault(notify.subscription, []).extend(event.id.sequence for event in notify.events)
        return given

    def gaps(self, place: int = SUBSCRIBER) -> list[NotifyGap]:
        return effects_of(self[place].step, NotifyGap)

    def records(self, place: int, *kinds: Kind) -> list[tuple[str | None, int | None]]:
        """Reasons and counts of what a member recorded since the last look."""
        return [(record.reason, record.count) for record in records_of(self[place].step, *kinds)]

    def matches(self, place: int) -> list[int | None]:
        """How many subscriptions each event matched at a member, by what it recorded since the last look."""
        return [record.matched for record in records_of(self[place].step, Kind.MATCH)]

    def drops(self, place: int) -> list[tuple[str | None, int | None]]:
        return self.records(place, Kind.DROP)


def up_to(n: int, topic: str = TOPIC) -> Filter:
    """Wants the first n events of a topic."""
    return Filter(((Predicate(TOPIC_NAME, Operator.EQUAL, topic), Predicate("n", Operator.LESS_EQUAL, n)),))


def between(low: int, high: int) -> Filter:
    """Wants the events with these numbers, of the topic."""
    (conjunction,) = up_to(high).conjunctions
    return Filter(((*conjunction, Predicate("n", Operator.GREATER_EQUAL, low)),))


def one_of(numbers: frozenset[int], topic: str | None) -> Filter:
    """Wants the events with any of these numbers, of a topic or of all."""
    on = () if topic is None else (Predicate(TOPIC_NAME, Operator.EQUAL, topic),)
    return Filter(tuple((*on, Predicate("n", Operator.EQUAL, n)) for n in sorted(numbers)))


def wanted_by(filter_: Filter, sequence: int = 1, subscriber: int = SUBSCRIBER) -> Subscription:
    """A subscription of a member."""
    return subscription_of(filter_, sequence, subscriber)


PINNED = wanted_by(on_topic(TOPIC))
