"""S2, S3 and S4: nothing handed over twice, nothing invented, nothing altered."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.content import Event, Subscription
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.oracle import wants


def check_once(evidence: Evidence) -> Iterator[Finding]:
    """S2: at most one hand-over of an event per subscription id."""
    seen: set[tuple[EventId | None, SubscriptionId | None]] = set()
    for at_us, record in evidence.of(Kind.DELIVER):
        pair = (record.event, record.subscription)
        if pair in seen:
            yield Finding("S2", "handed over twice", record, at_us)
        seen.add(pair)


def check_not_invented(evidence: Evidence) -> Iterator[Finding]:
    """S3: published before, wanted, asked for before, and not yet given up by its own peer."""
    published: dict[EventId, Event] = {}
    asked: dict[SubscriptionId, Subscription] = {}
    given_up: set[SubscriptionId] = set()
    for at_us, record in evidence.of(Kind.PUBLISH, Kind.SUBSCRIBE, Kind.UNSUBSCRIBE, Kind.DELIVER):
        match record.kind:
            case Kind.PUBLISH if record.published is not None:
                published[record.published.id] = record.published
            case Kind.SUBSCRIBE if record.subscribed is not None:
                asked[record.subscribed.id] = record.subscribed
            case Kind.UNSUBSCRIBE if record.subscription is not None:
                given_up.add(record.subscription)
            case Kind.DELIVER:
                event = published.get(record.event) if record.event is not None else None
                subscription = asked.get(record.subscription) if record.subscription is not None else None
                if event is None:
                    yield Finding("S3", "delivered, but never published", record, at_us)
                elif subscription is None:
                    yield Finding("S3", "delivered to a subscription that no application asked for", record, at_us)
                elif subscription.id.node != record.node or subscription.id.incarnation != record.incarnation:
                    yield Finding("S3", "delivered at another process than the subscription's", record, at_us)
                elif subscription.id in given_up:
                    yield Finding("S3", "delivered after its peer had unsubscribed", record, at_us)
                elif not wants(subscription.filter, event):
                    yield Finding("S3", "delivered, but the filter does not want it", record, at_us)


def check_unaltered(evidence: Evidence) -> Iterator[Finding]:
    """S4: what is handed over is what was published."""
    digests: dict[EventId | None, bytes | None] = {}
    for _, record in evidence.of(Kind.PUBLISH):
        digests[record.event] = record.digest
    for at_us, record in evidence.of(Kind.DELIVER):
        if record.event in digests and (record.digest is None or digests[record.event] != record.digest):
            yield Finding("S4", "altered on its way", record, at_us)
