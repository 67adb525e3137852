"""What a message with content weighs is what it takes on a link, within a tenth: credit and queues are counted so."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.content import Event, Value
from p2psub.model.ids import EventId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.casts import EventCast
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Publish, Route, StoreCopy
from p2psub.model.messages.shards import MatchRequest, ParcelToShard
from p2psub.model.parcels import Parcel
from p2psub.wire.codec import decode_batch, encode_batch
from tests.oracles.instances import instances_of
from tests.unit.bench import CLUSTER, node_at

WITH_CONTENT = (Publish, StoreCopy, MatchRequest, Route, Deliver, EventCast, ParcelToOwner, ParcelToShard)
STAMP = Stamp(0, 0)
BESIDE = len(encode_batch([], STAMP))
SLACK = 20
"""What a number or two may be longer or shorter than usual."""


def bytes_of(message: Message) -> int:
    """What the codec makes of it, beside the stamp that all messages of a frame share."""
    return len(encode_batch([message], STAMP)) - BESIDE


def is_true(message: Message) -> bool:
    """Whether its weight is within a tenth of its bytes."""
    return abs(message.weight - bytes_of(message)) <= max(SLACK, bytes_of(message) // 10)


@pytest.mark.parametrize("kind", WITH_CONTENT, ids=lambda kind: kind.__name__)
def test_weight_of_any_message_with_content_is_true(kind: type[Message]) -> None:
    """Whatever it carries: long attributes, sets, proofs, many wants."""

    @given(instances_of(kind))
    @settings(deadline=None, max_examples=25)
    def check(message: Message) -> None:
        assert is_true(message), (message.weight, bytes_of(message))

    check()


VALUES: st.SearchStrategy[Value] = st.integers(-(2**40), 2**40) | st.text(max_size=40) | st.floats(0, 1)


@given(
    st.dictionaries(st.text(max_size=10), VALUES, max_size=6), st.lists(st.integers(0, 3_000), min_size=1, max_size=256)
)
@settings(deadline=None, max_examples=40)
def test_weight_of_a_large_parcel_is_that_of_all_its_bodies(attributes: dict[str, Value], bodies: list[int]) -> None:
    """Of many events some are measured, and the bodies of all: what is published in one step is alike but for those."""
    events = [Event(EventId(node_at(9), 1, n), "news", attributes, bytes(size)) for n, size in enumerate(bodies, 1)]
    assert is_true(Publish(Parcel(1, len(events), tuple(events)), Micros(0)))


def test_a_request_for_matches_carries_no_body() -> None:
    """It weighs the same whatever was published: no filter looks at a body."""
    event = Event(EventId(node_at(9), 1, 1), "news", {"price": 1.5}, b"", 0)
    request = MatchRequest(CLUSTER, 0, 1, (event,))
    assert is_true(request)
    assert request.weight < 150
    assert decode_batch(encode_batch([request], STAMP))[0] == [request]
    assert msgspec.structs.asdict(event)["body"] == b""
