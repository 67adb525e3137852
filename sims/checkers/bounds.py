"""The bounds of docs/promises.md on outboxes and joins; and whether a run tested anything at all."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.ids import NodeId
from p2psub.model.records import Kind
from sims.checkers.evidence import VACUOUS, Evidence, Finding

OUTBOX_HEARTBEATS = 60
JOIN_HEARTBEATS = 10
CRASHES_MIN = 3
LONG_CUT_HEARTBEATS = 8


def check_outboxes(evidence: Evidence) -> Iterator[Finding]:
    """Outboxes are empty 60 heartbeats after quiet began, and nothing that can be delivered is still owed."""
    for status in evidence.at_outbox_bound:
        if status.outbox and status.cluster not in evidence.faults.lost_clusters:
            yield Finding("bound:outbox", f"{status.id.hex()[:8]} has {status.outbox} unacknowledged events")


def check_undischarged(evidence: Evidence) -> Iterator[Finding]:
    """Once every peer is back for long enough, no event is owed any more."""
    for status in evidence.at_end:
        if status.undischarged and not evidence.faults.lost_clusters:
            yield Finding("bound:discharge", f"{status.id.hex()[:8]} still owes {status.undischarged} events")


def joins(evidence: Evidence) -> list[tuple[NodeId, int, float | None]]:
    """Process starts after quiet began, and the heartbeats until the ring took them (None: not by the end)."""
    joined: dict[tuple[NodeId, int], int] = {}
    for at_us, record in evidence.of(Kind.RING):
        joined.setdefault((record.node, record.incarnation), at_us)
    found: list[tuple[NodeId, int, float | None]] = []
    for site in evidence.sites:
        if site.incarnation is not None and site.started_us >= evidence.phases.quiet_us:
            joined_us = joined.get((site.node, site.incarnation))
            span = None if joined_us is None else (joined_us - site.started_us) / evidence.heartbeat_us
            found.append((site.node, site.started_us, span))
    return found


def check_joins(evidence: Evidence) -> Iterator[Finding]:
    """A peer that starts in quiet is in its ring after ten heartbeats."""
    for node, started_us, heartbeats in joins(evidence):
        if heartbeats is None or heartbeats > JOIN_HEARTBEATS:
            took = "never" if heartbeats is None else f"after {heartbeats:.1f} heartbeats"
            yield Finding("bound:join", f"{node.hex()[:8]} joined {took}", None, started_us)


def check_formed(evidence: Evidence) -> Iterator[Finding]:
    """Without faults every peer joins, and every cluster serves, before the scenario's patience ends."""
    if not evidence.formed:
        yield Finding("bound:formation", "the overlay did not form in time")


def check_not_vacuous(evidence: Evidence, obligations: int) -> Iterator[Finding]:
    """A seed that broke nothing, or owed nothing, has shown nothing."""
    if obligations < evidence.obligations_min:
        yield Finding(VACUOUS, f"it owed {obligations} deliveries, and must owe at least {evidence.obligations_min}")
    if "crash" in evidence.fault_kinds and len(evidence.faults.crashes) < CRASHES_MIN:
        yield Finding(VACUOUS, f"it had {len(evidence.faults.crashes)} crashes, and must have at least {CRASHES_MIN}")
    if "partition" in evidence.fault_kinds:
        longest = max(((cut.until_us or evidence.phases.end_us) - cut.at_us for cut in evidence.faults.cuts), default=0)
        if longest <= LONG_CUT_HEARTBEATS * evidence.heartbeat_us:
            yield Finding(VACUOUS, f"it had no partition longer than {LONG_CUT_HEARTBEATS} heartbeats")
