"""What is published and wanted in MTEP 3.2, all of it drawn before any policy sees it.

An event has four attributes, a subscription one `<` on each of them, and all values are uniform from 0 to 10: half of
the values satisfy a predicate, hence a sixteenth of the subscriptions an event. How much slower or faster than the mean
an event is on a link is drawn for every event and link, too, so that all policies meet the same network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from p2psub.model.bids import PRICE_ONE, Bid
from p2psub.model.instants import SECOND_US, Micros
from p2psub.queueing.fix import RANKS

SUBSCRIBERS_PER_BROKER: Final = 10
ATTRIBUTES: Final = 4
VALUE_MAX: Final = 10.0
EVENT_KB: Final = 50
BIDS: Final = tuple(
    Bid(seconds * SECOND_US, price * PRICE_ONE // 10, price * PRICE_ONE // 100)
    for seconds, price in ((20, 30), (24, 25), (30, 20), (40, 15), (60, 10))
)
"""What a subscription draws: 3 for 20 s to 1 for 60 s, and a tenth of it as penalty."""


@dataclass(frozen=True, slots=True)
class MeshSubscription:
    """A subscription, and its broker's number among the edge brokers."""

    edge: int
    bid: Bid


@dataclass(frozen=True, slots=True)
class MeshDemand:
    """All subscriptions, and what each attribute must be less than: a row for each of them."""

    subscriptions: tuple[MeshSubscription, ...]
    bounds: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeshEvent:
    """An event and the subscriptions that it satisfies."""

    publisher: int
    published_us: Micros
    rank: int
    matched: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MeshTraffic:
    """All events in the order in which they are published, and their luck: a row for each, a column for each link."""

    events: tuple[MeshEvent, ...]
    luck: NDArray[np.float32]
    """By how many deviations it takes longer than the mean."""

    @property
    def matched(self) -> int:
        """Pairs of event and subscription."""
        return sum(len(event.matched) for event in self.events)


def drawn_demand(rng: Generator, edges: int) -> MeshDemand:
    """Ten subscriptions at each edge broker."""
    count = edges * SUBSCRIBERS_PER_BROKER
    bids = [BIDS[int(number)] for number in rng.integers(len(BIDS), size=count)]
    subscriptions = tuple(MeshSubscription(n // SUBSCRIBERS_PER_BROKER, bid) for n, bid in enumerate(bids))
    return MeshDemand(subscriptions, drawn_values(rng, count))


def drawn_traffic(instants: list[tuple[Micros, int]], demand: MeshDemand, links: int, rng: Generator) -> MeshTraffic:
    """The events of publishers at instants; what they say, whom they satisfy, how they fare."""
    count = len(instants)
    ranks = rng.integers(1, RANKS, count, endpoint=True)
    satisfied = satisfied_by(drawn_values(rng, count), demand.bounds)
    events = tuple(
        MeshEvent(publisher, published_us, int(rank), tuple(map(int, np.flatnonzero(row))))
        for (published_us, publisher), rank, row in zip(instants, ranks, satisfied, strict=True)
    )
    return MeshTraffic(events, rng.standard_normal((count, links), dtype=np.float32))


def drawn_values(rng: Generator, count: int) -> NDArray[np.float64]:
    """Attributes of so many events, or the constants of so many subscriptions."""
    return rng.uniform(0.0, VALUE_MAX, (count, ATTRIBUTES))


def satisfied_by(values: NDArray[np.float64], bounds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which subscriptions (columns) which events (rows) satisfy."""
    satisfied = np.ones((len(values), len(bounds)), bool)
    for attribute in range(values.shape[1]):
        satisfied &= values[:, attribute, None] < bounds[None, :, attribute]
    return satisfied


def random_instants(rng: Generator, publishers: int, per_minute: float, minutes: float) -> list[tuple[Micros, int]]:
    """When who publishes: at random instants, so many a minute on average."""
    drawn: list[tuple[Micros, int]] = []
    for publisher in range(publishers):
        count = int(rng.poisson(per_minute * minutes))
        instants = rng.uniform(0.0, minutes * 60 * SECOND_US, count)
        drawn += [(Micros(int(instant)), publisher) for instant in instants]
    return sorted(drawn)


def even_instants(rng: Generator, publishers: int, per_minute: float, minutes: float) -> list[tuple[Micros, int]]:
    """When who publishes: evenly, each from a random instant on."""
    interval_us = 60 * SECOND_US / per_minute
    drawn: list[tuple[Micros, int]] = []
    for publisher in range(publishers):
        first_us = rng.uniform(0.0, interval_us)
        drawn += [(Micros(int(first_us + n * interval_us)), publisher) for n in range(round(per_minute * minutes))]
    return sorted(drawn)
