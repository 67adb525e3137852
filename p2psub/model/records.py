"""Trace records: one flat, typed, versioned struct, the same from simulator and node."""

from __future__ import annotations

import enum

import msgspec

from p2psub.model.changes import ChangeNumber, Vector
from p2psub.model.content import Advertisement, Event, Subscription
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Epoch, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Stamp

SCHEMA_VERSION = 2

UNTRACED = "untraced"
"""The reason of a record that counts happenings of its kind which have no record of their own."""


class Kind(enum.StrEnum):
    """What happened."""

    PUBLISH = "publish"
    ACKNOWLEDGE = "acknowledge"
    STORE = "store"
    COPY = "copy"
    MATCH = "match"
    OUTCOME = "outcome"
    DISCHARGE = "discharge"
    FORWARD = "forward"
    RECEIVE = "receive"
    DUPLICATE = "duplicate"
    DELIVER = "deliver"
    DROP = "drop"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    NUMBER = "number"
    CHANGE = "change"
    VERDICT = "verdict"
    ADVERTISE = "advertise"
    CAST = "cast"
    ROLE = "role"
    RING = "ring"
    TABLE = "table"
    DIRECTORY = "directory"
    GAP = "gap"
    START = "start"
    CLOSE = "close"


class Record(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One happening at one node; fields that a kind does not use stay empty."""

    kind: Kind
    node: NodeId
    incarnation: int
    sequence: int
    stamp: Stamp
    cluster: ClusterId | None = None
    epoch: Epoch | None = None
    event: EventId | None = None
    subscription: SubscriptionId | None = None
    peer: NodeId | None = None
    cast: CastId | None = None
    number: ChangeNumber | None = None
    vector: Vector | None = None
    prefix: Prefix | None = None
    reason: str | None = None
    count: int | None = None
    copies: int | None = None
    hops: int | None = None
    digest: bytes | None = None
    published: Event | None = None
    subscribed: Subscription | None = None
    advertised: Advertisement | None = None
