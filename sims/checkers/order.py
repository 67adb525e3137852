"""S6: an ordered subscription gets a publisher's events on one topic in the order in which they were published."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.content import Event, Guarantee, Order
from p2psub.model.ids import EventId, NodeId, SubscriptionId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding

_Position = tuple[int, int]
_Line = tuple[SubscriptionId, NodeId, str]
"""A subscription, a publisher and a topic."""


def check_order(evidence: Evidence) -> Iterator[Finding]:
    """S6: earlier first; an event that comes late does so behind a gap, and only where more than processes broke.

    There are three exceptions. The owners that retain what is replayed may hear of a subscription after it got newer
    events. What owed nothing leaves no copy: if its acknowledgement is lost and its owner dies, the next one matches it
    against the subscriptions that have begun since. And what was never acknowledged may have no copy either: its owner
    comes back with it after its publisher has died.
    """
    is_whole = not evidence.faults.cuts and not evidence.faults.departures and not evidence.faults.pauses
    told: dict[SubscriptionId, int] = {}
    last: dict[_Line, _Position] = {}
    lines, replayed = _lines(evidence), _replayed(evidence)
    promised = {record.event for _, record in evidence.of(Kind.ACKNOWLEDGE)} - _owed_nothing(evidence)
    for at_us, record in evidence.of(Kind.GAP, Kind.DELIVER):
        subscription = record.subscription
        if subscription is None:
            continue
        if record.kind is Kind.GAP:
            if record.reason is Reason.ORDER:
                told[subscription] = told.get(subscription, 0) + (record.count or 0)
            continue
        line = lines.pop((subscription, record.event), None)
        if line is None or record.event is None:
            # Not asked for in order; or handed over once more, which is S2.
            continue
        position = (record.event.incarnation, record.event.sequence)
        if position > last.get(line, (-1, -1)):
            last[line] = position
        elif not told.get(subscription, 0):
            yield Finding("S6", "handed over after a later event of its publisher and topic", record, at_us)
        else:
            told[subscription] -= 1
            if is_whole and record.event in promised and (subscription, record.event) not in replayed:
                yield Finding("S6", "out of order, though no ring was cut and no member left", record, at_us)
    if is_whole and any(told.values()):
        yield Finding("S6", "a gap in the order that no late event follows")


def ordered_pairs(evidence: Evidence) -> int:
    """How often an event came to an ordered subscription after another of the same publisher and topic."""
    lines = list(_lines(evidence).values())
    return len(lines) - len(set(lines))


def order_gaps(evidence: Evidence) -> int:
    """How many events ordered subscriptions were told to come late."""
    return sum(record.count or 0 for _, record in evidence.of(Kind.GAP) if record.reason is Reason.ORDER)


def _lines(evidence: Evidence) -> dict[tuple[SubscriptionId, EventId | None], _Line]:
    """In which line each promised event was handed to an ordered subscription."""
    published: dict[EventId, Event] = {}
    ordered: set[SubscriptionId] = set()
    for _, record in evidence.of(Kind.PUBLISH):
        if record.published is not None and record.published.guarantee is Guarantee.EFFECTIVELY_ONCE:
            published[record.published.id] = record.published
    for _, record in evidence.of(Kind.SUBSCRIBE):
        if record.subscribed is not None and record.subscribed.order is Order.PUBLISHER:
            ordered.add(record.subscribed.id)
    lines: dict[tuple[SubscriptionId, EventId | None], _Line] = {}
    for _, record in evidence.of(Kind.DELIVER):
        event = None if record.event is None else published.get(record.event)
        if event is not None and record.subscription in ordered and record.subscription is not None:
            lines[record.subscription, event.id] = (record.subscription, event.id.node, event.topic)
    return lines


def _owed_nothing(evidence: Evidence) -> set[EventId | None]:
    """What an owner found no subscription for."""
    return {record.event for _, record in evidence.of(Kind.DISCHARGE) if record.matched == 0}


def _replayed(evidence: Evidence) -> set[tuple[SubscriptionId, EventId]]:
    """What was handed to a subscription that asked for replay and was published before it began."""
    began_us: dict[SubscriptionId, int] = {}
    for at_us, record in evidence.of(Kind.SUBSCRIBE):
        if record.subscribed is not None and record.subscribed.replay:
            began_us[record.subscribed.id] = at_us
    published_us = {record.event: at_us for at_us, record in evidence.of(Kind.PUBLISH)}
    return {
        (record.subscription, record.event)
        for _, record in evidence.of(Kind.DELIVER)
        if record.subscription in began_us
        and record.event is not None
        and published_us.get(record.event, began_us[record.subscription]) < began_us[record.subscription]
    }
