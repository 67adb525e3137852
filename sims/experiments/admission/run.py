"""One run of RacsCBPS 5, event by event: brokers are servers with a rate and a queue, and so is each way of a link.

A broker has an event when a link has brought it, processes what it has in the order in which it came, and then puts it
into the queue of every link below which somebody wants it. To whom an event goes is settled when it is published. What
has been at one broker for five seconds, and is not processed or sent by then, is discarded there.

A server takes what comes first, so what an event waits for is known when it comes: one entry in the agenda for each
broker that it reaches is enough.
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from p2psub.model.instants import SECOND_US
from p2psub.model.rates import RATE_ONE
from sims.experiments.admission.brokers import BrokerNet, BrokerResource
from sims.experiments.admission.gate import AdmissionGate, advertisement_of, subscription_of
from sims.experiments.admission.workload import (
    EVENTS_PER_TURN,
    AdmissionWorkload,
    AdvertisementLife,
    QuotedEvent,
    Says,
    SubscriberWish,
    Turn,
)

PATIENCE_US: Final = 5 * SECOND_US
"""For so long an event may be at one broker (5.1)."""


class ClientAction(enum.IntEnum):
    """What a client does; in one instant the lower comes first."""

    UNSUBSCRIBE = 0
    ADVERTISE = 1
    SUBSCRIBE = 2
    PUBLISH = 3


@dataclass(slots=True)
class Server:
    """Takes one event at a time."""

    service_us: int
    free_us: int = 0
    busy_us: int = 0
    """Up to the end of the run."""


Tree = dict[int, tuple[tuple[int, Server], ...]]
"""By broker those that it feeds, and its links to them."""


@dataclass(slots=True)
class Source:
    """A publisher as it is now."""

    home: int
    event: QuotedEvent | None = None
    """What it publishes; nothing where its advertisement was refused."""
    advertised: int | None = None
    """The number of its advertisement that stands."""
    tree: Tree | None = None
    """Where its event goes; None if that has to be found out anew."""


@dataclass(slots=True)
class AdmissionTally:
    """What came of the events."""

    published: int = 0
    processed: int = 0
    discarded: int = 0
    busy_us: dict[BrokerResource, int] = field(default_factory=dict)


class AdmissionRun:
    """Brokers, links and those who ask, in virtual time."""

    def __init__(
        self,
        net: BrokerNet,
        workload: AdmissionWorkload,
        gate: AdmissionGate,
        seconds: float,
        says: Says,
        advertisements: AdvertisementLife,
    ) -> None:
        self._net = net
        self._workload = workload
        self._gate = gate
        self._end_us = int(seconds * SECOND_US)
        self._says = says
        self._advertisements = advertisements
        self._servers = {
            resource: Server(SECOND_US * RATE_ONE // capacity) for resource, capacity in net.capacities.items()
        }
        self._work = [self._servers[BrokerResource(broker, broker)] for broker in range(len(net.feeders))]
        self._sources = [Source(home) for home in workload.publishers]
        self._standing: dict[int, SubscriberWish] = {}
        self._agenda: list[tuple[int, int, int, Tree]] = []
        """Instant, order of entry, and the broker that has an event then, with where that goes."""
        self._entries = 0
        self._tally = AdmissionTally()

    def run(self) -> AdmissionTally:
        """Let everything happen up to the end; call it once."""
        for at_us, action, number in sorted(self._actions()):
            self._pass_until(at_us)
            match action:
                case ClientAction.UNSUBSCRIBE:
                    self._unsubscribe(number)
                case ClientAction.ADVERTISE:
                    self._begin(number, self._workload.turns[number])
                case ClientAction.SUBSCRIBE:
                    self._subscribe(number, self._workload.wishes[number])
                case ClientAction.PUBLISH:
                    self._publish(self._sources[number], at_us)
        self._pass_until(self._end_us)
        self._tally.busy_us = {resource: server.busy_us for resource, server in self._servers.items()}
        return self._tally

    def _actions(self) -> Iterator[tuple[int, ClientAction, int]]:
        """What clients do, when, and the number of the wish, turn or publisher."""
        for number, wish in enumerate(self._workload.wishes):
            yield wish.begin_us, ClientAction.SUBSCRIBE, number
            if wish.end_us < self._end_us:
                yield wish.end_us, ClientAction.UNSUBSCRIBE, number
        for number, turn in enumerate(self._workload.turns):
            yield turn.begin_us, ClientAction.ADVERTISE, number
            for n in range(EVENTS_PER_TURN):
                at_us = turn.begin_us + n * turn.interval_us
                if at_us < self._end_us:
                    yield at_us, ClientAction.PUBLISH, turn.publisher

    def _subscribe(self, number: int, wish: SubscriberWish) -> None:
        if self._gate.subscribe(subscription_of(wish.subscriber, number), wish.wanted):
            self._standing[number] = wish
            self._forget_trees(wish)

    def _unsubscribe(self, number: int) -> None:
        wish = self._standing.pop(number, None)
        if wish is not None:
            self._gate.unsubscribe(subscription_of(wish.subscriber, number))
            self._forget_trees(wish)

    def _forget_trees(self, wish: SubscriberWish) -> None:
        for source in self._sources:
            if source.event is not None and wish.takes(source.event):
                source.tree = None

    def _begin(self, number: int, turn: Turn) -> None:
        """A publisher begins its next turn, if its advertisement is admitted; one that stands may go on standing."""
        source = self._sources[turn.publisher]
        if source.advertised is not None and self._advertisements is AdvertisementLife.CHANGING:
            self._gate.withdraw(advertisement_of(turn.publisher, source.advertised))
            source.advertised = None
        if source.advertised is None:
            rate = self._workload.rates[turn.publisher]
            is_admitted = self._gate.advertise(
                advertisement_of(turn.publisher, number), turn.event.offered(self._says), rate
            )
            source.advertised = number if is_admitted else None
        source.event = None if source.advertised is None else turn.event
        source.tree = None

    def _publish(self, source: Source, at_us: int) -> None:
        if source.event is None:
            return
        if source.tree is None:
            source.tree = self._tree_of(source, source.event)
        self._tally.published += 1
        self._entries += 1
        heapq.heappush(self._agenda, (at_us, self._entries, source.home, source.tree))

    def _tree_of(self, source: Source, event: QuotedEvent) -> Tree:
        """From its publisher's broker to those of all who want an event, each once."""
        feeders = self._net.feeders[source.home]
        fed: dict[int, dict[int, Server]] = {}
        for wish in self._standing.values():
            at = self._workload.subscribers[wish.subscriber]
            if wish.takes(event):
                while at != source.home and at not in fed.get(feeders[at], {}):
                    fed.setdefault(feeders[at], {})[at] = self._servers[BrokerResource(feeders[at], at)]
                    at = feeders[at]
        return {broker: tuple(links.items()) for broker, links in fed.items()}

    def _pass_until(self, until_us: int) -> None:
        """Let events on their way reach brokers."""
        agenda, work, tally, end_us = self._agenda, self._work, self._tally, self._end_us
        while agenda and agenda[0][0] < until_us:
            at_us, _, broker, tree = heapq.heappop(agenda)
            done_us = self._served(work[broker], at_us, at_us)
            if done_us is None:
                continue
            tally.processed += done_us <= end_us
            for fed, link in tree.get(broker, ()):
                there_us = self._served(link, done_us, at_us)
                if there_us is not None:
                    self._entries += 1
                    heapq.heappush(agenda, (there_us, self._entries, fed, tree))

    def _served(self, server: Server, asked_us: int, came_us: int) -> int | None:
        """When a server is done with an event that came to its broker before; None if it does not wait so long."""
        begin_us = max(asked_us, server.free_us)
        if begin_us - came_us > PATIENCE_US:
            self._tally.discarded += came_us + PATIENCE_US <= self._end_us
            return None
        done_us = server.free_us = begin_us + server.service_us
        if done_us <= self._end_us:
            server.busy_us += server.service_us
        elif begin_us < self._end_us:
            server.busy_us += self._end_us - begin_us
        return done_us
