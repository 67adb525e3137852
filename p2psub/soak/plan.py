"""What a soak does: every number that a person may choose, who takes part, and who wants what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from p2psub.demo.fleet import Seat
from p2psub.errors import ConfigError

RING: Final = "ring"
SECOND: Final = "second"
MEMBERS: Final = {RING: 6, SECOND: 4}
"""Peers of each cluster. Six may lose two at a time and four may lose one (docs/promises.md)."""

PUBLISHERS: Final = (f"{RING}-0", f"{SECOND}-0")
SUBSCRIBERS: Final = (f"{RING}-1", f"{SECOND}-0")
SPARED: Final = tuple(dict.fromkeys((*PUBLISHERS, *SUBSCRIBERS)))
"""Never killed, as a subscription and an outbox end with their process. They may not lead: super-nodes are killed."""

_TOPICS_EACH: Final = 4
HERE, THERE, BOTH = (tuple(f"soak/{kind}{number}" for number in range(_TOPICS_EACH)) for kind in "abc")
TOPICS: Final = (*HERE, *THERE, *BOTH)
"""Wanted in the ring, in the second cluster, in both."""

SECONDS_MIN: Final = 5.0
SECONDS_MAX: Final = 15.0


class SoakWish(NamedTuple):
    """A subscription: its filter, and the topics that the filter takes."""

    subscriber: str
    filter: str
    topics: tuple[str, ...]


def _pinned(subscriber: str, topics: tuple[str, ...]) -> SoakWish:
    names = ", ".join(f"'{topic}'" for topic in topics)
    return SoakWish(subscriber, f"topic IN ({names})", topics)


WISHES: Final = (
    _pinned(SUBSCRIBERS[0], HERE),
    _pinned(SUBSCRIBERS[0], BOTH),
    # No topic is pinned here, so that the owners of wildcard shards are asked for every event.
    SoakWish(SUBSCRIBERS[1], "topic LIKE 'soak/b%'", THERE),
    _pinned(SUBSCRIBERS[1], BOTH),
)


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """One run. The seed draws who is killed and for how long it stays away; ids are drawn anew by every overlay."""

    rounds: int = 200
    rate_per_s: float = 1000.0
    """Events published per second, by all publishers together, whatever becomes of them."""
    seconds_per_round: float = SECONDS_MAX
    seed: int = 1
    patience_s: float = 180.0
    """How long the overlay may take to form, a killed peer to come back, the last event to arrive."""

    @property
    def seats(self) -> list[Seat]:
        """All peers."""
        names = [(f"{cluster}-{number}", cluster) for cluster, count in MEMBERS.items() for number in range(count)]
        return [Seat(name, cluster, may_lead=name not in SPARED) for name, cluster in names]

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ConfigError("rounds", "use 1 or more")
        for name in ("rate_per_s", "patience_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(name, "use more than 0")
        if not SECONDS_MIN <= self.seconds_per_round <= SECONDS_MAX:
            raise ConfigError("seconds_per_round", f"use {SECONDS_MIN:g} to {SECONDS_MAX:g}")
