"""What is published and what is wanted: typed events and typed filters (MTEP 1.1)."""

from __future__ import annotations

import enum
import hashlib
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec

from p2psub.model.bids import Bid, Span
from p2psub.model.ids import ClusterId, EventId, Key, Natural, SubscriptionId, key_of_shard, key_of_topic
from p2psub.model.instants import Micros
from p2psub.model.weights import weight_of_filter, weight_of_predicate


class Moment(msgspec.Struct, frozen=True, order=True):
    """A date and time as content: microseconds since 1970 in UTC, so that zones do not matter to a comparison."""

    us: int

    @classmethod
    def of(cls, date: datetime) -> Moment:
        """The moment of a date; one without a zone is taken as UTC."""
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        since = aware - datetime(1970, 1, 1, tzinfo=UTC)
        return cls((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


Value = bool | int | float | str | Moment | frozenset[int | str]
"""A content value: int, float, string, bool, date, or a set of ints or strings."""


TOPIC_BYTES_MAX = 1024
EVENT_BYTES_MAX = 256 * 1024
"""Topic, attributes and body of one event together: a quarter of a frame, so that it travels among others. A guess."""
FILTER_BYTES_MAX = 256 * 1024
"""One filter in normal form, as `Filter.weight` counts it: every cluster stores it. A guess."""

TOPIC = "topic"
"""The attribute whose value is the event's key (the keyword that Hyper 3.1 hashes)."""

PINNED_TOPICS_MAX = 8
"""A filter that names more topics than this goes to a wildcard shard: one record instead of many. A guess."""


class Operator(enum.StrEnum):
    """Comparisons of MTEP 1.1, where prefix and suffix are >* and <*; then what SQL adds, with every negation."""

    LESS = "<"
    LESS_EQUAL = "<="
    EQUAL = "="
    UNEQUAL = "<>"
    GREATER = ">"
    GREATER_EQUAL = ">="
    PREFIX = "prefix"
    SUFFIX = "suffix"
    CONTAINS = "contains"
    IN = "in"
    SUBSET = "subset"
    PROPER_SUBSET = "proper_subset"
    NOT_PREFIX = "not_prefix"
    NOT_SUFFIX = "not_suffix"
    NOT_CONTAINS = "not_contains"
    NOT_IN = "not_in"
    NOT_SUBSET = "not_subset"
    NOT_PROPER_SUBSET = "not_proper_subset"
    LIKE = "like"
    NOT_LIKE = "not_like"
    EXISTS = "exists"


class Predicate(msgspec.Struct, frozen=True, array_like=True):
    """One attribute filter (a, op, c)."""

    attribute: str
    operator: Operator
    constant: Value

    @property
    def weight(self) -> int:
        """Its bytes on a link, or a few more."""
        return weight_of_predicate(self)


class Filter(msgspec.Struct, frozen=True, array_like=True):
    """A disjunction of conjunctions; one empty conjunction wants every event."""

    conjunctions: tuple[tuple[Predicate, ...], ...] = ((),)

    @property
    def weight(self) -> int:
        """Its bytes on a link, or a few more."""
        return weight_of_filter(self)


class Guarantee(enum.StrEnum):
    """What `publish` promises: stored, retried and de-duplicated, or straight through."""

    EFFECTIVELY_ONCE = "effectively_once"
    AT_MOST_ONCE = "at_most_once"


class Draft(msgspec.Struct, frozen=True):
    """One event to publish, before it has an id."""

    topic: str
    attributes: dict[str, Value] = {}
    body: bytes = b""
    retain_s: float = 0.0
    guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE
    timeout_us: int = 0


class Event(msgspec.Struct, frozen=True, array_like=True):
    """A published event.

    `retain_us` is its retention class: 0 keeps nothing once it is discharged (QoS 3.1). `timeout_us` is how old it may
    be when it is handed over: 0 is any age (MTEP 1.1).
    """

    id: EventId
    topic: Annotated[str, msgspec.Meta(max_length=TOPIC_BYTES_MAX)]
    attributes: dict[str, Value]
    body: bytes = b""
    retain_us: int = 0
    guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE
    timeout_us: Span = 0

    @property
    def key(self) -> Key:
        return key_of_topic(self.topic)


class DeclarationState(enum.StrEnum):
    """Active until its peer, or the end of its peer's lease, ends it."""

    ACTIVE = "active"
    ENDED = "ended"


class Order(enum.StrEnum):
    """In which order a subscription gets events."""

    NONE = "none"
    PUBLISHER = "publisher"
    """Of each publisher's events on one topic the earlier first."""


class Subscription(msgspec.Struct, frozen=True, array_like=True, tag="wants"):
    """One record per subscription; of two records with one id the higher version stands."""

    id: SubscriptionId
    version: Natural
    state: DeclarationState
    cluster: ClusterId
    filter: Filter
    replay: bool = False
    order: Order = Order.NONE
    bid: Bid = Bid()


RATE_MAX = 1e9
"""Events per second that an advertisement may name; more than any link carries."""


class Advertisement(msgspec.Struct, frozen=True, array_like=True, tag="offers"):
    """What a peer says it will publish, and how many events per second at most (RacsCBPS 2.1).

    It is told, ended and forgotten as a subscription is, and named in the same sequence.
    """

    id: SubscriptionId
    version: Natural
    state: DeclarationState
    cluster: ClusterId
    filter: Filter
    rate: Annotated[float, msgspec.Meta(gt=0, le=RATE_MAX)] = 1.0


Declaration = Subscription | Advertisement
"""What a peer has every cluster know."""


AGE_US_MAX: Final = 1 << 52
"""A century and more: whatever an age is added to stays far below what a message can say."""


Age = Annotated[Micros, msgspec.Meta(ge=0, le=AGE_US_MAX)]
"""How long ago events were published, as each hop advances it: no clock but the hop's own is consulted."""


def pinned_topics(wanted: Filter) -> tuple[str, ...]:
    """The topics that a filter pins, sorted; empty if some conjunction would take any topic."""
    topics: set[str] = set()
    for conjunction in wanted.conjunctions:
        named = _topics_of_conjunction(conjunction)
        if not named:
            return ()
        topics.update(named)
    return tuple(sorted(topics)) if len(topics) <= PINNED_TOPICS_MAX else ()


def _topics_of_conjunction(conjunction: tuple[Predicate, ...]) -> list[str]:
    for predicate in conjunction:
        if predicate.attribute == TOPIC:
            if predicate.operator is Operator.EQUAL and isinstance(predicate.constant, str):
                return [predicate.constant]
            if predicate.operator is Operator.IN and isinstance(predicate.constant, frozenset):
                return [str(topic) for topic in predicate.constant]
    return []


def keys_of(declared: Declaration, shards: int) -> tuple[Key, ...]:
    """Where a subscription is stored: at its topics, else at one wildcard shard. No owner needs an advertisement."""
    if isinstance(declared, Advertisement):
        return ()
    topics = pinned_topics(declared.filter)
    if topics:
        return tuple(map(key_of_topic, topics))
    return (key_of_shard(shard_of(declared.id, shards)),)


def shard_of(subscription: SubscriptionId, shards: int) -> int:
    """The wildcard shard of a subscription that pins no topic."""
    name = subscription.node + subscription.incarnation.to_bytes(8, "big") + subscription.sequence.to_bytes(8, "big")
    return hashlib.sha256(name).digest()[0] % shards
