"""Every number a node goes by. Spans are in microseconds; ticks are half heartbeats.

`p2psub config example` prints all of it, with the sentences below: each field says what it means to an operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from p2psub.errors import ConfigError
from p2psub.model.instants import SECOND_US, Micros

Ticks = Annotated[int, Meta(ge=1, le=1 << 31, extra={"unit": "ticks"})]
"""Half heartbeats."""
Count = Annotated[int, Meta(ge=1, le=1 << 31)]
"""How many."""
Bytes = Annotated[int, Meta(ge=1, le=1 << 62, extra={"unit": "bytes"})]
Span = Annotated[Micros, Meta(ge=0, le=1 << 53, extra={"unit": "microseconds"})]
Share = Annotated[float, Meta(ge=0.0, le=1.0, extra={"unit": "part of 1"})]


@dataclass(frozen=True, slots=True)
class LivenessConfig:
    """When silence becomes suspicion, and suspicion a verdict. Guesses, tuned in the simulator at 10 % loss."""

    ping_after_ticks: Ticks = 3
    """A watched peer silent for this long is pinged on every tick."""
    suspect_after_ticks: Ticks = 4
    """Then two witnesses are asked on every tick too."""
    dead_after_ticks: Ticks = 7
    """Silent towards us and all witnesses for this long: dead."""
    unreachable_after_ticks: Ticks = 20
    """Silent towards us though witnesses hear it: dead to us alone."""
    witnesses: Count = 2
    """How many are asked at a time."""


@dataclass(frozen=True, slots=True)
class RingConfig:
    """Chord's shape."""

    successors: Count = 3
    """Length r of the successor list (docs/protocol/ring.md)."""
    fingers: Count = 8
    """Fingers kept; a ring of 64 has six distinct ones."""
    finger_every_ticks: Ticks = 20
    """One finger is refreshed this often; they are only for speed."""
    merge_every_ticks: Ticks = 12
    """A remembered contact outside the view is probed this often."""
    contacts_max: Count = 128
    """Remembered contacts."""
    lookup_hops_max: Count = 32
    """A look-up that walked this far is dropped; its origin asks again."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """Elections, leases, tables."""

    size_min: Count = 4
    """Below it a cluster is the first choice of newcomers (docs/protocol/hypercube.md)."""
    size_target: Count = 16
    """Up to it newcomers are taken in without being asked for by name."""
    size_max: Count = 64
    """A super-node takes no more members than this."""
    candidates: Count = 2
    """Candidates to which the super-node's changes are replicated."""
    lease_ticks: Ticks = 20
    """How long a member serves its arc without its super-node: longer than a failover (8 H), which so stops nothing."""
    seen_ticks: Ticks = 1200
    """Members seen within this time count for the required copies (10 minutes)."""
    succession_ticks: Ticks = 3
    """Each rank below the first waits this much longer before it takes over."""
    subscriber_lease_ticks: Ticks = 240
    """A peer not heard for this long loses its subscriptions."""


@dataclass(frozen=True, slots=True)
class CubeConfig:
    """Casts and anti-entropy."""

    batch_changes_max: Count = 256
    """Changes in one message."""
    custody_ticks: Ticks = 3
    """A cast without custody after this time is sent again, through another contact if there is one."""
    cast_ticks_max: Ticks = 60
    """An open cast of a change is forgotten after this time; anti-entropy takes over."""
    remember_ticks: Ticks = 240
    """Answers are remembered this long for repeated casts."""
    accepted_after_ticks: Ticks = 12
    """A subscription without every answer by then is told `accepted`."""
    recast_after_ticks: Ticks = 24
    """A change not yet stable is cast again this often."""
    lost_after_ticks: Ticks = 120
    """A cluster whose super-node was not replaced by then is given up by its neighbours."""
    paths: Literal["neighbour", "load"] = "load"
    """A multicast enters a half at the neighbour there, or where that takes least time (docs/protocol/casts.md)."""


@dataclass(frozen=True, slots=True)
class PubSubConfig:
    """Publishing, copies and deliveries."""

    copies: Count = 3
    """Copies that an acknowledgement needs, where the cluster has as many members."""
    shards: Count = 2
    """Wildcard shards: a few."""
    empty_lease_us: Span = Micros(2 * SECOND_US)
    """How long the owner of a topic may take a wildcard shard for empty."""
    retry_ticks: Ticks = 4
    """An unanswered publish, or request for a copy, is sent again after this time."""
    redeliver_ticks: Ticks = 12
    """An undischarged event is routed again after this time."""
    undelivered_ttl_us: Span = Micros(3600 * SECOND_US)
    """How long an undelivered event is kept, and ids are remembered against duplicates."""
    undelivered_ttl_margin_us: Span = Micros(360 * SECOND_US)
    """How much longer ids are remembered. Half of it is for a change of owners, half for clocks that drift apart."""
    spool_bytes_max: Bytes = 64 * 1024 * 1024
    """Undelivered bytes kept for one target cluster."""
    recent_events_max: Count = 1024
    """Discharged events kept for replay, in memory."""
    outbox_events_max: Count = 10_000
    """Unacknowledged events a publisher may have."""
    at_most_once_trace_every: Count = 1
    """One `at_most_once` event in so many is traced whole, the others are counted; the same for all nodes."""

    @property
    def too_old_us(self) -> Micros:
        """From this age on an event is a debt to nobody: it may have been paid, and that forgotten."""
        return Micros(self.undelivered_ttl_us + self.undelivered_ttl_margin_us // 2)

    @property
    def remembered_us(self) -> Micros:
        """How long what was handed over, or discharged, is remembered."""
        return Micros(self.undelivered_ttl_us + self.undelivered_ttl_margin_us)


Discipline = Literal["mtep", "lrt", "fix", "fcfs"]


@dataclass(frozen=True, slots=True)
class EgressConfig:
    """Lanes of a link."""

    queued_messages_max: Count = 20_000
    """Per link; above it the message is dropped with a record."""
    queued_bytes_max: Bytes = 32 * 1024 * 1024
    """Per link, by weight: messages differ in size a thousandfold."""
    bulk_share: Share = 0.1
    """Part of the link that bulk gets while content waits."""
    discipline: Discipline = "mtep"
    """Which content leaves first: docs/protocol/queues.md."""
    weight: Share = 0.4
    """Of what sending now earns, beside what waiting costs the others; for mtep alone."""
    epsilon: Share = 0.04
    """An event whose chance to be in time is no higher is not sent."""


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """What a node goes by. Nodes of one overlay should agree in all of it."""

    heartbeat_us: Span = SECOND_US
    """How often members speak to their neighbours; every patience is counted in halves of it."""
    liveness: LivenessConfig = field(default_factory=LivenessConfig)
    ring: RingConfig = field(default_factory=RingConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    cube: CubeConfig = field(default_factory=CubeConfig)
    pubsub: PubSubConfig = field(default_factory=PubSubConfig)
    egress: EgressConfig = field(default_factory=EgressConfig)

    def __post_init__(self) -> None:
        if self.heartbeat_us < 1000:
            raise ConfigError("heartbeat_us", "a heartbeat below 1 ms cannot be kept; use 1000 or more")
        if self.ring.successors < 1:
            raise ConfigError("ring.successors", "a member needs at least one successor")
        if self.pubsub.copies > self.ring.successors + 1:
            raise ConfigError("pubsub.copies", "an event has ring.successors + 1 holders; ask for no more copies")
        if not self.egress.epsilon < 1.0:
            raise ConfigError("egress.epsilon", "no chance is above 1, so nothing would ever be sent; use less")
        if not self.egress.bulk_share < 1.0:
            raise ConfigError("egress.bulk_share", "content would never leave while bulk waits; use less than 1")
        liveness, cluster = self.liveness, self.cluster
        if not liveness.ping_after_ticks < liveness.suspect_after_ticks < liveness.dead_after_ticks:
            raise ConfigError("liveness.dead_after_ticks", "a peer is pinged, then suspected, then dead: each later")
        if not cluster.size_min <= cluster.size_target <= cluster.size_max:
            raise ConfigError("cluster.size_target", "give size_min, size_target and size_max in rising order")

    @property
    def tick_us(self) -> Micros:
        """Half a heartbeat."""
        return Micros(self.heartbeat_us // 2)
