"""S10 and the bound on failover: one super-node per epoch, and a new one eight heartbeats after the old one died."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.ids import ClusterId, Epoch, NodeId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding

FAILOVER_HEARTBEATS = 8


def check_one_per_epoch(evidence: Evidence) -> Iterator[Finding]:
    """S10: no other node acts under an epoch, and no process takes up the epoch of an earlier one."""
    acting: dict[tuple[ClusterId | None, Epoch | None], tuple[NodeId, int]] = {}
    for at_us, record in evidence.of(Kind.ROLE):
        if record.reason is Reason.SUPER_NODE:
            holder = (record.node, record.incarnation)
            if acting.setdefault((record.cluster, record.epoch), holder) != holder:
                yield Finding("S10", "a second super-node under one epoch", record, at_us)


def failovers(evidence: Evidence) -> list[tuple[int, ClusterId, float | None]]:
    """Crashes of super-nodes that nothing else overlapped, and the heartbeats to the next term (None: none came).

    Judged from the crash alone: another crash in the cluster or a cut, from six heartbeats before the crash to the new
    term, makes it another case.
    """
    found: list[tuple[int, ClusterId, float | None]] = []
    for crash in evidence.faults.crashes:
        if not crash.super_node or crash.cluster is None or crash.cluster in evidence.faults.lost_clusters:
            continue
        next_term = next(
            (
                at_us
                for at_us, record in evidence.of(Kind.ROLE)
                if at_us > crash.at_us and record.reason is Reason.SUPER_NODE and record.cluster == crash.cluster
            ),
            None,
        )
        until_us = crash.at_us + 2 * FAILOVER_HEARTBEATS * evidence.heartbeat_us if next_term is None else next_term
        if until_us <= evidence.phases.end_us and not is_overlapped(evidence, crash.at_us, until_us, crash.cluster):
            heartbeats = None if next_term is None else (next_term - crash.at_us) / evidence.heartbeat_us
            found.append((crash.at_us, crash.cluster, heartbeats))
    return found


def check_failover(evidence: Evidence) -> Iterator[Finding]:
    """The bound: a cluster has a super-node again after eight heartbeats."""
    for at_us, cluster, heartbeats in failovers(evidence):
        if heartbeats is None or heartbeats > FAILOVER_HEARTBEATS:
            took = "no other followed" if heartbeats is None else f"the next came after {heartbeats:.1f} heartbeats"
            yield Finding("bound:failover", f"the super-node of {cluster} crashed; {took}", None, at_us)


def is_overlapped(evidence: Evidence, at_us: int, until_us: int, cluster: ClusterId) -> bool:
    """Whether something else broke around a crash: a cut anywhere, or another crash or a pause in its cluster."""
    margin_us = 6 * evidence.heartbeat_us
    for cut in evidence.faults.cuts:
        healed_us = evidence.phases.end_us if cut.until_us is None else cut.until_us
        if cut.at_us < until_us and healed_us > at_us - margin_us:
            return True
    for pause in evidence.faults.pauses:
        if pause.cluster == cluster and pause.at_us < until_us and pause.until_us > at_us - margin_us:
            return True
    others = [crash for crash in evidence.faults.crashes if crash.cluster == cluster and crash.at_us != at_us]
    return any(at_us - margin_us < crash.at_us < until_us for crash in others)
