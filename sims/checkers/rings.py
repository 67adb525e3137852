"""S8 and the ring's bound: after quiet every cluster is one ideal ring."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from p2psub.model.ids import ClusterId, NodeId
from p2psub.model.status import NodeStatus, Role
from sims.checkers.bounds import JOIN_HEARTBEATS
from sims.checkers.evidence import Evidence, Finding

RING_IDEAL_HEARTBEATS = 20


def check_rings(evidence: Evidence) -> Iterator[Finding]:
    """S8 at the end, and the bound: ideal 20 heartbeats after quiet began, where no peer is just joining.

    One that left as a fault may be gone late, and comes back as a newcomer; that it joins has a bound of its own.
    """
    bound_us = evidence.phases.quiet_us + RING_IDEAL_HEARTBEATS * evidence.heartbeat_us
    span_us = JOIN_HEARTBEATS * evidence.heartbeat_us
    joining = [site for site in evidence.sites if bound_us - span_us < site.started_us <= bound_us]
    nodes, clusters = {site.node for site in joining}, {site.cluster for site in joining}
    settled = [s for s in evidence.at_ring_bound if s.id not in nodes and s.cluster not in clusters]
    yield from _ideal(evidence, settled, "bound:ring_ideal")
    yield from _ideal(evidence, evidence.at_end, "S8")
    yield from _principals(evidence)


def _ideal(evidence: Evidence, statuses: list[NodeStatus], invariant: str) -> Iterator[Finding]:
    running = {status.id for status in statuses}
    for cluster, members in _by_cluster(statuses).items():
        circle = sorted(member.id for member in members)
        length = min(evidence.config.ring.successors, len(circle) - 1)
        for member in members:
            place = circle.index(member.id)
            ideal = [circle[(place + step) % len(circle)] for step in range(1, length + 1)]
            has: list[NodeId] = [successor.id for successor in member.successors]
            if ideal and (not has or has[0] not in running):
                yield Finding(invariant, f"{_name(member.id)} of {cluster} has no live successor")
            elif has != ideal:
                text = f"{_name(member.id)} of {cluster} has {_names(has)}, ideal is {_names(ideal)}"
                yield Finding(invariant, text)
            if ideal and (member.predecessor is None or member.predecessor.id != circle[place - 1]):
                known = None if member.predecessor is None else _name(member.predecessor.id)
                yield Finding(invariant, f"{_name(member.id)} of {cluster} has predecessor {known}")
    for status in statuses:
        if status.role is Role.JOINING or status.cluster is None:
            yield Finding(invariant, f"{_name(status.id)} is in no ring")


def _principals(evidence: Evidence) -> Iterator[Finding]:
    """Zave's invariant: members that no list skips number at least min(r+1, live members)."""
    for cluster, members in _by_cluster(evidence.at_end).items():
        skipped: set[NodeId] = set()
        for member in members:
            line = [member.id, *(successor.id for successor in member.successors)]
            for one, other in pairwise(line):
                skipped |= {node.id for node in members if _strictly_between(one, node.id, other)}
        principals = len(members) - len(skipped)
        if principals < min(evidence.config.ring.successors + 1, len(members)):
            yield Finding("S8", f"{cluster} has {principals} principals of {len(members)} members")


def check_clusters_whole(evidence: Evidence) -> Iterator[Finding]:
    """S8: every machine is in the cluster it was meant for, under one super-node that all of them name."""
    for cluster, members in _by_cluster(evidence.at_end).items():
        acting = [member for member in members if member.role is Role.SUPER_NODE]
        if len(acting) != 1:
            yield Finding("S10", f"{cluster} ends with {len(acting)} acting super-nodes")
            continue
        for member in members:
            if member.super_node is None or member.super_node.id != acting[0].id:
                yield Finding("S10", f"{_name(member.id)} of {cluster} does not follow {_name(acting[0].id)}")


def _by_cluster(statuses: list[NodeStatus]) -> dict[ClusterId, list[NodeStatus]]:
    clusters: dict[ClusterId, list[NodeStatus]] = {}
    for status in statuses:
        if status.cluster is not None and status.role is not Role.JOINING:
            clusters.setdefault(status.cluster, []).append(status)
    return dict(sorted(clusters.items()))


def _strictly_between(low: NodeId, node: NodeId, high: NodeId) -> bool:
    if low < high:
        return low < node < high
    return node > low or node < high


def _name(node: NodeId) -> str:
    return node.hex()[:8]


def _names(nodes: list[NodeId]) -> str:
    return "[" + " ".join(_name(node) for node in nodes) + "]"
