"""What is told apart by its hash: the content of an event, and the matches of an owed event."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from p2psub.model.content import Event
from p2psub.model.ids import EventId
from p2psub.model.merkle import leaf_of
from p2psub.model.messages.pubsub import Obligation, OwedEventId

_in_order: Final = msgspec.msgpack.Encoder(order="deterministic")
"""Attributes in one order, whatever order they were given in."""


def content_bytes(event: Event) -> bytes:
    """Everything an application sees of an event, in one spelling."""
    try:
        return _in_order.encode((event.id, event.topic, event.attributes, event.body))
    except TypeError:
        # A set of ints and strings has no order of its own.
        attributes = {a: sorted(v, key=repr) if type(v) is frozenset else v for a, v in event.attributes.items()}
        return _in_order.encode((event.id, event.topic, attributes, event.body))


def content_hash(event: Event) -> bytes:
    """What is sealed, and what both ends compare (S4)."""
    return leaf_of(content_bytes(event))


def owed_event_id(event: EventId, matches: tuple[Obligation, ...]) -> OwedEventId:
    """Name an owed event; the order in which its matches were found does not matter."""
    hasher = hashlib.blake2b(digest_size=8)
    for match in sorted(match.subscription for match in matches):
        hasher.update(msgspec.msgpack.encode(match))
    return OwedEventId(event, hasher.digest())
