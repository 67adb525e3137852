"""Conservation: what came in is new or a duplicate; what was matched has an outcome or is still owed."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, EventId, NodeId, SubscriptionId
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.obligations import Obligations

_Reception = tuple[NodeId, int, CastId | None, Prefix | None]


def check_received(evidence: Evidence) -> Iterator[Finding]:
    """Received = new + duplicate: nothing is new twice in one term, and a duplicate was new before."""
    new: set[_Reception] = set()
    for at_us, record in evidence.of(Kind.RECEIVE, Kind.DUPLICATE, Kind.ROLE):
        if record.kind is Kind.ROLE:
            # A node that begins or ends a term forgets the casts of the term before.
            new = {reception for reception in new if reception[:2] != (record.node, record.incarnation)}
            continue
        if record.cast is None:
            continue
        reception = (record.node, record.incarnation, record.cast, record.prefix)
        if record.kind is Kind.RECEIVE:
            if reception in new:
                yield Finding("conservation", "taken for new twice", record, at_us)
            new.add(reception)
        elif record.reason is Reason.CAST_REPEATED and reception not in new:
            yield Finding("conservation", "counted as duplicate, but never received before", record, at_us)


def check_matched(evidence: Evidence, obligations: Obligations) -> Iterator[Finding]:
    """Matched = delivered + other outcomes + undischarged.

    For every acknowledged event: if some owner called it discharged, every pair owed has an outcome; if none did, some
    running node still holds it.
    """
    discharged = {record.event for _, record in evidence.of(Kind.DISCHARGE)}
    kept = {event for status in evidence.at_end for event in status.kept}
    outcomes = _outcomes(evidence)
    gone: set[tuple[EventId, NodeId]] = set()
    running = {(site.node, site.incarnation) for site in evidence.sites}
    for (event, subscription), (at_us, stored) in obligations.owed.items():
        if stored.cluster in evidence.faults.lost_clusters:
            continue
        if event in discharged:
            alive = (subscription.node, subscription.incarnation) in running
            if alive and (event, subscription) not in outcomes and (event, subscription) not in obligations.delivered:
                yield Finding("conservation", "discharged, though one pair has no outcome", stored, at_us)
        elif event not in kept and (event, stored.node) not in gone:
            gone.add((event, stored.node))
            yield Finding("conservation", "neither discharged nor held by any node", stored, at_us)


def check_outcome_delivered(evidence: Evidence, obligations: Obligations) -> Iterator[Finding]:
    """An outcome `delivered` is true, unless the subscriber's process or interest ended before it could hand over."""
    running = {(site.node, site.incarnation) for site in evidence.sites}
    given_up = {record.subscription for _, record in evidence.of(Kind.UNSUBSCRIBE)}
    for at_us, record in evidence.of(Kind.OUTCOME):
        if record.outcome is not Outcome.DELIVERED or record.event is None or record.subscription is None:
            continue
        alive = (record.subscription.node, record.subscription.incarnation) in running
        pair = (record.event, record.subscription)
        if alive and record.subscription not in given_up and pair not in obligations.delivered:
            yield Finding("conservation", "an outcome says delivered, but no subscriber handed it over", record, at_us)


def _outcomes(evidence: Evidence) -> set[tuple[EventId | None, SubscriptionId | None]]:
    return {(record.event, record.subscription) for _, record in evidence.of(Kind.OUTCOME)}
