"""What is published and wanted in RacsCBPS 5.1, all of it drawn before any criterion sees it.

Events have a name, one of ten, and a price. A fixed set of them is drawn; publishers take from it. In a turn a
publisher advertises, publishes one event a hundred times, and withdraws. A subscriber subscribes to a name and an
interval of prices, unsubscribes after a while, and begins again with other ones; so it does, too, if it was refused.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from numpy.random import Generator

from p2psub.model.content import TOPIC, Filter, Operator, Predicate
from p2psub.model.instants import SECOND_US
from sims.experiments.chance import rng_of

PUBLISHERS: Final = 20
PUBLISHED_PER_S: Final = (20, 30)
EVENTS_PER_TURN: Final = 100
EVENTS: Final = 1_000
"""In the fixed set. A guess."""
NAMES: Final = 10
"""A guess; so a subscription cannot take more than a tenth of all events."""
STANDS_S: Final = (5.0, 15.0)
"""For how long a subscription is meant to stand. A guess: some turns of every publisher."""


class Says(enum.StrEnum):
    """What an advertisement says of the event that comes: its name; or all its values."""

    NAME = "name"
    EVENT = "event"


class AdvertisementLife(enum.StrEnum):
    """Whether each turn has one of its own, or the first one stands and later turns keep to it."""

    CHANGING = "changing"
    FIXED = "fixed"


class QuotedEvent(NamedTuple):
    """An event of the fixed set."""

    name: str
    price: float

    def offered(self, says: Says) -> Filter:
        """The filter of its advertisement."""
        of_name = Predicate(TOPIC, Operator.EQUAL, self.name)
        if says is Says.NAME:
            return Filter(((of_name,),))
        return Filter(((of_name, Predicate("price", Operator.EQUAL, self.price)),))


@dataclass(frozen=True, slots=True)
class Turn:
    """A hundred times the same event."""

    begin_us: int
    publisher: int
    interval_us: int
    event: QuotedEvent

    @property
    def end_us(self) -> int:
        return self.begin_us + EVENTS_PER_TURN * self.interval_us


@dataclass(frozen=True, slots=True)
class SubscriberWish:
    """A subscription that is asked for, and given up at its end."""

    begin_us: int
    end_us: int
    subscriber: int
    name: str
    least: float
    below: float

    def takes(self, event: QuotedEvent) -> bool:
        return self.name == event.name and self.least <= event.price < self.below

    @property
    def wanted(self) -> Filter:
        """Its filter."""
        least = Predicate("price", Operator.GREATER_EQUAL, self.least)
        below = Predicate("price", Operator.LESS, self.below)
        return Filter(((Predicate(TOPIC, Operator.EQUAL, self.name), least, below),))


@dataclass(frozen=True, slots=True)
class AdmissionWorkload:
    """Who is where, and who does what when."""

    publishers: tuple[int, ...]
    """Their brokers."""
    subscribers: tuple[int, ...]
    rates: tuple[float, ...]
    """Of the publishers, in events per second."""
    turns: tuple[Turn, ...]
    wishes: tuple[SubscriberWish, ...]


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """How to draw one."""

    subscribers: int
    seconds: float
    selectivity: float
    """The share of all events that a subscription takes."""
    says: Says
    advertisements: AdvertisementLife


def drawn_workload(seed: int, brokers: int, plan: WorkloadPlan) -> AdmissionWorkload:
    """A workload of a seed: the first subscribers do the same however many there are."""
    rng = rng_of(seed, "publishers")
    homes = tuple(int(home) for home in rng.integers(brokers, size=PUBLISHERS))
    rates = tuple(float(rate) for rate in rng.uniform(*PUBLISHED_PER_S, PUBLISHERS))
    events = drawn_events(rng_of(seed, "events"))
    turns = [turn for number, rate in enumerate(rates) for turn in _turns(seed, number, rate, events, plan)]
    chances = [rng_of(seed, f"subscriber {number}") for number in range(plan.subscribers)]
    subscribers = tuple(int(chance.integers(brokers)) for chance in chances)
    wishes = [wish for number, chance in enumerate(chances) for wish in _wishes(number, chance, plan)]
    return AdmissionWorkload(homes, subscribers, rates, tuple(turns), tuple(wishes))


def drawn_events(rng: Generator) -> tuple[QuotedEvent, ...]:
    """The fixed set."""
    names, prices = rng.integers(NAMES, size=EVENTS), rng.uniform(0.0, 1.0, EVENTS)
    return tuple(QuotedEvent(f"name{name}", float(price)) for name, price in zip(names, prices, strict=True))


def _turns(
    seed: int, publisher: int, rate: float, events: tuple[QuotedEvent, ...], plan: WorkloadPlan
) -> Iterator[Turn]:
    """Those of one publisher: evenly, and never faster than it advertises."""
    rng = rng_of(seed, f"publisher {publisher}")
    interval_us = int(SECOND_US / rate) + 1
    begin_us = int(rng.integers(interval_us))
    chosen = events
    while begin_us < plan.seconds * SECOND_US:
        turn = Turn(begin_us, publisher, interval_us, chosen[int(rng.integers(len(chosen)))])
        yield turn
        if plan.advertisements is AdvertisementLife.FIXED and chosen is events:
            chosen = _within(turn.event, events, plan.says)
        begin_us = turn.end_us


def _within(first: QuotedEvent, events: tuple[QuotedEvent, ...], says: Says) -> tuple[QuotedEvent, ...]:
    """The events that the advertisement of the first allows."""
    return tuple(event for event in events if event.name == first.name and (says is Says.NAME or event == first))


def _wishes(subscriber: int, rng: Generator, plan: WorkloadPlan) -> Iterator[SubscriberWish]:
    """Those of one subscriber, one after the other; all subscribers begin within the time of the shortest."""
    width = plan.selectivity * NAMES
    begin_us = int(rng.uniform(0.0, STANDS_S[0]) * SECOND_US)
    while begin_us < plan.seconds * SECOND_US:
        end_us = begin_us + int(rng.uniform(*STANDS_S) * SECOND_US)
        least = float(rng.uniform(0.0, 1.0 - width))
        yield SubscriberWish(begin_us, end_us, subscriber, f"name{int(rng.integers(NAMES))}", least, least + width)
        begin_us = end_us
