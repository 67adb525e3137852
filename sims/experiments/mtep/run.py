"""One run of the mesh: events come down their ways, and the queue of every link decides what leaves next.

A broker has an event `PROCESS_US` after the link brought it, and puts it into the queue of every link by which some of
its subscriptions are reached: once, however many they are. A link takes one event at a time, for as long as it takes.
The run goes on after the last event is published, until nothing waits any more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from p2psub.model.instants import Micros
from p2psub.model.stakes import BYTES_PER_KB, Stake, Waiting
from p2psub.queueing.link_queue import LinkQueue
from sims.experiments.mtep.mesh import Mesh, MeshLink
from sims.experiments.mtep.outlook import Outlook
from sims.experiments.mtep.paths import Way, Ways
from sims.experiments.mtep.workload import EVENT_KB, MeshDemand, MeshEvent, MeshSubscription, MeshTraffic

PROCESS_US: Final = 2_000
"""A broker's time for an event (PD)."""
CLIENT_US: Final = 20_000
"""From a publisher to its broker, and from a broker to its subscriber (SBD)."""
UNIT_DELAY_US_MIN: Final = 1_000
"""A normal distribution goes below zero; a transmission does not."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The pairs of one event with subscriptions that share broker and bid: they share every fate."""

    edge: int
    due_us: Micros
    price: int
    """Of all together, as is the penalty."""
    penalty: int
    pairs: int


@dataclass(frozen=True, slots=True)
class Passing:
    """An event at some broker, with the bundles that are reached from there."""

    event: int
    depth: int
    """How many links it has come down."""
    bundles: tuple[Bundle, ...]


@dataclass(slots=True)
class Tally:
    """How the pairs of event and subscription ended."""

    on_time: int = 0
    late: int = 0
    dropped: int = 0
    earning: int = 0
    """Prices less penalties, in millionths (1)."""
    transmissions: int = 0
    copies_max: int = 0
    """How often one broker had one event, at most."""


@dataclass(slots=True)
class Sender:
    """Takes one event at a time: a link; or, as another reading, a broker whose links take turns."""

    links: list[int]
    """By whose turn is next."""
    is_busy: bool = False


class MeshRun:
    """Brokers, queues and links in virtual time."""

    def __init__(
        self,
        mesh: Mesh,
        demand: MeshDemand,
        traffic: MeshTraffic,
        ways: Ways,
        queue_of: Callable[[MeshLink], LinkQueue[Passing]],
        *,
        is_waiting_told: bool = False,
        is_one_link_at_a_time: bool = False,
    ) -> None:
        self._mesh = mesh
        self._subscriptions = demand.subscriptions
        self._events = traffic.events
        self._luck = traffic.luck
        self._ways = ways
        self._outlook = Outlook(mesh, PROCESS_US, CLIENT_US, is_waiting_told=is_waiting_told)
        self._queues = [queue_of(link) for link in mesh.links]
        self._sender_of = senders_of(mesh, is_one_link_at_a_time)
        self._tally = Tally()
        self._copies: dict[tuple[int, int], int] = {}
        self._agenda: list[tuple[int, int, int | None, Passing]] = []
        """Instant, order of entry, the link that ends a transmission then (or none), and what is passing."""
        self._entries = 0

    def run(self) -> Tally:
        """Let everything happen; call it once."""
        for number, event in enumerate(self._events):
            if event.matched:
                passing = Passing(number, 0, bundles_of(event, self._subscriptions))
                self._enter(event.published_us + CLIENT_US + PROCESS_US, None, passing)
        while self._agenda:
            now_us, _, link, passing = heapq.heappop(self._agenda)
            now = Micros(now_us)
            if link is None:
                self._forward(passing, now)
            else:
                self._enter(now + PROCESS_US, None, passing)
                self._send(self._sender_of[link], now)
        return self._tally

    def _enter(self, at_us: int, link: int | None, passing: Passing) -> None:
        self._entries += 1
        heapq.heappush(self._agenda, (at_us, self._entries, link, passing))

    def _forward(self, passing: Passing, now: Micros) -> None:
        """A broker has processed an event: it goes to its subscribers, or into the queues of the links to them."""
        if passing.depth == len(self._mesh.layers) - 1:
            self._hand_over(passing, now)
            return
        event = self._events[passing.event]
        ways = self._ways[event.publisher]
        per_link: dict[int, list[Bundle]] = {}
        for bundle in passing.bundles:
            per_link.setdefault(ways[bundle.edge][passing.depth], []).append(bundle)
        for link, bundles in per_link.items():
            below = Passing(passing.event, passing.depth + 1, tuple(bundles))
            stakes = tuple(self._stake(bundle, ways[bundle.edge][below.depth :]) for bundle in bundles)
            waiting = Waiting(below, EVENT_KB * BYTES_PER_KB, now, stakes=stakes, rank=event.rank)
            self._queues[link].push(waiting, now)
            if not self._sender_of[link].is_busy:
                self._send(self._sender_of[link], now)

    def _stake(self, bundle: Bundle, way: Way) -> Stake:
        beyond = self._outlook.beyond(way)
        return Stake(
            bundle.due_us,
            bundle.price,
            bundle.penalty,
            beyond.mean_us_per_kb,
            beyond.variance,
            beyond.fixed_us,
            bundle.pairs,
        )

    def _send(self, sender: Sender, now: Micros) -> None:
        """The sender is free: drop what is not worth sending, and begin with the next."""
        for link in sender.links:
            self._drop(link, now)
        ready = next((link for link in sender.links if len(self._queues[link])), None)
        sender.is_busy = ready is not None
        if ready is not None:
            sender.links.remove(ready)
            sender.links.append(ready)
            self._transmit(ready, now)

    def _drop(self, link: int, now: Micros) -> None:
        for unsent in self._queues[link].expire(now):
            for bundle in unsent.waiting.item.bundles:
                self._tally.dropped += bundle.pairs
                self._tally.earning -= bundle.penalty

    def _transmit(self, link: int, now: Micros) -> None:
        waiting = self._queues[link].pop(now)
        passing = waiting.item
        self._outlook.note_waited(link, now - waiting.since_us, now)
        self._tally.transmissions += 1
        at = (passing.event, self._mesh.links[link].lower)
        self._copies[at] = self._copies.get(at, 0) + 1
        self._tally.copies_max = max(self._tally.copies_max, self._copies[at])
        self._enter(now + self._transmission_us(passing.event, link), link, passing)

    def _transmission_us(self, event: int, number: int) -> int:
        link = self._mesh.links[number]
        unit_us = link.mean_us_per_kb + link.deviation_us_per_kb * float(self._luck[event, number])
        return int(EVENT_KB * max(unit_us, UNIT_DELAY_US_MIN))

    def _hand_over(self, passing: Passing, now: Micros) -> None:
        tally = self._tally
        for bundle in passing.bundles:
            if now + CLIENT_US <= bundle.due_us:
                tally.on_time += bundle.pairs
                tally.earning += bundle.price
            else:
                tally.late += bundle.pairs
                tally.earning -= bundle.penalty


def bundles_of(event: MeshEvent, subscriptions: tuple[MeshSubscription, ...]) -> tuple[Bundle, ...]:
    """The pairs of an event."""
    alike: dict[MeshSubscription, int] = {}
    for number in event.matched:
        subscription = subscriptions[number]
        alike[subscription] = alike.get(subscription, 0) + 1
    return tuple(
        Bundle(
            one.edge,
            Micros(event.published_us + one.bid.deadline_us),
            pairs * one.bid.price,
            pairs * one.bid.penalty,
            pairs,
        )
        for one, pairs in alike.items()
    )


def senders_of(mesh: Mesh, is_one_link_at_a_time: bool) -> list[Sender]:
    """For every link what sends on it: the link itself, or its upper broker."""
    if not is_one_link_at_a_time:
        return [Sender([link.number]) for link in mesh.links]
    brokers = [Sender([]) for _ in range(mesh.brokers)]
    for link in mesh.links:
        brokers[link.upper].links.append(link.number)
    return [brokers[link.upper] for link in mesh.links]
