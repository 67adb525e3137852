"""An owner of a topic, its publisher and its subscribers."""

from __future__ import annotations

from p2psub.model.changes import Change
from p2psub.model.content import Order, Subscription
from p2psub.model.ids import ClusterId, Contact, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    CopyStored,
    Deliver,
    Delivered,
    GivenBack,
    OutcomeOf,
    Predecessor,
    Publish,
    Route,
    StoreCopy,
    StreamAck,
    Want,
    WindowUpdate,
)
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import places_at, to_bitmap
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    at,
    change_of,
    event_of,
    forget,
    make_durable,
    member_at,
    on_topic,
    parcel_of,
    records_of,
    sent,
    subscription_of,
    table_of,
    tick,
    topic_in,
)

TABLE = table_of(32, 64, 96, 128)
ALONE = table_of(32)
TOPIC = topic_in(1, 32)
PUBLISHER = at(9)
ELSEWHERE = ClusterId("c2")
PROCESS = Process(at(32), 1)
"""Of the owner: its streams' numbers are counted by it."""
ONE = parcel_of(event_of(TOPIC))

HERE = subscription_of(on_topic(TOPIC), 1, subscriber=96)
"""A subscription of a member of our cluster."""
THERE = subscription_of(on_topic(TOPIC), 2, subscriber=8, cluster=ELSEWHERE)
ORDERED = subscription_of(on_topic(TOPIC), 4, subscriber=96, order=Order.PUBLISHER)
"""As the first, but in the order of the publishers."""
ALSO_THERE = subscription_of(on_topic(TOPIC), 3, subscriber=7, cluster=ELSEWHERE)


def changes(*records: Subscription) -> list[Change]:
    """The records as numbered changes."""
    return [change_of(record, n) for n, record in enumerate(records, 1)]


def owner(*records: Subscription, table: Table = TABLE) -> Cores:
    """The owner of the topic, with these subscriptions in its index."""
    cores = member_at(32, table, changes(*records))
    tick(cores.step, cores.owner.tick)
    cores.ring.remember(at(96))
    forget(cores.step)
    return cores


def publish(
    cores: Cores,
    parcel: Parcel,
    age_us: int = 0,
    after: tuple[Predecessor, ...] = (),
    *,
    is_repeated: bool = False,
) -> None:
    """A publish arrives, and every wildcard shard says that it wants nothing."""
    cores.owner.on_publish(PUBLISHER, Publish(parcel, Micros(age_us), after, is_repeated))
    asks = [(to, message) for to, message in cores.step.sends if isinstance(message, MatchRequest)]
    cores.step.sends[:] = [send for send in cores.step.sends if not isinstance(send[1], MatchRequest)]
    for to, ask in asks:
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, ask.number, (), (), False))


def confirm(cores: Cores, parcel: Parcel, *members: int, table: Table = TABLE) -> None:
    """Members state their copies of all that the owner holds of a parcel."""
    for member in members:
        pieces = tuple((held.id, to_bitmap(held.places)) for held in cores.owner.owed_parcels.log.pieces_of(parcel.id))
        cores.owner.on_copy_stored(at(member), CopyStored(CLUSTER, pieces, table.version))


def stored(*records: Subscription, parcel: Parcel = ONE) -> tuple[Cores, Parcel]:
    """An owner that has stored and acknowledged a parcel, and begun to pay."""
    cores = owner(*records)
    pay(cores, parcel)
    return cores, parcel


def pay(cores: Cores, *parcels: Parcel, table: Table = TABLE) -> None:
    """Parcels are published, stored and copied one after the other: their owner pays them as it has room."""
    for parcel in parcels:
        publish(cores, parcel)
        make_durable(cores.step)
        confirm(cores, parcel, 64, 96, table=table)


def give_back(cores: Cores, *members: int, table: Table = TABLE) -> None:
    """Members say that they hold nothing that the owner does not hold."""
    for member in members:
        cores.owner.on_given_back(at(member), GivenBack(CLUSTER, table.version))


def end(cores: Cores, parcel: Parcel, record: Subscription, outcome: Outcome = Outcome.DELIVERED) -> None:
    """A subscriber says how a parcel ended for one of its subscriptions; its channel is full if it defers."""
    acks = (StreamAck(record.id, 1, 0, b"", 0),) if outcome is Outcome.DEFERRED else ()
    said = Delivered(parcel.id, (OutcomeOf(record.id, outcome, b""),), PROCESS, acks)
    cores.owner.on_delivered(at(record.id.node[0]), said)


def acknowledge(
    cores: Cores,
    record: Subscription,
    contiguous: int,
    *beyond: int,
    serial: int = 1,
    room: int = 100,
    process: Process | None = None,
) -> None:
    """A subscriber says how far it has taken the owner's stream, and for how much it has room."""
    ahead = places_at([number - contiguous - 1 for number in beyond])
    ack = StreamAck(record.id, serial, contiguous, to_bitmap(ahead) if ahead else b"", room)
    cores.owner.on_window_update(at(record.id.node[0]), WindowUpdate(process or PROCESS, (ack,)))


def wants_sent(cores: Cores) -> list[tuple[int, Want]]:
    """What went to subscribers since the last look, in this order: the first byte of the receiver, and each want."""
    found: list[tuple[int, Want]] = []
    for to, message in sent(cores.step):
        if isinstance(message, Deliver):
            found += [(to.id[0], want) for want in message.wants]
        elif isinstance(message, Route):
            found += [(to.id[0], want) for _, wants, _ in message.wants for want in wants]
    return found


def acknowledged(parcel: Parcel, copies: int, matched: int) -> tuple[Contact, Acknowledge]:
    """Every event of a parcel is acknowledged alike."""
    return PUBLISHER, Acknowledge(parcel.id, (Acknowledged(to_bitmap(parcel.places), copies, matched),))


def refused(to: Contact, parcel: Parcel, reason: Reason) -> tuple[Contact, Acknowledge]:
    """No event of a parcel is taken."""
    return to, Acknowledge(parcel.id, (Acknowledged(to_bitmap(parcel.places), refused=reason),))


def outcomes(cores: Cores) -> list[tuple[SubscriptionId | None, str | None]]:
    """Subscriptions and how they ended, of the outcomes recorded since the last look."""
    return [(record.subscription, record.outcome) for record in records_of(cores.step, Kind.OUTCOME)]


def paid(cores: Cores) -> list[tuple[Contact, Message]]:
    """What went out since the last look, but for requests to hold copies."""
    return [(to, message) for to, message in sent(cores.step) if not isinstance(message, StoreCopy)]
