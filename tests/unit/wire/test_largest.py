"""Whatever grows with the overlay still travels: the largest legal message of each kind is taken by the other side."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from msgspec import inspect as mi

from p2psub.errors import MalformedMessage
from p2psub.model.bids import DEADLINE_US_MAX, PRICE_MAX, Bid, BidSum
from p2psub.model.changes import Change, ChangeNumber, LogId, Vector
from p2psub.model.content import (
    AGE_US_MAX,
    EVENT_BYTES_MAX,
    FILTER_BYTES_MAX,
    DeclarationState,
    Event,
    Filter,
    Operator,
    Predicate,
    Subscription,
)
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, Epoch, EventId, NodeId, Place, Process, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message, casts, cluster, cube, declarations, pubsub, ring, shards
from p2psub.model.outcomes import Missed, Outcome, VerdictStatus
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import all_places, to_bitmap
from p2psub.model.places import Entry, Table, TableVersion
from p2psub.model.rates import Demand
from p2psub.model.reasons import Reason, SplitRefusal
from p2psub.model.rights import CERTIFICATE_BYTES_MAX
from p2psub.model.seals import BATCH_MAX, LEAF_BYTES, SIGNATURE_BYTES, Signature
from p2psub.owner.dispatch import weight_of_want
from p2psub.publisher.packer import PARCEL_BYTES_MAX
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MAX, FrameReader, frames
from tests.oracles.instances import MESSAGE_CLASSES

CLUSTERS, MEMBERS, MATCHES, TERMS = 10_000, 4_096, 14_000, 20_000
"""An overlay far beyond what was tried: one cluster may have this many members, one parcel this many matches."""

BIG = (1 << 63) - 1
STAMP = Stamp(1 << 60, 1 << 60)


def node(n: int) -> NodeId:
    """A node."""
    return NodeId(Place(n.to_bytes(20, "big")))


def contact(n: int) -> Contact:
    """A node at a long address."""
    return Contact(node(n), "host-of-some-length.example.org:65535"[-45:] + "x" * 8)


NAME = ClusterId("a-cluster-with-a-long-name-000001")
EPOCH = Epoch(BIG, node(1), BIG)
VERSION = TableVersion(EPOCH, BIG)
PREFIX = Prefix("0" * 16)
CAST = CastId(node(1), BIG, BIG)
SUBS = tuple(SubscriptionId(node(n), BIG, BIG) for n in range(MATCHES))
PLACES = to_bitmap(all_places(BATCH_MAX) - 1)
"""Nearly all of a parcel, so that it must be spelled out."""
BID = Bid(DEADLINE_US_MAX, PRICE_MAX, PRICE_MAX)
BIDS = tuple(BidSum(DEADLINE_US_MAX - n, BIG, BIG, BIG) for n in range(MATCHES))
WANTS = tuple(pubsub.Want(sub, PLACES, BIG, BIG, DEADLINE_US_MAX) for sub in SUBS)
OWED = tuple(pubsub.Obligation(sub, NAME, PLACES, True, BID) for sub in SUBS)
ACKS = tuple(pubsub.StreamAck(sub, BIG, BIG, PLACES, BIG) for sub in SUBS)
PROCESS = Process(contact(1), BIG)
OUTCOMES = tuple(pubsub.OutcomeOf(sub, Outcome.UNREACHABLE, PLACES) for sub in SUBS)
ENTRIES = tuple(Entry(NAME, PREFIX, BIG, contact(n), EPOCH, BIG) for n in range(CLUSTERS))
VECTOR: Vector = tuple((LogId(NAME, Epoch(BIG, node(n), BIG)), BIG) for n in range(TERMS))
TABLE = Table(VERSION, tuple(contact(n) for n in range(MEMBERS)), MEMBERS)
RING = tuple(contact(n) for n in range(64))
AGE = Micros(AGE_US_MAX)
EVENT = Event(EventId(node(1), BIG, BIG), "t" * 1024, {"a": "x" * EVENT_BYTES_MAX})
MISSED = tuple(Missed(sub, node(1), BIG, BIG) for sub in SUBS[:2000])
WANTED = Filter(((Predicate("a", Operator.EQUAL, "x" * (FILTER_BYTES_MAX - 64)),),))
RECORD = Subscription(SUBS[0], BIG, DeclarationState.ACTIVE, NAME, WANTED)
CHANGE = Change(ChangeNumber(VECTOR[0][0], BIG), RECORD)
CHANGES = (CHANGE,)
"""What one message carries of the heaviest filters: the sender counts bytes, see `batches_of`."""

SMALLER = Event(EVENT.id, "t" * 1024, {"a": "x" * (PARCEL_BYTES_MAX - 2048)})
SIGNATURE = Signature(bytes(SIGNATURE_BYTES), bytes(CERTIFICATE_BYTES_MAX))
PARCEL = Parcel(BIG, BATCH_MAX, (SMALLER, EVENT), PLACES, SIGNATURE, (bytes(LEAF_BYTES),) * 24)
PARCEL_ID = ParcelId(node(1), BIG, BIG)
LEAVES = (bytes(LEAF_BYTES),) * BATCH_MAX
COUNTS = tuple((BIG, PLACES) for _ in range(BATCH_MAX))
OWED_PARCEL = pubsub.OwedParcel(bytes(8), PARCEL, AGE, OWED, COUNTS, VECTOR, contact(1))
OWED_PLACES = (pubsub.OwedParcelId(PARCEL_ID, bytes(8)), PLACES)
ACKNOWLEDGED = pubsub.Acknowledged(PLACES, BIG, BIG, Reason.NOT_AUTHORIZED)
OWNERS = tuple((PLACES, contact(n)) for n in range(BATCH_MAX))

LARGEST: list[Message] = [
    ring.Neighbourhood(NAME, contact(1), RING),
    ring.Found(NAME, BIG, contact(1), RING, BIG),
    cluster.Heartbeat(NAME, BIG, EPOCH, 1.0, True, Micros(BIG), VERSION, True, bytes(32), bytes(32), True, TABLE, True),
    cluster.HeartbeatAck(NAME, EPOCH, Micros(BIG), RING, RING, TABLE, VERSION, BIG, VECTOR, ENTRIES[: CLUSTERS // 2]),
    cluster.Vacancy(NAME, BIG, EPOCH, TABLE),
    cluster.ReplicateChanges(NAME, EPOCH, CHANGES),
    cluster.ChangesReplicated(NAME, EPOCH, BIG, VECTOR),
    cluster.IndexTransfer(NAME, VERSION, node(1), BIG, BIG, BIG, CHANGES),
    cluster.StoreChange(NAME, EPOCH, CHANGE, VERSION),
    cube.DirectoryResponse(ENTRIES),
    cube.VectorOffer(VECTOR),
    cube.ChangeBatch(CHANGES, VECTOR, True),
    cube.SplitGrant(NAME, PREFIX, BIG, VECTOR, ENTRIES[: CLUSTERS // 2]),
    cube.SplitRefused(SplitRefusal.PROMISED_TO_ANOTHER, ENTRIES),
    cube.Filled(NAME, ENTRIES[0], VECTOR),
    casts.ChangeCast(CAST, PREFIX, casts.ChangePayload(CHANGE), 1),
    casts.EventCast(CAST, PREFIX, casts.EventPayload(PARCEL, AGE, ((NAME, PREFIX, WANTS, BIDS),), MISSED, PROCESS), 1),
    casts.Answer(CAST, PREFIX, casts.EventSummary(OUTCOMES, ACKS)),
    casts.CastRefused(CAST, PREFIX, ENTRIES),
    declarations.Declare(RECORD),
    declarations.Verdict(SUBS[0], BIG, VerdictStatus.ACCEPTED, (NAME,) * CLUSTERS, None, Demand(BIG, BIG, BIG, BIG)),
    pubsub.Publish(PARCEL, AGE, (pubsub.Predecessor("t" * 1024, BIG, BIG),) * BATCH_MAX),
    pubsub.Acknowledge(PARCEL_ID, (ACKNOWLEDGED,) * BATCH_MAX),
    pubsub.NotOwner(PARCEL_ID, OWNERS),
    pubsub.StoreCopy(NAME, (OWED_PARCEL,)),
    pubsub.CopyStored(NAME, (OWED_PLACES,) * 64, VERSION),
    pubsub.CopyRefused(NAME, (OWED_PLACES,) * 64),
    pubsub.CopyLost(NAME, (OWED_PLACES,)),
    pubsub.Discharged(NAME, (OWED_PLACES,) * 4096),
    pubsub.StillOwed(NAME, ((OWED_PLACES[0], BIG, OWED_PLACES[1]),) * 4096),
    shards.MatchRequest(NAME, 1, BIG, PARCEL.events),
    shards.MatchResponse(NAME, 1, BIG, OWED, VECTOR, False),
    pubsub.Route(BIG, PARCEL, AGE, ((NAME, WANTS, BIDS),), MISSED, PROCESS),
    pubsub.Routed(BIG, PARCEL_ID, OUTCOMES, PROCESS, ACKS),
    pubsub.Routed(BIG, PARCEL_ID, (), PROCESS, (), tuple((want.subscription, want.number) for want in WANTS)),
    pubsub.Deliver(PARCEL, AGE, WANTS, MISSED, PROCESS, BIDS),
    pubsub.Delivered(PARCEL_ID, OUTCOMES, PROCESS, ACKS),
    pubsub.WindowUpdate(PROCESS, ACKS),
    pubsub.ParcelToOwner(PARCEL, LEAVES),
    shards.ParcelToShard(NAME, 1, PARCEL, LEAVES),
]


@cache
def grows(kind: type) -> bool:
    """Whether a type has a part without a bound."""
    return _grows(mi.type_info(kind))


def _grows(info: mi.Type) -> bool:
    match info:
        case mi.VarTupleType() | mi.DictType() | mi.FrozenSetType() | mi.ListType():
            return info.max_length is None or (isinstance(info, mi.VarTupleType) and _grows(info.item_type))
        case mi.UnionType():
            return any(map(_grows, info.types))
        case mi.TupleType():
            return any(map(_grows, info.item_types))
        case mi.StructType() | mi.NamedTupleType():
            return any(_grows(field.type) for field in info.fields)
        case _:
            return False


def test_every_message_that_can_grow_is_here() -> None:
    """A new one has to be thought of."""
    assert {type(message) for message in LARGEST} == {kind for kind in MESSAGE_CLASSES if grows(kind)}


@pytest.mark.parametrize("age_us", [-1, AGE_US_MAX + 1])
def test_an_age_that_no_event_has_is_refused(age_us: int) -> None:
    """Who added its own time to it could not say the sum any more."""
    with pytest.raises(MalformedMessage):
        decode_batch(encode_batch([pubsub.Publish(PARCEL, Micros(age_us))], STAMP))


@pytest.mark.parametrize("message", LARGEST, ids=lambda message: type(message).__name__)
def test_largest_legal_message_is_taken(message: Message) -> None:
    """In as many frames as it needs, and never more than a reader takes."""
    payload = encode_batch([message], STAMP)
    assert len(payload) <= MESSAGE_BYTES_MAX
    wrapped = frames(payload)
    assert len(wrapped) == -(-len(payload) // PAYLOAD_BYTES_MAX)
    (whole,) = FrameReader(whole_bytes_max=MESSAGE_BYTES_MAX).feed(b"".join(wrapped))
    assert decode_batch(whole) == ([message], STAMP, 0)


def test_weight_of_a_want_is_what_it_takes_or_more() -> None:
    """By it an owner decides how many subscriptions share a message."""
    assert len(msgspec.msgpack.encode(WANTS[-1])) <= weight_of_want((SUBS[-1], all_places(BATCH_MAX), BIG, BIG, BID))


def test_weights_of_filters_are_what_they_take_or_more() -> None:
    """The limit on a filter is a limit on bytes."""
    many = tuple(Predicate("é" * 9, operator, frozenset(["ü", 1 << 62])) for operator in Operator)
    for wanted in (WANTED, Filter(), Filter((many,)), Filter((many, many))):
        assert len(msgspec.msgpack.encode(wanted)) <= wanted.weight + 5 * (1 + len(wanted.conjunctions))
