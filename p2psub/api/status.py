"""What a running peer says of itself: the node inside, its links, and how far it has come."""

from __future__ import annotations

import enum

import msgspec

from p2psub.model.records import Kind
from p2psub.model.status import LinkQueueStatus, NodeStatus


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """What a score is made of, each part between 0 and 1."""

    online: float
    """Time since the start, up to a day."""
    storage: float
    """Free space where the data is, up to 100 GiB."""
    memory: float
    """Free memory, up to 16 GiB."""
    processors: float
    """Processors that were idle in the last minute, up to 8."""
    goodput: float
    """The best that was seen on a link lately, by its order of magnitude."""
    nearness: float
    """By the round trip to the neighbour in the middle."""

    @property
    def score(self) -> float:
        """All parts together."""
        parts: tuple[float, ...] = msgspec.structs.astuple(self)
        return round(sum(parts), 3)


class Trouble(enum.StrEnum):
    """A part of a peer that can be in trouble while the rest goes on."""

    STORE = "store"
    """Nothing is made durable."""
    DAMAGE = "damage"
    """Rows of the store were found damaged at the start."""
    TRACE = "trace"
    """The trace cannot be written."""


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One link at one instant; `peer` is the other side's id in hex."""

    peer: str
    address: str
    up: bool
    bytes_in: int
    bytes_out: int
    committed_bytes: int = 0
    """What the other side has not acknowledged, by the kernel's word at this instant: nothing can overtake it."""
    queue: LinkQueueStatus | None = None
    """None while the core has not heard of it yet."""


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One peer at one instant."""

    name: str
    address: str
    overlay: str
    stage: str
    """How far it has come in joining, in words."""
    missing: str | None
    """What it waits for, in words."""
    ready: bool
    uptime_s: float
    node: NodeStatus
    links: tuple[LinkStatus, ...] = ()
    certificate_days_left: float
    rank: int | None
    """Its place among the candidates, from 1."""
    score: float
    """The sum of its capability; below zero if it may not lead."""
    counters: dict[str, int]
    recorded: dict[tuple[Kind, str], int] = {}
    """How often what was recorded, by kind and reason."""
    capability: Capability | None = None
    """What its score is made of, as last measured."""
    deny_list_issued_s: int = 0
    """Which deny list it goes by, in seconds since 1970; 0 if no node was ever denied."""
    troubles: dict[Trouble, str] = {}
    """What is wrong with parts of it, and what to do; it may be ready all the same."""
