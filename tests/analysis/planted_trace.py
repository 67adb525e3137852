"""Planted traces: records with few words, as segments on the disk or as tables.

    trace = PlantedTrace()
    alice, owner = trace.process("alice"), trace.process("owner")
    bread = alice.publish("bread", at_ms=5)
    owner.store(bread, owed=1, at_ms=7)
    alice.close()
    trace.write(directory)      # real segments, as a peer writes them
    trace.tables(spark)         # the same, compacted, without files

A process that is never closed is cut. Every record is numbered and stamped as a node does it; without `at_ms` it is
made 1 ms after the last one anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from p2psub.analysis.tables import Tables
from p2psub.model.bids import NO_BID, Bid
from p2psub.model.books import BookSums
from p2psub.model.changes import ChangeNumber, LogId, Vector
from p2psub.model.clock import HybridClock
from p2psub.model.content import (
    TOPIC,
    DeclarationState,
    Event,
    Filter,
    Guarantee,
    Operator,
    Predicate,
    Subscription,
    Value,
)
from p2psub.model.digests import content_hash
from p2psub.model.ids import CastId, ClusterId, Epoch, EventId, NodeId, SubscriptionId, digest_of
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.places import Standing
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.traces.shelf import Shelf
from tests.analysis.rows import tables_of

BEGIN_US = 1_700_000_000_000_000
"""What `at_ms=0` is on the wall."""
CLUSTER = ClusterId("c0")


class Process:
    """One start of a peer that writes a trace. `record` makes any record; the others are short for the usual ones."""

    def __init__(self, trace: PlantedTrace, node: NodeId, incarnation: int, cluster: ClusterId) -> None:
        self.node = node
        self.incarnation = incarnation
        self.cluster = cluster
        self.records: list[Record] = []
        self._trace = trace
        self._clock = HybridClock()
        self._sequence = 0
        self._given = {EventId: 0, SubscriptionId: 0, CastId: 0}

    def record(self, kind: Kind, *, at_ms: float | None = None, **fields: Any) -> Record:
        """One record of any kind."""
        self._sequence += 1
        stamp = self._clock.tick(self._trace.instant_us(at_ms))
        made = Record(kind, self.node, self.incarnation, self._sequence, stamp, **fields)
        self.records.append(made)
        return made

    def lose(self, count: int = 1) -> None:
        """Records that were made and are not there."""
        self._sequence += count

    @property
    def epoch(self) -> Epoch:
        """Its first term's."""
        return Epoch(1, self.node, self.incarnation)

    def start(self, **when: Any) -> Record:
        return self.record(Kind.START, **when)

    def close(self, **when: Any) -> Record:
        return self.record(Kind.CLOSE, **when)

    # Events

    def publish(
        self,
        topic: str = "t",
        attributes: dict[str, Value] | None = None,
        *,
        body: bytes = b"",
        retain_us: int = 0,
        guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE,
        timeout_us: int = 0,
        at_ms: float | None = None,
    ) -> EventId:
        """A new event."""
        id_ = EventId(*self._next(EventId))
        event = Event(id_, topic, attributes or {}, body, retain_us, guarantee, timeout_us)
        self._trace.events[id_] = event
        self.record(Kind.PUBLISH, event=id_, digest=content_hash(event), published=event, at_ms=at_ms)
        return id_

    def match(self, event: EventId, count: int, **when: Any) -> Record:
        guarantee = self._trace.events[event].guarantee
        return self.record(Kind.MATCH, event=event, matched=count, guarantee=guarantee, **when)

    def store(self, event: EventId, *, owed: int, vector: Vector = (), **when: Any) -> Record:
        fields: dict[str, Any] = {"cluster": self.cluster, "vector": vector, "matched": owed}
        return self.record(Kind.STORE, event=event, **fields, **when)

    def keep(self, event: EventId, **when: Any) -> Record:
        return self.record(Kind.COPY, event=event, **when)

    def acknowledge(self, event: EventId, *, count: int, copies: int = 1, **fields: Any) -> Record:
        return self.record(Kind.ACKNOWLEDGE, event=event, copies=copies, matched=count, **fields)

    def deliver(self, event: EventId, subscription: SubscriptionId, **fields: Any) -> Record:
        """Hand over; `digest` is the event's, or of all events of the `run`, unless told otherwise."""
        row = [event._replace(sequence=event.sequence + place) for place in range(fields.get("run") or 1)]
        known = all(one in self._trace.events for one in row)
        hashes = b"".join(content_hash(self._trace.events[one]) for one in row) if known else None
        fields.setdefault("digest", hashes)
        return self.record(Kind.DELIVER, event=event, subscription=subscription, **fields)

    def outcome(self, event: EventId, subscription: SubscriptionId, outcome: str = "delivered", **said: Any) -> Record:
        return self.record(Kind.OUTCOME, event=event, subscription=subscription, outcome=Outcome(outcome), **said)

    def book(self, on_time: int = 0, earned: int = 0, penalties: int = 0, expired: int = 0) -> Record:
        """What the process has booked so far of what it promised."""
        why = {Reason.DEADLINE: expired} if expired else {}
        books = BookSums(on_time, earned, penalties, why)
        return self.record(Kind.BOOKS, guarantee=Guarantee.EFFECTIVELY_ONCE, books=books)

    def discharge(self, event: EventId, *, count: int = 1, **when: Any) -> Record:
        return self.record(Kind.DISCHARGE, event=event, matched=count, **when)

    def untraced(self, kind: Kind, count: int, **when: Any) -> Record:
        return self.record(kind, reason=Reason.UNTRACED, count=count, **when)

    def duplicate(self, reason: str, **fields: Any) -> Record:
        return self.record(Kind.DUPLICATE, reason=Reason(reason), **fields)

    def drop(self, reason: str | None, **fields: Any) -> Record:
        return self.record(Kind.DROP, reason=Reason(reason) if reason else None, **fields)

    # Subscriptions

    def subscribe(
        self,
        topic: str | None = "t",
        *,
        wanted: Filter | None = None,
        bid: Bid = NO_BID,
        replay: bool = False,
        **when: Any,
    ) -> SubscriptionId:
        """A new subscription: to a topic, to everything (None), or by any filter."""
        id_ = SubscriptionId(*self._next(SubscriptionId))
        topical = Filter() if topic is None else Filter(((Predicate(TOPIC, Operator.EQUAL, topic),),))
        state = DeclarationState.ACTIVE
        subscription = Subscription(id_, 1, state, self.cluster, wanted or topical, replay, bid=bid)
        self._trace.subscriptions[id_] = subscription
        self.record(Kind.SUBSCRIBE, subscription=id_, subscribed=subscription, **when)
        return id_

    def verdict(self, subscription: SubscriptionId, status: str = "stable", **fields: Any) -> Record:
        """Of an active subscription that is stored everywhere, unless told otherwise."""
        fields = {"state": DeclarationState.ACTIVE, "unreached": 0, **fields}
        return self.record(Kind.VERDICT, subscription=subscription, status=VerdictStatus(status), **fields)

    def unsubscribe(self, subscription: SubscriptionId, **when: Any) -> Record:
        return self.record(Kind.UNSUBSCRIBE, subscription=subscription, **when)

    def number(self, subscription: SubscriptionId, n: int, **when: Any) -> ChangeNumber:
        """Number a subscription's change in the stream of the own term; `vector_to` speaks of it."""
        number = ChangeNumber(LogId(self.cluster, self.epoch), n)
        subscribed = self._trace.subscriptions[subscription]
        self.record(Kind.NUMBER, number=number, subscription=subscription, subscribed=subscribed, **when)
        return number

    def vector_to(self, n: int) -> Vector:
        """The vector of whoever holds the first `n` changes of this super-node's term."""
        return ((LogId(self.cluster, self.epoch), n),)

    # Casts and terms

    def cast(self, payload: str = "ChangePayload", **when: Any) -> CastId:
        """A new cast that starts here."""
        id_ = CastId(*self._next(CastId))
        self.record(Kind.CAST, cast=id_, payload=payload, **when)
        return id_

    def forward(self, cast: CastId, to: Process, prefix: str = "1", *, tries: int = 1, **when: Any) -> Record:
        return self.record(Kind.FORWARD, cast=cast, peer=to.node, prefix=prefix, tries=tries, **when)

    def receive(self, cast: CastId, came_from: Process, prefix: str = "1", *, hops: int = 1, **when: Any) -> Record:
        return self.record(Kind.RECEIVE, cast=cast, peer=came_from.node, prefix=prefix, hops=hops, **when)

    def role(self, reason: str = "super_node", **fields: Any) -> Record:
        """A term begins or ends here."""
        return self.record(Kind.ROLE, cluster=self.cluster, reason=Reason(reason), **{"epoch": self.epoch, **fields})

    def directory(self, other: Process, prefix: str, **fields: Any) -> Record:
        """The own directory has an entry for another's cluster."""
        return self.record(
            Kind.DIRECTORY,
            cluster=other.cluster,
            prefix=prefix,
            **{"epoch": other.epoch, "version": 1, "standing": Standing.PRESENT, **fields},
        )

    def ring(self, **when: Any) -> Record:
        return self.record(Kind.RING, cluster=self.cluster, **when)

    def _next(self, kind: Any) -> tuple[NodeId, int, int]:
        self._given[kind] += 1
        return (self.node, self.incarnation, self._given[kind])


class PlantedTrace:
    """A trace in the making."""

    def __init__(self) -> None:
        self.processes: list[Process] = []
        self.events: dict[EventId, Event] = {}
        self.subscriptions: dict[SubscriptionId, Subscription] = {}
        self._now_us = BEGIN_US

    def instant_us(self, at_ms: float | None) -> int:
        """The wall clock's word for an instant of the trace; None is the next one."""
        self._now_us = self._now_us + 1_000 if at_ms is None else BEGIN_US + round(at_ms * 1_000)
        return self._now_us

    def process(
        self, name: str, incarnation: int = 1, *, cluster: str = CLUSTER, started: bool = True, **when: Any
    ) -> Process:
        """A start of the peer of that name; its `start` record is made at once."""
        process = Process(self, node_of(name), incarnation, ClusterId(cluster))
        self.processes.append(process)
        if started:
            process.start(**when)
        return process

    @property
    def records(self) -> list[Record]:
        """All records, process by process."""
        return [record for process in self.processes for record in process.records]

    def write(self, directory: Path, *, batch: int = 4096, of: Iterable[Process] | None = None) -> None:
        """Write segments of at most `batch` records, each peer into a directory of its own."""
        for process in self.processes if of is None else of:
            shelf = Shelf(directory / process.node.hex()[:10] / "traces", process.node, 1 << 40)
            for first in range(0, len(process.records), batch):
                shelf.add(process.records[first : first + batch])

    def tables(self, spark: SparkSession) -> Tables:
        """The same trace as the analysis has it after compaction."""
        return tables_of(spark, self.records)


def node_of(name: str) -> NodeId:
    """The id of a peer that a test calls by name."""
    return NodeId(digest_of(b"planted", name.encode()))
