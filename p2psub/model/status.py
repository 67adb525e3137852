"""What a node says of itself when asked: a frozen picture for status pages, checkers and tests."""

from __future__ import annotations

import enum

import msgspec

from p2psub.model.books import EMPTY_BOOKS, BookSums, SubscriptionBooks
from p2psub.model.content import Advertisement
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact, Epoch, EventId, NodeId, SubscriptionId
from p2psub.model.places import TableVersion


class Role(enum.StrEnum):
    """A peer's part in its cluster."""

    JOINING = "joining"
    MEMBER = "member"
    CANDIDATE = "candidate"
    SUPER_NODE = "super_node"


class LifeStage(enum.StrEnum):
    """Where a node is in its life; how it moves on is in `node/life_cycle.py`."""

    SEEKING = "seeking"
    """Looks for the overlay, or for its cluster's super-node."""
    JOINING = "joining"
    """Has a super-node, and enters the ring."""
    MEMBER = "member"
    CANDIDATE = "candidate"
    """A member that would take over: it holds what the super-node holds."""
    FOUNDING = "founding"
    """Leads a cluster that is promised no place in the cube yet."""
    FILLING = "filling"
    """Leads, and lacks changes or its place in the cube."""
    SUPER_NODE = "super_node"
    LEAVING = "leaving"
    """Gives away what it holds."""
    LEFT = "left"
    """Holds nothing any more: the process may end."""


class LinkQueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for one link, and how fast that is."""

    discipline: str
    waiting: int
    waiting_bytes: int
    committed_bytes: int
    """On their way, as far as we know: nothing can overtake them."""
    window_bytes: int
    """How many may be."""
    us_per_kb: float | None
    deviation_us_per_kb: float | None
    """As it was while the link was full; none: it never was."""


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One node at one instant."""

    id: NodeId
    incarnation: int
    cluster: ClusterId | None
    stage: LifeStage
    role: Role
    epoch: Epoch | None
    super_node: Contact | None
    candidates: tuple[Contact, ...]
    predecessor: Contact | None
    successors: tuple[Contact, ...]
    table: TableVersion | None
    owners: tuple[NodeId, ...]
    serves: bool
    """Holds a running lease on an arc: may acknowledge."""
    prefix: Prefix | None
    clusters: tuple[tuple[ClusterId, Prefix], ...]
    filling: bool
    outbox: int
    undischarged: int
    kept: tuple[EventId, ...]
    promised_books: BookSums = EMPTY_BOOKS
    """As an owner: of pairs that it settled since the process began."""
    at_most_once_books: BookSums = EMPTY_BOOKS
    """As a subscriber: of what promises nothing."""
    subscription_books: tuple[SubscriptionBooks, ...] = ()
    """Both, of the subscriptions that were booked last."""
    changes_digest: bytes
    active_subscriptions: tuple[SubscriptionId, ...]
    active_advertisements: tuple[Advertisement, ...]
    advertised: tuple[Advertisement, ...]
    """What any peer advertises, as far as we hold the changes: super-nodes and their candidates do."""
    hears_no_member: bool
    """Leads a cluster that had other members lately, and hears none of them."""
    queued_messages: int
    queued_messages_max: int
    link_queues: dict[NodeId, LinkQueueStatus] = {}
