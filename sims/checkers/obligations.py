"""S1, no loss: an acknowledged event reaches every subscription it was owed to, or the trace says why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from p2psub.model.changes import ChangeNumber, LogId
from p2psub.model.content import DeclarationState, Event, Filter, Guarantee, Subscription, pinned_topics
from p2psub.model.ids import EventId, NodeId, SubscriptionId
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind, Record
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.oracle import wants
from sims.checkers.refusals import refusals

NEVER_INSIDE_BUDGET = (Outcome.SPOOL_FULL, Outcome.UNREACHABLE)
"""Outcomes that no run inside the budget may end in (S1)."""


@dataclass(slots=True)
class _NumberedSubscription:
    """A subscription and its numbered changes."""

    id: SubscriptionId
    filter: Filter
    changes: list[tuple[LogId, int, int, DeclarationState]] = field(default_factory=list)

    def is_active_under(self, vector: dict[LogId, int]) -> bool:
        """Whether the highest version that the vector holds is an active one."""
        known = [(version, state) for log, n, version, state in self.changes if n <= vector.get(log, 0)]
        return bool(known) and max(known)[1] is DeclarationState.ACTIVE


class _Register:
    """All subscriptions that were ever numbered, by the topics they pin."""

    def __init__(self, evidence: Evidence) -> None:
        self._by_id: dict[SubscriptionId, _NumberedSubscription] = {}
        self._by_topic: dict[str, list[_NumberedSubscription]] = {}
        self._open: list[_NumberedSubscription] = []
        for _, record in evidence.of(Kind.NUMBER):
            if record.subscribed is not None:
                self._take(record.subscribed, record.number)

    def _take(self, subscription: Subscription, number: ChangeNumber | None) -> None:
        assert number is not None, "a NUMBER record names the change"
        wanted = self._by_id.get(subscription.id)
        if wanted is None:
            wanted = self._by_id[subscription.id] = _NumberedSubscription(subscription.id, subscription.filter)
            topics = pinned_topics(subscription.filter)
            for topic in topics:
                self._by_topic.setdefault(topic, []).append(wanted)
            if not topics:
                self._open.append(wanted)
        wanted.changes.append((number.log, number.n, subscription.version, subscription.state))

    def owed(self, event: Event, vector: dict[LogId, int]) -> list[SubscriptionId]:
        """The subscriptions to which an event stored under that vector is owed."""
        return [
            wanted.id
            for wanted in [*self._by_topic.get(event.topic, []), *self._open]
            if wanted.is_active_under(vector) and wants(wanted.filter, event)
        ]


@dataclass(slots=True)
class Obligations:
    """Every (event, subscription) that was owed, with the record of the storing, and what became of the pairs."""

    owed: dict[tuple[EventId, SubscriptionId], tuple[int, Record]] = field(default_factory=dict)
    delivered: set[tuple[EventId, SubscriptionId]] = field(default_factory=set)
    ended: dict[tuple[EventId, SubscriptionId], Outcome] = field(default_factory=dict)


def obligations_of(evidence: Evidence) -> Obligations:
    """Read what was owed and what became of it out of the trace."""
    register = _Register(evidence)
    stores, published = stores_of(evidence), published_events(evidence)
    # An owner may know of an end beyond its contiguous vector; a subscriber that gave up before is owed nothing.
    given_up_us = {record.subscription: at_us for at_us, record in evidence.of(Kind.UNSUBSCRIBE)}
    given_up_us |= _turned_down(evidence)
    found = Obligations()
    for at_us, record in evidence.of(Kind.ACKNOWLEDGE):
        stored, event = store_behind(at_us, record, stores), published.get(record.event)
        if stored is None or event is None or stored[1].vector is None:
            continue
        if event.guarantee is Guarantee.EFFECTIVELY_ONCE:
            for subscription in register.owed(event, dict(stored[1].vector)):
                if given_up_us.get(subscription, stored[0]) >= stored[0]:
                    found.owed.setdefault((event.id, subscription), stored)
    for _, record in evidence.of(Kind.DELIVER):
        if record.event is not None and record.subscription is not None:
            found.delivered.add((record.event, record.subscription))
    for _, record in evidence.of(Kind.OUTCOME):
        event_id, subscription_id, outcome = record.event, record.subscription, record.outcome
        if event_id is not None and subscription_id is not None and outcome not in (None, Outcome.DELIVERED):
            found.ended[event_id, subscription_id] = outcome
    return found


def _turned_down(evidence: Evidence) -> dict[SubscriptionId | None, int]:
    """When the end of each refused subscription was numbered; its peer hears of it later."""
    refused, ends = refusals(evidence), dict[SubscriptionId | None, int]()
    for at_us, record in evidence.of(Kind.NUMBER):
        ended = record.subscribed
        if ended is not None and ended.id in refused and ended.state is DeclarationState.ENDED:
            ends.setdefault(ended.id, at_us)
    return ends


def check_no_loss(evidence: Evidence, obligations: Obligations) -> Iterator[Finding]:
    """S1. A pair whose subscriber's process ended is not owed any more."""
    running = {(site.node, site.incarnation) for site in evidence.sites}
    lost_nodes = {site.node for site in evidence.sites if site.cluster in evidence.faults.lost_clusters}
    for pair, (at_us, stored) in obligations.owed.items():
        subscriber = (pair[1].node, pair[1].incarnation)
        if pair in obligations.delivered or pair in obligations.ended or subscriber not in running:
            continue
        if stored.node not in lost_nodes:
            yield Finding("S1", f"event {_name(pair[0])} never reached {_name(pair[1])}", stored, at_us)


def check_outcomes(evidence: Evidence, obligations: Obligations) -> Iterator[Finding]:
    """S1: inside the budget nothing is dropped for want of room or of a way.

    What was handed over before may be given up: a holder that comes back late does not know. Nor is a pair owed whose
    subscriber's process ended.
    """
    if evidence.faults.lost_clusters:
        return
    for pair, outcome in obligations.ended.items():
        is_owed = pair not in obligations.delivered and evidence.runs(pair[1].node, pair[1].incarnation)
        if outcome in NEVER_INSIDE_BUDGET and is_owed:
            yield Finding("S1", f"event {_name(pair[0])} for {_name(pair[1])} ended as {outcome}")


def check_acknowledged_is_stored(evidence: Evidence) -> Iterator[Finding]:
    """S1 and S5: what was acknowledged was stored by an owner before."""
    stores = stores_of(evidence)
    for at_us, record in evidence.of(Kind.ACKNOWLEDGE):
        if store_behind(at_us, record, stores) is None:
            yield Finding("S5", "acknowledged, but no owner had stored it", record, at_us)


def published_events(evidence: Evidence) -> dict[EventId | None, Event]:
    """The content of every event; only the records of their publishers have it."""
    records = (record for _, record in evidence.of(Kind.PUBLISH))
    return {record.event: record.published for record in records if record.published is not None}


def stores_of(evidence: Evidence) -> dict[EventId, list[tuple[int, Record]]]:
    """Every storing of each event, in order."""
    stores: dict[EventId, list[tuple[int, Record]]] = {}
    for at_us, record in evidence.of(Kind.STORE):
        assert record.event is not None, "a STORE record names its event"
        stores.setdefault(record.event, []).append((at_us, record))
    return stores


def store_behind(
    at_us: int, acknowledged: Record, stores: dict[EventId, list[tuple[int, Record]]]
) -> tuple[int, Record] | None:
    """The storing that an acknowledgement speaks of: by the node it names, else the last one before it."""
    if acknowledged.event is None:
        return None
    before = [stored for stored in stores.get(acknowledged.event, []) if stored[0] <= at_us]
    named = [stored for stored in before if stored[1].node == acknowledged.peer]
    return (named or before or [None])[-1]  # type: ignore[list-item]


def _name(id_: EventId | SubscriptionId) -> str:
    node: NodeId = id_.node
    return f"{node.hex()[:8]}.{id_.incarnation}.{id_.sequence}"
