"""What is told apart by its hash: the content of an event, and the matches of events that are owed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from p2psub.model.content import Event
from p2psub.model.ids import SubscriptionId
from p2psub.model.merkle import leaf_of

_in_order: Final = msgspec.msgpack.Encoder(order="deterministic")
"""Attributes in one order, whatever order they were given in."""


def content_bytes(event: Event) -> bytes:
    """Everything an application sees of an event, in one spelling; a timeout is the publisher's word, too."""
    try:
        if event.timeout_us:
            return _in_order.encode((event.id, event.topic, event.attributes, event.body, event.timeout_us))
        return _in_order.encode((event.id, event.topic, event.attributes, event.body))
    except TypeError:
        # A set of ints and strings has no order of its own.
        attributes = {a: sorted(v, key=repr) if type(v) is frozenset else v for a, v in event.attributes.items()}
        timeout = (event.timeout_us,) if event.timeout_us else ()
        return _in_order.encode((event.id, event.topic, attributes, event.body, *timeout))


def content_hash(event: Event) -> bytes:
    """What is sealed, and what both ends compare (S4)."""
    return leaf_of(content_bytes(event))


def digest_of_matches(subscriptions: Iterable[SubscriptionId]) -> bytes:
    """Name the subscriptions with which events were matched; the order in which they were found does not matter.

    A filter never changes, so which of the events each of them wants need not be told apart.
    """
    names = bytearray()
    for subscription in sorted(subscriptions):
        _in_order.encode_into(subscription, names, -1)
    return hashlib.blake2b(names, digest_size=8).digest()
