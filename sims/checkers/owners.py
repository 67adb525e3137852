"""The bound on owners: six heartbeats after a member fell, another can acknowledge for its keys."""

from __future__ import annotations

from collections.abc import Iterator

from sims.checkers.evidence import Evidence, Finding
from sims.checkers.terms import is_overlapped
from sims.engine.successions import Succession

OWNER_HEARTBEATS = 6
OWNER_HEARTBEATS_LOSSY = 8
LOSSY = 0.05
"""From this loss on the longer bound holds (docs/promises.md)."""


def bound(evidence: Evidence) -> int:
    """The heartbeats that the weather of this run allows."""
    return OWNER_HEARTBEATS_LOSSY if evidence.faults.loss >= LOSSY else OWNER_HEARTBEATS


def replacements(evidence: Evidence) -> list[tuple[Succession, float | None]]:
    """Owners that fell while nothing else was broken, and the heartbeats to their successor (None: none came).

    A super-node's fall is another case, which failover is judged by; so is one beside a cut or another crash.
    """
    found: list[tuple[Succession, float | None]] = []
    for fall in evidence.faults.successions:
        if fall.super_node or fall.cluster in evidence.faults.lost_clusters:
            continue
        latest_us = fall.at_us + 2 * bound(evidence) * evidence.heartbeat_us
        until_us = latest_us if fall.successor_us is None else fall.successor_us
        if until_us <= evidence.phases.end_us and not is_overlapped(evidence, fall.at_us, until_us, fall.cluster):
            span = None if fall.successor_us is None else (fall.successor_us - fall.at_us) / evidence.heartbeat_us
            found.append((fall, span))
    return found


def check_owners_replaced(evidence: Evidence) -> Iterator[Finding]:
    """The bound: keys have an owner again after six heartbeats, eight where a twentieth or more is lost."""
    most = bound(evidence)
    for fall, heartbeats in replacements(evidence):
        if heartbeats is None or heartbeats > most:
            took = "no owner followed" if heartbeats is None else f"the next came after {heartbeats:.1f} heartbeats"
            text = f"owner {fall.fallen.hex()[:8]} of {fall.cluster} fell; {took}, {most} are allowed"
            yield Finding("bound:owner", text, None, fall.at_us)
