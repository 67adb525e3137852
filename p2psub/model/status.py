"""What a node says of itself when asked: a frozen picture for status pages, checkers and tests."""

from __future__ import annotations

import enum

import msgspec

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


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One node at one instant."""

    id: NodeId
    incarnation: int
    cluster: ClusterId | None
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
    changes_digest: bytes
    active_subscriptions: tuple[SubscriptionId, ...]
    active_advertisements: tuple[Advertisement, ...]
    advertised: tuple[Advertisement, ...]
    """What any peer advertises, as far as we hold the changes: super-nodes and their candidates do."""
    left: bool
    """Has given away what it held: the process may end."""
    hears_nobody: bool
    """Rules a cluster that had other members lately, and hears none of them."""
    queued_messages: int
    queued_messages_max: int
