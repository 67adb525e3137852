"""Content as JSON and back, and ids as text and back."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.api.errors import BadContent
from p2psub.api.values import (
    event_id_from_text,
    id_to_text,
    subscription_id_from_text,
    value_from_json,
    value_to_json,
    values_from_json,
)
from p2psub.model.content import Moment, Value
from p2psub.model.ids import EventId, NodeId, Place, SubscriptionId

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
naturals = st.integers(0, (1 << 63) - 1)
values = st.one_of(
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(),
    texts,
    st.builds(Moment, st.integers(-(1 << 63), (1 << 63) - 1)),
    st.frozensets(st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), texts), max_size=5),
)


@given(values)
def test_values_survive_json(value: Value) -> None:
    """Value and type, through the bytes of JSON."""
    text = msgspec.json.encode(value_to_json(value))
    read = value_from_json("key", msgspec.json.decode(text))
    assert type(read) is type(value)
    assert read == value or (isinstance(value, float) and isinstance(read, float) and math.isnan(value + read))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Moment(1_500_000), b'{"$date":"1970-01-01T00:00:01.500000Z"}'),
        (Moment(1 << 62), b'{"$date":4611686018427387904}'),
        (frozenset(["b", 3, "a", 1]), b'{"$set":[1,3,"a","b"]}'),
        (math.inf, b'{"$float":"inf"}'),
        (1.0, b"1.0"),
        (1, b"1"),
        (True, b"true"),
    ],
)
def test_values_are_written_like_this(value: Value, text: bytes) -> None:
    """One way to write each, whatever order a set has in memory."""
    assert msgspec.json.encode(value_to_json(value)) == text


def test_dates_may_have_a_zone_or_none() -> None:
    """Without one they are UTC."""
    assert value_from_json("at", {"$date": "1970-01-01"}) == Moment(0)
    assert value_from_json("at", {"$date": "1970-01-01T02:00:00+02:00"}) == Moment(0)


@pytest.mark.parametrize(
    "given_json",
    [
        None,
        [],
        {},
        {"a": 1},
        {"$date": "soon"},
        {"$date": 1.5},
        {"$date": True},
        {"$date": "1970-01-01", "more": 1},
        {"$set": 1},
        {"$set": [1.5]},
        {"$set": [True]},
        {"$set": [[1]]},
        {"$float": "one"},
        1 << 64,
        -(1 << 63) - 1,
        {"$date": 1 << 70},
        {"$set": [1 << 70]},
        "\ud800",
    ],
)
def test_what_is_no_value_is_told_so_by_name(given_json: object) -> None:
    """BadContent, with the name of the attribute and what to write instead."""
    with pytest.raises(BadContent, match="price") as told:
        values_from_json({"price": given_json})
    assert told.value.advice


@given(st.binary(min_size=20, max_size=20), naturals, naturals)
def test_ids_survive_text(node: bytes, incarnation: int, sequence: int) -> None:
    """Of events and of subscriptions."""
    event = EventId(NodeId(Place(node)), incarnation, sequence)
    assert event_id_from_text(id_to_text(event)) == event
    subscription = SubscriptionId(*event)
    assert subscription_id_from_text(id_to_text(subscription)) == subscription


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ab",
        "ab.1.2",
        f"{'ab' * 20}.1",
        f"{'ab' * 20}.1.-2",
        f"{'xy' * 20}.1.2",
        f"{'ab' * 20}.1.2.3",
        f"{'ab' * 20}.1.{'9' * 30}",
        f"{'ab' * 20}.².1",
    ],
)
def test_what_is_no_id_is_told_so(text: str) -> None:
    """With where to copy one from."""
    with pytest.raises(BadContent, match="copy it"):
        event_id_from_text(text)
