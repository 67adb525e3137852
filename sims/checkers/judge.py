"""All checkers over one run, and the figures that a report shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from p2psub.model.records import Kind
from sims.checkers import (
    books,
    bounds,
    broadcasts,
    conservation,
    copies,
    deliveries,
    full_disks,
    lateness,
    obligations,
    order,
    owners,
    queues,
    refusals,
    rings,
    stability,
    terms,
)
from sims.checkers.evidence import Evidence, Finding, first_of
from sims.checkers.obligations import Obligations, obligations_of


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, worst first in time, and the run's figures."""

    findings: list[Finding]
    published: int
    acknowledged: int
    obligations: int
    delivered: int
    lost: int
    duplicates: int
    outcomes: dict[str, int]
    failover_heartbeats_max: float
    join_heartbeats_max: float
    owner_replaced_heartbeats_max: float
    disk_full_refusals: int
    beyond_horizon: int
    """Processes that came back after what they held had grown too old to be delivered."""
    ordered_pairs: int
    """Events that an ordered subscription got after another of the same publisher and topic."""
    owed_events: int
    """Acknowledged events that were owed to a subscription."""
    discharged: int
    """Those of them that some owner called discharged."""
    order_gaps: int
    """Events that an ordered subscription was told to come late."""
    expired: int
    """Pairs that ended so without having been handed over."""
    late: int
    """Hand-overs after deadline or timeout."""
    earnings: books.Earnings
    """What the promised pairs earned and cost."""
    cast_costs: broadcasts.CastCosts
    """What casts cost in the settled cube."""


def judge(evidence: Evidence) -> Judgement:
    """Run every checker."""
    owed = obligations_of(evidence)
    findings = list(_all(evidence, owed))
    spans = [heartbeats for _, _, heartbeats in terms.failovers(evidence) if heartbeats is not None]
    joined = [heartbeats for _, _, heartbeats in bounds.joins(evidence) if heartbeats is not None]
    replaced = [heartbeats for _, heartbeats in owners.replacements(evidence) if heartbeats is not None]
    owed_events = {event for event, _ in owed.owed}
    outcomes: dict[str, int] = {}
    for outcome in owed.ended.values():
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return Judgement(
        findings=first_of(findings),
        published=len(evidence.of(Kind.PUBLISH)),
        acknowledged=len({record.event for _, record in evidence.of(Kind.ACKNOWLEDGE)}),
        obligations=len(owed.owed),
        delivered=len(evidence.of(Kind.DELIVER)),
        lost=sum(1 for _ in obligations.check_no_loss(evidence, owed)),
        duplicates=sum(1 for _ in deliveries.check_once(evidence)),
        outcomes=dict(sorted(outcomes.items())),
        failover_heartbeats_max=max(spans, default=0.0),
        join_heartbeats_max=max(joined, default=0.0),
        owner_replaced_heartbeats_max=max(replaced, default=0.0),
        disk_full_refusals=full_disks.disk_full_refusals(evidence),
        beyond_horizon=_beyond_horizon(evidence),
        ordered_pairs=order.ordered_pairs(evidence),
        owed_events=len(owed_events),
        discharged=len(owed_events & {record.event for _, record in evidence.of(Kind.DISCHARGE)}),
        order_gaps=order.order_gaps(evidence),
        expired=lateness.expired_pairs(owed),
        late=sum(1 for _ in lateness.check_nothing_is_late(evidence)),
        earnings=books.earnings_of(evidence),
        cast_costs=broadcasts.costs_of(evidence),
    )


def _beyond_horizon(evidence: Evidence) -> int:
    nodes = {site.index: site.node for site in evidence.sites}
    ended_us = {(nodes.get(crash.host), crash.incarnation): crash.at_us for crash in evidence.faults.crashes}
    ttl_us, late = evidence.config.pubsub.undelivered_ttl_us, 0
    for at_us, record in evidence.of(Kind.START):
        down_us = at_us - ended_us.get((record.node, record.incarnation - 1), at_us)
        late += down_us > ttl_us
    return late


def _all(evidence: Evidence, owed: Obligations) -> Iterator[Finding]:
    yield from obligations.check_no_loss(evidence, owed)
    yield from obligations.check_outcomes(evidence, owed)
    yield from obligations.check_acknowledged_is_stored(evidence)
    yield from stability.check_stable_misses_nothing(evidence, owed)
    yield from stability.check_becomes_stable(evidence)
    yield from refusals.check_refused_gets_nothing(evidence)
    yield from refusals.check_refused_is_ended(evidence)
    yield from refusals.check_one_conclusion(evidence)
    yield from refusals.check_conclusions(evidence)
    yield from deliveries.check_once(evidence)
    yield from deliveries.check_not_invented(evidence)
    yield from deliveries.check_unaltered(evidence)
    yield from order.check_order(evidence)
    yield from lateness.check_expired_is_true(evidence)
    yield from lateness.check_nothing_is_late(evidence)
    yield from lateness.check_hopeless_was_unsent(evidence)
    yield from books.check_books(evidence)
    yield from full_disks.check_full_disks(evidence)
    yield from full_disks.check_refusals(evidence)
    yield from copies.check_stated_copies(evidence)
    yield from copies.check_enough_copies(evidence)
    yield from copies.check_copies_after_quiet(evidence)
    yield from copies.check_change_sets(evidence)
    yield from copies.check_advertisements(evidence)
    yield from rings.check_rings(evidence)
    yield from rings.check_clusters_whole(evidence)
    yield from terms.check_one_per_epoch(evidence)
    yield from terms.check_failover(evidence)
    yield from owners.check_owners_replaced(evidence)
    yield from broadcasts.check_stored_once(evidence)
    yield from broadcasts.check_numbered_once(evidence)
    yield from broadcasts.check_transfers(evidence)
    yield from broadcasts.check_reached_once(evidence)
    yield from queues.check_queues(evidence)
    yield from queues.check_drops(evidence)
    yield from queues.check_sequences(evidence)
    yield from conservation.check_received(evidence)
    yield from conservation.check_matched(evidence, owed)
    yield from conservation.check_outcome_delivered(evidence, owed)
    yield from bounds.check_outboxes(evidence)
    yield from bounds.check_undischarged(evidence)
    yield from bounds.check_joins(evidence)
    yield from bounds.check_formed(evidence)
    if evidence.formed:
        yield from bounds.check_not_vacuous(evidence, len(owed.owed))
