"""What a benchmark is to measure: every number that a person may choose."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from p2psub.bench.content import BODY_BYTES
from p2psub.errors import ConfigError
from p2psub.model.content import PINNED_TOPICS_MAX, Guarantee

SUBSCRIBERS_MAX: Final = 50
"""Each wants 1 % of the events, no two the same; and each is a process."""

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


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What both benchmarks have in common."""

    events: int
    """Published in a round."""
    rounds: int = 5
    """Figures are medians of so many."""
    body_bytes: int = BODY_BYTES
    at_once: int = 1000
    """Events in one call of `publish_many`."""
    owner: Ownership = Ownership.EACH
    traces: bool = True
    profile: Path | None = None
    """Where to say which functions take the time; it makes everything slower."""
    patience_s: float = 60.0
    """How long the ring may take to form."""
    silence_s: float = 15.0
    """What has not come when nothing has come for so long is lost; a promised event is tried again sooner."""

    def __post_init__(self) -> None:
        for name in ("events", "rounds", "at_once"):
            if getattr(self, name) < 1:
                raise ConfigError(name, "use 1 or more")
        for name in ("patience_s", "silence_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(name, "use more than 0")
        if self.body_bytes < 0:
            raise ConfigError("body", "use 0 or more")


@dataclass(frozen=True, slots=True)
class LinkPlan(BenchPlan):
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
        BenchPlan.__post_init__(self)
        for name in ("bare_times", "effectively_once_events"):
            if getattr(self, name) < 1:
                raise ConfigError(name, "use 1 or more")
        if self.timed_events < 1:
            raise ConfigError("seconds", f"use {1 / self.rate_per_s} or more: at least one event must be timed")

    @property
    def timed_events(self) -> int:
        """Events whose latency is measured in a round."""
        return int(self.seconds * self.rate_per_s)


@dataclass(frozen=True, slots=True)
class FilteredPlan(BenchPlan):
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
        BenchPlan.__post_init__(self)
        if not 1 <= self.subscribers <= SUBSCRIBERS_MAX:
            raise ConfigError("subscribers", f"use 1 to {SUBSCRIBERS_MAX}")
