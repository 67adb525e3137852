"""Every number a node goes by. Spans are in microseconds; ticks are half heartbeats."""

from __future__ import annotations

from dataclasses import dataclass, field

from p2psub.errors import ConfigError
from p2psub.model.instants import SECOND_US, Micros


@dataclass(frozen=True, slots=True)
class LivenessConfig:
    """When silence becomes suspicion, and suspicion a verdict. Guesses, tuned in the simulator at 10 % loss."""

    ping_after_ticks: int = 3
    """A watched peer silent for this long is pinged on every tick."""
    suspect_after_ticks: int = 4
    """Then two witnesses are asked on every tick too."""
    dead_after_ticks: int = 7
    """Silent towards us and all witnesses for this long: dead."""
    unreachable_after_ticks: int = 20
    """Silent towards us though witnesses hear it: dead to us alone."""
    witnesses: int = 2
    """How many are asked at a time."""


@dataclass(frozen=True, slots=True)
class RingConfig:
    """Chord's shape."""

    successors: int = 3
    """Length r of the successor list (design 3)."""
    fingers: int = 8
    """Fingers kept; a ring of 64 has six distinct ones."""
    finger_every_ticks: int = 20
    """One finger is refreshed this often; they are only for speed."""
    merge_every_ticks: int = 12
    """A remembered contact outside the view is probed this often."""
    contacts_max: int = 128
    """Remembered contacts."""
    lookup_hops_max: int = 32
    """A look-up that walked this far is dropped; its origin asks again."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """Elections, leases, tables."""

    size_min: int = 4
    """Below it a cluster is the first choice of newcomers (design 1)."""
    size_target: int = 16
    """Up to it newcomers are taken in without being asked for by name."""
    size_max: int = 64
    """A super-node takes no more members than this."""
    candidates: int = 2
    """Candidates to whom the super-node's state is streamed."""
    lease_ticks: int = 20
    """How long a grant of keys runs without its super-node: longer than a failover (8 H), so that one stops nothing."""
    seen_ticks: int = 1200
    """Members seen within this time count for the required copies (10 minutes)."""
    succession_ticks: int = 3
    """Each rank below the first waits this much longer before it takes over."""
    subscriber_lease_ticks: int = 240
    """A peer not heard for this long loses its subscriptions."""


@dataclass(frozen=True, slots=True)
class CubeConfig:
    """Casts and anti-entropy."""

    batch_changes_max: int = 256
    """Changes in one message."""
    custody_ticks: int = 3
    """A cast without custody after this time is sent again, through another contact if there is one."""
    cast_ticks_max: int = 60
    """An open cast is forgotten after this time; anti-entropy and the owner's retries take over."""
    remember_ticks: int = 240
    """Answers are remembered this long for repeated casts."""
    accepted_after_ticks: int = 12
    """A subscription without every answer by then is told `accepted`."""
    recast_after_ticks: int = 24
    """A change not yet stable is cast again this often."""
    lost_after_ticks: int = 120
    """A cluster whose super-node was not replaced by then is given up by its neighbours."""


@dataclass(frozen=True, slots=True)
class PubSubConfig:
    """Publishing, keeping and delivering."""

    copies: int = 3
    """Copies that an acknowledgement needs, where the cluster has as many members."""
    shards: int = 2
    """Wildcard shards: a few."""
    empty_lease_us: Micros = Micros(2 * SECOND_US)
    """How long an asker may take a wildcard shard for empty."""
    retry_ticks: int = 4
    """An unanswered publish or keep is sent again after this time."""
    redeliver_ticks: int = 12
    """An undischarged event is routed again after this time."""
    horizon_us: Micros = Micros(3600 * SECOND_US)
    """How long an undelivered event is kept, and ids are remembered against duplicates."""
    horizon_margin_us: Micros = Micros(60 * SECOND_US)
    """How much longer receivers remember than owners retry."""
    spool_bytes_max: int = 64 * 1024 * 1024
    """Undelivered bytes kept for one target cluster."""
    recent_events_max: int = 1024
    """Discharged events kept for replay, in memory."""
    outbox_events_max: int = 10_000
    """Unacknowledged events a publisher may have."""
    at_most_once_trace_every: int = 1
    """One `at_most_once` event in so many is traced whole, the others are counted; the same for all nodes."""


@dataclass(frozen=True, slots=True)
class EgressConfig:
    """Lanes of a link."""

    queued_messages_max: int = 20_000
    """Per link; above it the message is dropped with a record."""
    bulk_share: float = 0.1
    """Part of the link that bulk gets while content waits."""


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """All of them."""

    heartbeat_us: Micros = SECOND_US
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

    @property
    def tick_us(self) -> Micros:
        """Half a heartbeat."""
        return Micros(self.heartbeat_us // 2)
