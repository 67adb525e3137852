"""Trace records: one flat, typed, versioned struct, the same from simulator and node."""

from __future__ import annotations

import enum
from typing import Annotated, Final

import msgspec

from p2psub.model.books import BookSums
from p2psub.model.changes import ChangeNumber, Vector
from p2psub.model.content import Advertisement, DeclarationState, Event, Guarantee, Subscription
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Epoch, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.places import Standing
from p2psub.model.reasons import Reason

SCHEMA_VERSION = 5
RUN_MAX = 65_536
"""Events in one record: a damaged line must not become a billion rows."""


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
    BOOKS = "books"
    START = "start"
    CLOSE = "close"


IN_RUNS: Final = frozenset(
    {
        Kind.MATCH,
        Kind.STORE,
        Kind.COPY,
        Kind.ACKNOWLEDGE,
        Kind.OUTCOME,
        Kind.DISCHARGE,
        Kind.DELIVER,
        Kind.DROP,
        Kind.DUPLICATE,
    }
)
"""Kinds whose records may speak of several events at once; `publish` holds the content of one."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One happening at one node; fields that a kind does not use stay empty."""

    # In every record

    kind: Kind
    node: NodeId
    incarnation: int
    sequence: int
    stamp: Stamp
    # What it is about
    cluster: ClusterId | None = None
    epoch: Epoch | None = None
    event: EventId | None = None
    subscription: SubscriptionId | None = None
    peer: NodeId | None = None
    cast: CastId | None = None
    number: ChangeNumber | None = None
    vector: Vector | None = None
    prefix: Prefix | None = None
    # Why, how it ended, and how many happenings one record stands for
    reason: Reason | None = None
    outcome: Outcome | None = None
    count: int | None = None
    run: Annotated[int, msgspec.Meta(ge=1, le=RUN_MAX)] | None = None
    """How many events in a row the record speaks of; `event` is the first; none: one."""
    # Of a pair of event and subscription that ended
    age_us: int | None = None
    """How old the event was by then."""
    earned: int | None = None
    """What the pair earned, in millionths, a penalty below 0; none: as who bids nothing, 1 if it was handed over."""
    # Of an event
    guarantee: Guarantee | None = None
    matched: int | None = None
    """Subscriptions that want the event."""
    copies: int | None = None
    """Copies that were durable when the owner acknowledged."""
    digest: bytes | None = None
    """The content hash of the event; of a run all hashes, one after the other."""
    # Of a cast
    payload: str | None = None
    """The class of what the cast carries."""
    hops: int | None = None
    tries: int | None = None
    """How often a half was handed on, this time included."""
    # Of a declaration
    status: VerdictStatus | None = None
    state: DeclarationState | None = None
    unreached: int | None = None
    """Clusters that have not stored it yet."""
    # Of a table, or of an entry of the directory
    version: int | None = None
    owners: int | None = None
    standing: Standing | None = None
    # Of a process that starts: what it was told to do
    heartbeat_us: Micros | None = None
    copies_required: int | None = None
    # The whole thing, so that a checker needs nothing but the trace
    published: Event | None = None
    subscribed: Subscription | None = None
    advertised: Advertisement | None = None
    books: BookSums | None = None
    """Of this process, and of one guarantee."""

    @property
    def happenings(self) -> int:
        """How many happenings the record stands for: as many as it counts, or as its run is long."""
        return (self.run or 1) if self.count is None else self.count
