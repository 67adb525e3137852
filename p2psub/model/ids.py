"""Names of nodes, keys, clusters, events and subscriptions.

Ids and keys are 20 bytes, so that their byte order is their order on the circle (see `circle`).
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Annotated, NamedTuple, NewType

import msgspec

ID_BYTES = 20

Place = NewType("Place", Annotated[bytes, msgspec.Meta(min_length=ID_BYTES, max_length=ID_BYTES)])
"""A place on the identifier circle."""

NodeId = NewType("NodeId", Place)
"""A peer's place on the circle, its name for life."""

Key = NewType("Key", Place)
"""Where a topic or a wildcard shard lies on the circle."""

CLUSTER_CHARS_MAX = 64
ADDRESS_CHARS_MAX = 300
"""A host name has at most 253 characters."""

ClusterId = NewType("ClusterId", Annotated[str, msgspec.Meta(max_length=CLUSTER_CHARS_MAX)])
"""Name of one Chord ring."""


Natural = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A count or a number in a sequence."""


class Contact(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A peer and where it can be dialled."""

    id: NodeId
    address: Annotated[str, msgspec.Meta(max_length=ADDRESS_CHARS_MAX)]


class Process(NamedTuple):
    """One start of a peer, and where it can be dialled."""

    contact: Contact
    incarnation: Natural


class Epoch(NamedTuple):
    """Term of one super-node; ordered, so that of two claims the higher one stands.

    It names the incarnation too: a node that lost the memory of its term must not number under the same name again.
    """

    counter: Natural
    node: NodeId
    incarnation: Natural


class EventId(NamedTuple):
    """Given at the first attempt to publish and never renewed."""

    node: NodeId
    incarnation: Natural
    sequence: Natural


class SubscriptionId(NamedTuple):
    """Belongs to one start of one peer: a subscription that is not durable ends with its process."""

    node: NodeId
    incarnation: Natural
    sequence: Natural


class CastId(NamedTuple):
    """One cast: the super-node that started it, and its number there."""

    node: NodeId
    incarnation: Natural
    sequence: Natural


def digest_of(*parts: bytes) -> Place:
    """Hash parts to a place on the circle; parts are length-prefixed, so no two lists collide by concatenation."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(4, "big"))
        hasher.update(part)
    return Place(hasher.digest()[:ID_BYTES])


@lru_cache(maxsize=1 << 14)
def key_of_topic(topic: str) -> Key:
    """The key under which a topic's subscriptions and events are stored (Hyper 3.1)."""
    return Key(digest_of(b"topic", topic.encode()))


@lru_cache(maxsize=1 << 10)
def key_of_shard(shard: int) -> Key:
    """The key of one wildcard shard, home of filters that pin no topic."""
    return Key(digest_of(b"wildcard", shard.to_bytes(4, "big")))
