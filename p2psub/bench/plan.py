"""What a benchmark is to measure: every number that a person may choose."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from p2psub.bench.content import BODY_BYTES
from p2psub.config import Discipline
from p2psub.errors import ConfigError
from p2psub.model.content import PINNED_TOPICS_MAX, Guarantee
from p2psub.model.seals import BATCH_MAX

SUBSCRIBERS_MAX: Final = 50
"""Each wants 1 % of the events, no two the same; and each is a process."""

RING_PEERS: Final = 4
"""The smallest ring in which owner, publisher, subscriber and a holder of a copy are four peers."""

CALLS: Final = 4
"""Calls under way at a time, of all publishers: one that waits for each call's acknowledgements is mostly idle."""

CLUSTERS_MIN: Final = 3
"""With fewer there is one link."""

BESIDE_BYTES: Final = 800
"""About what an event takes on a line beside its body: attributes, seal, TLS, who wants it (a few subscriptions)."""

WARM_UP_S_MAX: Final = 3.0

T = TypeVar("T")


class Ownership(enum.StrEnum):
    """Who owns the topics: each peer as many as any other, or one of them all."""

    EACH = "each"
    PUBLISHER = "publisher"
    SUBSCRIBER = "subscriber"

    def choose(self, publisher: T, subscribers: Sequence[T]) -> list[T]:
        """The owners; of many peers as many as a filter can name topics."""
        match self:
            case Ownership.EACH:
                return [publisher, *subscribers][:PINNED_TOPICS_MAX]
            case Ownership.PUBLISHER:
                return [publisher]
            case Ownership.SUBSCRIBER:
                return [subscribers[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """What all benchmarks of peers have in common."""

    body_bytes: int = BODY_BYTES
    at_once: int = 1000
    """Events in one call of `publish_many`."""
    traces: bool = True
    profile: Path | None = None
    """Where to say which functions take the time; it makes everything slower."""
    patience_s: float = 60.0
    """How long the ring may take to form."""
    silence_s: float = 15.0
    """What has not come when nothing has come for so long is lost; a promised event is tried again sooner."""

    def __post_init__(self) -> None:
        self._check_counts("at_once")
        for name in ("patience_s", "silence_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(name, "use more than 0")
        if self.body_bytes < 0:
            raise ConfigError("body", "use 0 or more")

    def _check_counts(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise ConfigError(name, "use 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstPlan(BenchPlan):
    """Of a benchmark that publishes so many events and waits for them, again and again."""

    events: int
    """Published in a round."""
    rounds: int = 5
    """Figures are medians of so many."""
    owner: Ownership = Ownership.EACH

    def __post_init__(self) -> None:
        BenchPlan.__post_init__(self)
        self._check_counts("events", "rounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlan(BurstPlan):
    """One publisher, one subscriber."""

    events: int = 20_000
    seconds: float = 1.0
    """How long the latency is measured in a round."""
    rate_per_s: float = 200.0
    """Events per second meanwhile."""
    bare_times: int = 10
    """The bare stream is so much faster that it carries so many times the events in a round."""
    effectively_once_events: int = 2_000

    def __post_init__(self) -> None:
        BurstPlan.__post_init__(self)
        self._check_counts("bare_times", "effectively_once_events")
        if self.timed_events < 1:
            raise ConfigError("seconds", f"use {1 / self.rate_per_s} or more: at least one event must be timed")

    @property
    def timed_events(self) -> int:
        """Events whose latency is measured in a round."""
        return int(self.seconds * self.rate_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredPlan(BurstPlan):
    """One publisher, and subscribers that each want 1 %."""

    events: int = 40_000
    rounds: int = 3
    at_once: int = 2000
    """Nine owners share a call, so each gets about as many as one signature covers."""
    subscribers: int = 8
    guarantee: Guarantee = Guarantee.AT_MOST_ONCE
    any_topic: bool = False
    """Filters name no topic, so that every event must be looked up among the wildcards too."""

    def __post_init__(self) -> None:
        BurstPlan.__post_init__(self)
        if not 1 <= self.subscribers <= SUBSCRIBERS_MAX:
            raise ConfigError("subscribers", f"use 1 to {SUBSCRIBERS_MAX}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedPlan(BenchPlan):
    """A ring of peers in which every event is promised, for so long."""

    duration_s: float = 60.0
    topics: int = 4
    wildcards: int = 0
    """Subscriptions that name no topic and want no event: every owner must ask their shards all the same."""
    publishers: int = 1
    """Peers that publish, each on topics of its own."""
    rate_per_s: float = 0.0
    """Events per second of all publishers, each in a call of its own; 0 is as fast as it goes."""
    at_once: int = 250
    """One signature covers a call. With many more a busy machine acknowledges them after they have been repeated."""
    before: Path | None = None
    """What an earlier run printed as JSON, to compare with."""

    def __post_init__(self) -> None:
        BenchPlan.__post_init__(self)
        if not 0 < self.duration_s < math.inf:
            raise ConfigError("seconds", "use more than 0")
        if not 0 <= self.rate_per_s < math.inf:
            raise ConfigError("rate", "use more than 0, or leave it out to publish as fast as it goes")
        if self.wildcards < 0:
            raise ConfigError("wildcards", "use 0 or more")
        if not 1 <= self.publishers <= RING_PEERS:
            raise ConfigError("publishers", f"use 1 to {RING_PEERS}: each is one of the peers")
        if self.topics < self.publishers:
            raise ConfigError("topics", "use as many as there are publishers, or more: each needs one of its own")

    @property
    def calls(self) -> int:
        """Calls that each publisher has under way."""
        return max(1, CALLS // self.publishers)

    @property
    def warm_up_s(self) -> float:
        """How long events are published before any is measured."""
        return min(WARM_UP_S_MAX, self.duration_s / 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class StalledPlan(BenchPlan):
    """A ring of peers in which one subscriber takes nothing for so long."""

    owed: int = 100_000
    """Events that wait for it, or a few more."""
    idle_s: float = 600.0
    """How long it takes nothing while nothing is published."""
    timed_s: float = 20.0
    """How long latency is measured, without it and with it."""
    rate_per_s: float = 200.0
    """Events per second meanwhile."""
    window: int = 1024
    """Events that the channel of a subscription takes, as by default."""
    at_once: int = 250

    def __post_init__(self) -> None:
        BenchPlan.__post_init__(self)
        self._check_counts("owed", "window")
        for name in ("idle_s", "timed_s", "rate_per_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(name.removesuffix("_s").removesuffix("_per"), "use more than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class EarningPlan(BenchPlan):
    """Clusters on slow lines, which are offered more than they carry, under one policy after the other."""

    link_bytes_per_s: float = 64_000.0
    """Of every line between two clusters, each way."""
    load: float = 2.0
    """Bytes that are offered, to what the publisher's lines carry together: multicasts enter by any of them."""
    subscriptions: int = 64
    """In all clusters but the publisher's."""
    policies: tuple[Discipline, ...] = ("fcfs", "fix", "lrt", "mtep")
    seeds: tuple[int, ...] = (0, 1, 2)
    """What is published and wanted, and when, is drawn by the seed alone."""
    duration_s: float = 25.0
    clusters: int = 3
    body_bytes: int = 1_200
    at_once: int = 1

    def __post_init__(self) -> None:
        BenchPlan.__post_init__(self)
        self._check_counts("subscriptions", "body_bytes")
        for name in ("link_bytes_per_s", "load", "duration_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError("seconds" if name == "duration_s" else name, "use more than 0")
        if self.clusters < CLUSTERS_MIN:
            raise ConfigError("clusters", f"use {CLUSTERS_MIN} or more: one publishes, and events must be passed on")

    @property
    def rate_per_s(self) -> float:
        """Events published a second."""
        carried = self.link_bytes_per_s * (self.clusters - 1)
        return round(self.load * carried / (self.body_bytes + BESIDE_BYTES), 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlan:
    """A store by itself, without a peer."""

    publishers: tuple[int, ...] = (1, 64, 1000)
    """That publish at a time: the events of each in one step are a pack."""
    events: int = 100_000
    """In a round."""
    rounds: int = 5
    at_once: int = 1024
    """Events that one step brings."""
    body_bytes: int = BODY_BYTES
    open_events: int = 1_000_000
    """In the store that is opened, read and erased."""
    events_per_pack: int = BATCH_MAX
    """There."""

    def __post_init__(self) -> None:
        for name in ("events", "rounds", "at_once", "open_events"):
            if getattr(self, name) < 1:
                raise ConfigError(name, "use 1 or more")
        if self.body_bytes < 0:
            raise ConfigError("body", "use 0 or more")
        if not self.publishers or min(self.publishers) < 1:
            raise ConfigError("publishers", "name one number or several, each 1 or more, such as 1,64,1000")
        if not 1 <= self.events_per_pack <= BATCH_MAX:
            raise ConfigError("pack", f"use 1 to {BATCH_MAX}: one signature covers no more")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlan:
    """The queue of one link, without a peer."""

    lengths: tuple[int, ...] = (10, 100, 1000, 10_000)
    subscriptions: tuple[int, ...] = (1, 20, 100)
    """That each message is for."""
    pops: int = 1000
    """Messages that leave, for each length and number of subscriptions."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("lengths", "subscriptions"):
            numbers = getattr(self, name)
            if not numbers or min(numbers) < 1:
                raise ConfigError(name, "name one number or several, each 1 or more, such as 1,20,100")
        if self.pops < 1:
            raise ConfigError("pops", "use 1 or more")
