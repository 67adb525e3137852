"""Every message crosses the wire unchanged, and only messages do."""

from __future__ import annotations

import tracemalloc
from random import Random
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect as mi

from p2psub.errors import MalformedMessage, PeerFault
from p2psub.model.content import (
    Advertisement,
    DeclarationState,
    Event,
    Filter,
    Moment,
    Operator,
    Predicate,
    Subscription,
)
from p2psub.model.ids import ClusterId, Contact, EventId, Key, NodeId, Place, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.cube import ChangeBatch, SplitRequest
from p2psub.model.messages.declarations import Declare
from p2psub.model.messages.hello import Hello, Welcome
from p2psub.model.messages.liveness import Ping, WitnessRequest, WitnessResponse
from p2psub.model.messages.pubsub import Publish
from p2psub.model.messages.ring import Lookup
from p2psub.model.parcels import Parcel
from p2psub.model.seals import BATCH_MAX
from p2psub.wire.codec import CONTENT_BYTES_MAX, STAMP_MAX, decode_batch, encode_batch
from p2psub.wire.framing import FrameReader, frame
from tests.oracles.instances import MESSAGE_CLASSES, exact, instances_of, wire_shape

STAMP = Stamp(1_700_000_000_000_000, 3)
NODE = NodeId(Place(bytes(range(20))))
MIB = 1 << 20
STAMPS = st.builds(Stamp, st.integers(0, STAMP_MAX - 1), st.integers(0, STAMP_MAX - 1))


def pack(value: object) -> bytes:
    """Bytes as a foreign encoder would make them."""
    packed = msgpack.packb(value)
    assert isinstance(packed, bytes)
    return packed


def event_with(**attributes: Any) -> Publish:
    """A publish that carries these attributes."""
    return Publish(Parcel(1, 1, (Event(EventId(NODE, 1, 1), "t", attributes),)), Micros(0))


@pytest.mark.parametrize("cls", MESSAGE_CLASSES, ids=lambda cls: cls.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_every_message_round_trips(cls: type[Message], data: st.DataObject) -> None:
    """What is decoded is what was encoded, in value and in type, and a foreign decoder sees the documented shape."""
    message, stamp = data.draw(instances_of(cls)), data.draw(STAMPS)
    payload = encode_batch([message], stamp)
    assert exact(decode_batch(payload)) == exact(([message], stamp, 0))
    assert msgpack.unpackb(payload, strict_map_key=False) == [[stamp.wall_us, stamp.ticks], 0, [wire_shape(message)]]


@given(st.lists(st.one_of([instances_of(cls) for cls in MESSAGE_CLASSES]), max_size=5), STAMPS)
def test_a_batch_keeps_its_order(messages: list[Message], stamp: Stamp) -> None:
    """A frame brings all messages of a transmission, in order, under one stamp."""
    (payload,) = FrameReader().feed(frame(encode_batch(messages, stamp)))
    assert exact(decode_batch(payload)) == exact((messages, stamp, 0))


def test_tags_are_unique() -> None:
    """No two messages share the name that tells them apart."""
    assert len({cls.__struct_config__.tag for cls in MESSAGE_CLASSES}) == len(MESSAGE_CLASSES)


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, "1", Moment(1), frozenset([1, "1"]), -(2**63), 2**64 - 1, float("inf")]
)
def test_values_keep_their_type(value: object) -> None:
    """A bool stays a bool, an int an int, a date a date."""
    messages, _, _ = decode_batch(encode_batch([event_with(a=value)], STAMP))
    assert exact(messages) == exact([event_with(a=value)])


def test_not_a_number_crosses_the_wire() -> None:
    """NaN is a float like others to the codec; it is the matcher that never finds it."""
    (message,), _, _ = decode_batch(encode_batch([event_with(a=float("nan"))], STAMP))
    assert isinstance(message, Publish)
    assert repr(message.parcel.events[0].attributes["a"]) == "nan"


def test_newer_fields_are_skipped() -> None:
    """A newer node may append fields to a message; an older one reads what it knows."""
    assert decode_batch(pack([[1, 2], 0, [["Ping", "new", {"and": ["nested"]}]]])) == ([Ping()], Stamp(1, 2), 0)


def declared(tag: str, wanted: object, last: object) -> list[object]:
    """A declaration as it travels."""
    return [tag, [NODE, 1, 1], 1, "active", "c", wanted, last]


def test_declarations_travel_under_their_tags() -> None:
    """What the malformed ones below are compared with is sound: only one part of each is not."""
    for tag, last in (("wants", False), ("offers", 2.5)):
        conjunctions = [[[["a", "like", "x"]]]]
        ((message,), _, _) = decode_batch(pack([[1, 1], 0, [["Declare", declared(tag, conjunctions, last)]]]))
        assert isinstance(message, Declare)
        assert isinstance(message.record, Subscription if tag == "wants" else Advertisement)


def published(size: int, *events: object, bitmap: bytes = b"", number: int = 1) -> list[object]:
    """A parcel on its way to its owner, as it travels."""
    return ["Publish", [number, size, list(events), bitmap, None, []], 0]


def test_parcels_travel_as_they_are_packed_here() -> None:
    """What the malformed ones below are compared with is sound, too."""
    ((message,), _, _) = decode_batch(pack([[1, 1], 0, [published(1, [[NODE, 1, 1], "t", {}])]]))
    assert message == event_with()


MALFORMED = {
    "nothing": b"",
    "no array": pack(1),
    "no stamp": pack([[]]),
    "one message instead of a list": pack([[1, 1], 0, ["Ping"]]),
    "unknown tag": pack([[1, 1], 0, [["Pinged"]]]),
    "no tag": pack([[1, 1], 0, [[]]]),
    "tag of a part, not of a message": pack([[1, 1], 0, [["EventSummary", []]]]),
    "tag of another type": pack([[1, 1], 0, [[7]]]),
    "missing field": pack([[1, 1], 0, [["WitnessResponse"]]]),
    "text for bytes": pack([[1, 1], 0, [["WitnessResponse", "x" * 20]]]),
    "float for int": pack([[1.5, 1], 0, []]),
    "bool for int": pack([[True, 1], 0, []]),
    "nil for a list": pack([[1, 1], 0, None]),
    "map for a message": pack([[1, 1], 0, [{"Ping": 1}]]),
    "invalid utf-8": b"\x93\x92\x01\x01\x00\x91\x92" + pack(SplitRequest.__name__) + b"\xa1\xff\xa1x",
    "unknown operator": pack([[1, 1], 0, [["Declare", declared("wants", [[[["a", "likes", 1]]]], False)]]]),
    "neither wanted nor offered": pack([[1, 1], 0, [["Declare", declared("begs", [[[]]], False)]]]),
    "a rate of nothing": pack([[1, 1], 0, [["Declare", declared("offers", [[[]]], 0.0)]]]),
    "a rate that is no number": pack([[1, 1], 0, [["Declare", declared("offers", [[[]]], float("nan"))]]]),
    "nested value": pack([[1, 1], 0, [published(1, [[NODE, 1, 1], "t", {"a": [[1]]}])]]),
    "a parcel without events": pack([[1, 1], 0, [published(1)]]),
    "a parcel of size 0": pack([[1, 1], 0, [published(0, [[NODE, 1, 1], "t", {}])]]),
    "a parcel of more than may be signed": pack([[1, 1], 0, [published(BATCH_MAX + 1, [[NODE, 1, 1], "t", {}])]]),
    "more places than a parcel has": pack([[1, 1], 0, [published(1, [[NODE, 1, 1], "t", {}], bitmap=bytes(33))]]),
    "a negative number of a parcel": pack([[1, 1], 0, [published(1, [[NODE, 1, 1], "t", {}], number=-1)]]),
    "a number of an event beyond its bits": pack([[1, 1], 0, [published(1, [[NODE, 1, 2**63], "t", {}])]]),
    "negative stamp": pack([[-1, 1], 0, []]),
    "stamp beyond all clocks": pack([[STAMP_MAX, 1], 0, []]),
    "trailing bytes": pack([[1, 1], 0, []]) + b"\x00",
    "unused byte": b"\xc1",
    "extension type": pack([[1, 1], 0, [msgpack.ExtType(5, b"x")]]),
    "int beyond 64 bits, as bytes": pack([[b"\xff" * 9, 1], 0, []]),
}


@pytest.mark.parametrize("payload", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_batch_is_malformed(payload: bytes) -> None:
    """Whatever is wrong with a payload, it is the peer's fault and a typed error."""
    with pytest.raises(MalformedMessage):
        decode_batch(payload)


@pytest.mark.parametrize("size", [0, 19, 21, 1000])
@pytest.mark.xfail(
    not getattr(mi.type_info(Place), "min_length", None), reason="Place has no length in the model yet", strict=False
)
def test_ids_have_twenty_bytes(size: int) -> None:
    """A node id, alone or inside another id, or a key, of any other length is refused."""
    ident = NodeId(Place(bytes(size)))
    contact = Contact(NODE, "a")
    wrong: list[Message] = [
        WitnessResponse(ident),
        Lookup(ClusterId("c"), 1, Key(ident), contact, 0),
        Hello("o", Contact(ident, "a"), 1, 1),
        Publish(Parcel(1, 1, (Event(EventId(ident, 1, 1), "t", {}),)), Micros(0)),
    ]
    for message in wrong:
        with pytest.raises(MalformedMessage):
            decode_batch(encode_batch([message], STAMP))


BOMBS = {
    "arrays in arrays": b"\x91" * MIB,
    "maps in maps": b"\x81\xa1a" * (MIB // 3),
    "arrays in a skipped field": b"\x93\x92\x01\x01\x00\x91\x92\xa4Ping" + b"\x91" * MIB,
    "maps in a skipped field": b"\x93\x92\x01\x01\x00\x91\x92\xa4Ping" + b"\x81\xa1a" * (MIB // 3),
    "array of four billion": b"\x93\x92\x01\x01\x00\xdd\xff\xff\xff\xff",
    "map of four billion": b"\x93\x92\x01\x01\x00\x91\x92\xa4Ping\xdf\xff\xff\xff\xff",
    "text of four billion": b"\x93\x92\x01\x01\x00\x91\x92" + pack(SplitRequest.__name__) + b"\xdb\xff\xff\xff\xff",
    "bytes of four billion": b"\x93\x92\x01\x01\x00\x91\x92" + pack(WitnessResponse.__name__) + b"\xc6\xff\xff\xff\xff",
    "tuple of four billion": b"\x93\x92\x01\x01\x00\x91\x92" + pack(ChangeBatch.__name__) + b"\xdd\xff\xff\xff\xff",
}


@pytest.mark.parametrize("payload", BOMBS.values(), ids=BOMBS)
def test_bombs_take_no_memory(payload: bytes) -> None:
    """Announced sizes and deep nesting are refused without memory for what was announced."""
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            decode_batch(payload)
        assert tracemalloc.get_traced_memory()[1] < MIB // 4
    finally:
        tracemalloc.stop()


def test_the_densest_batch_is_bounded() -> None:
    """The smallest messages and the smallest attributes, as many as a frame holds, take at most 32 times the frame."""
    pings = encode_batch([Ping()] * (MIB // 6 - 10), STAMP)
    event = published(1, [[NODE, 1, 1], "t", {f"{n:x}": n % 128 for n in range(MIB // 16)}])
    attributes = pack([[1, 1], 0, [event, event]])
    for dense in (pings, attributes):
        assert MIB // 2 < len(dense) <= MIB
        tracemalloc.start()
        try:
            decoded = decode_batch(dense)
            assert decoded
            assert tracemalloc.get_traced_memory()[1] < 32 * len(dense)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("size", [CONTENT_BYTES_MAX - 100, CONTENT_BYTES_MAX + 1])
def test_content_larger_than_anybody_may_make_it_is_refused(size: int) -> None:
    """An event or a filter, wherever in a message: others would have to keep it, copy it and carry it on."""
    wanted = Filter(((Predicate("a", Operator.EQUAL, "x" * size),),))
    record = Subscription(SubscriptionId(NODE, 1, 1), 1, DeclarationState.ACTIVE, ClusterId("c"), wanted)
    for message in (event_with(a="x" * size), Declare(record)):
        payload = encode_batch([message], STAMP)
        if size < CONTENT_BYTES_MAX:
            assert decode_batch(payload)[0] == [message]
        else:
            with pytest.raises(MalformedMessage, match="of more than"):
                decode_batch(payload)


@pytest.mark.parametrize(
    "message", [SplitRequest(ClusterId("c" * 65), Contact(NODE, "a")), WitnessRequest(Contact(NODE, "a" * 301))]
)
def test_names_and_addresses_are_short(message: Message) -> None:
    """They come in lists, and are passed on."""
    with pytest.raises(MalformedMessage):
        decode_batch(encode_batch([message], STAMP))


def seeds() -> list[bytes]:
    """A few sound payloads to spoil."""
    conjunction = tuple(Predicate("a", operator, 5) for operator in Operator)
    wide = event_with(a=1, b=2.5, c="x", d=Moment(5), e=frozenset([1, "y"]), f=False)
    hello = Hello("overlay", Contact(NODE, "host:1"), 1, 1)
    return [
        encode_batch([Ping(), wide, hello], STAMP),
        encode_batch([WitnessResponse(NODE)] * 3, STAMP),
        msgspec.msgpack.encode((STAMP, [["Declare", declared("wants", Filter((conjunction,)), False)]])),
    ]


def spoil(sound: bytes, rng: Random) -> bytes:
    """Random bytes, or a sound payload with bytes changed, cut out or put in."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(64))
    spoilt = bytearray(sound)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(spoilt) + 1)
        cut = rng.choice([0, 1, 1, 1, rng.randrange(8)])
        spoilt[place : place + cut] = rng.randbytes(rng.choice([0, 1, 1, 1, 4]))
    return bytes(spoilt)


def test_only_a_peer_fault_escapes() -> None:
    """Of 20,000 spoilt payloads and streams, each is read or is a PeerFault, and memory does not grow."""
    rng, sound = Random(20), seeds()
    refused = 0
    tracemalloc.start()
    try:
        for n in range(20_000):
            spoilt = spoil(sound[n % len(sound)], rng)
            stream = frame(spoilt) if n % 2 else spoil(frame(sound[n % len(sound)]), rng)
            try:
                for payload in FrameReader().feed(stream):
                    decode_batch(payload)
            except PeerFault:
                refused += 1
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()
    assert refused > 10_000


def test_the_hello_never_changes() -> None:
    """Byte for byte: nodes of all versions must read each other's first frame, or none could give advice."""
    hello = Hello("demo", Contact(NODE, "host:1"), 7, 2)
    written = [
        "c170 00000032 0e1360d3",  # magic, length, checksum
        "93 92 05 00 00 91",  # [[wall, ticks], steady, [one message]]
        "95 a5 48656c6c6f a4 64656d6f",  # ["Hello", "demo",
        "92 c414 000102030405060708090a0b0c0d0e0f10111213 a6 686f73743a31",  # [id, "host:1"],
        "07 02",  # incarnation, version]
    ]
    assert frame(encode_batch([hello], Stamp(5, 0))) == bytes.fromhex("".join(written))


def test_the_welcome_never_changes() -> None:
    """Byte for byte, as the hello: by its version the dialler knows why it is refused."""
    welcome = Welcome(Contact(NODE, "host:1"), 7, 2)
    written = [
        "c170 0000002f 7a6f9659",  # magic, length, checksum
        "93 92 05 00 00 91",  # [[wall, ticks], steady, [one message]]
        "94 a7 57656c636f6d65",  # ["Welcome",
        "92 c414 000102030405060708090a0b0c0d0e0f10111213 a6 686f73743a31",  # [id, "host:1"],
        "07 02",  # incarnation, version]
    ]
    assert frame(encode_batch([welcome], Stamp(5, 0))) == bytes.fromhex("".join(written))
