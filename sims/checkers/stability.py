"""What a verdict is worth: a stable subscription misses nothing, and every subscription becomes stable."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.content import DeclarationState, Event, Guarantee, Subscription, pinned_topics
from p2psub.model.ids import ClusterId, NodeId, SubscriptionId
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.obligations import Obligations
from sims.checkers.oracle import wants
from sims.checkers.refusals import refusals
from sims.checkers.rings import RING_IDEAL_HEARTBEATS
from sims.checkers.terms import FAILOVER_HEARTBEATS

_NEVER_US = 1 << 62


def check_stable_misses_nothing(evidence: Evidence, obligations: Obligations) -> Iterator[Finding]:
    """S1: what is published after the verdict `stable` and acknowledged in time is delivered, or has an outcome.

    A stable subscription is stored in every cluster, so no owner anywhere may acknowledge without knowing it. Only
    where a cut has left a cluster with two terms does a verdict speak for one of them alone; it is worth more once
    they are one again.
    """
    split = _split_terms(evidence)
    stable_us = {id_: _after(split, at_us) for id_, at_us in _stable_since(evidence).items()}
    wanted = {id_: record for id_, record in _asked(evidence).items() if id_ in stable_us}
    by_topic: dict[str | None, list[Subscription]] = {}
    for subscription in wanted.values():
        for topic in pinned_topics(subscription.filter) or (None,):
            by_topic.setdefault(topic, []).append(subscription)
    over_us = _over(evidence)
    acknowledged_us = {record.event: at_us for at_us, record in reversed(evidence.of(Kind.ACKNOWLEDGE))}
    lost = {site.node for site in evidence.sites if site.cluster in evidence.faults.lost_clusters}
    for at_us, record in evidence.of(Kind.PUBLISH):
        event: Event | None = record.published
        if (
            record.node in lost
            or event is None
            or event.id not in acknowledged_us
            or event.guarantee is not Guarantee.EFFECTIVELY_ONCE
        ):
            continue
        for subscription in [*by_topic.get(event.topic, []), *by_topic.get(None, [])]:
            id_ = subscription.id
            pair = (event.id, id_)
            if pair in obligations.delivered or pair in obligations.ended or at_us <= stable_us[id_]:
                continue
            if acknowledged_us[event.id] < over_us.get(id_, _NEVER_US) and wants(subscription.filter, event):
                yield Finding("S1", f"the stable subscription {_name(id_)} missed an event", record, at_us)


def check_becomes_stable(evidence: Evidence) -> Iterator[Finding]:
    """A subscriber that still wants something at the end, and was not refused, was told that it is stable."""
    if evidence.faults.lost_clusters:
        return
    stable_us, over_us = _stable_since(evidence), _over(evidence)
    for id_ in _asked(evidence):
        if id_ not in stable_us and id_ not in over_us:
            yield Finding("bound:stable", f"{_name(id_)} is not stable in every cluster at the end")


def _stable_since(evidence: Evidence) -> dict[SubscriptionId, int]:
    """When each subscription was first called stable."""
    found: dict[SubscriptionId, int] = {}
    for at_us, record in evidence.of(Kind.VERDICT):
        is_stable = (record.status, record.state) == (VerdictStatus.STABLE, DeclarationState.ACTIVE)
        if is_stable and record.subscription is not None:
            found.setdefault(record.subscription, at_us)
    return found


def _asked(evidence: Evidence) -> dict[SubscriptionId, Subscription]:
    """Every subscription of a cluster that was not lost."""
    lost = {site.node for site in evidence.sites if site.cluster in evidence.faults.lost_clusters}
    asked = [record.subscribed for _, record in evidence.of(Kind.SUBSCRIBE) if record.subscribed is not None]
    return {subscription.id: subscription for subscription in asked if subscription.id.node not in lost}


def _over(evidence: Evidence) -> dict[SubscriptionId, int]:
    """When a subscription was given up or refused, or its process ended, whichever came first."""
    ended = _process_ends(evidence)
    running = {(site.node, site.incarnation) for site in evidence.sites}
    over: dict[SubscriptionId, int] = {}
    for id_ in _asked(evidence):
        process = (id_.node, id_.incarnation)
        if process not in running:
            over[id_] = ended.get(process, 0)
    for at_us, record in evidence.of(Kind.UNSUBSCRIBE):
        if record.subscription is not None:
            over[record.subscription] = min(at_us, over.get(record.subscription, at_us))
    for id_, at_us in refusals(evidence).items():
        over[id_] = min(at_us, over.get(id_, at_us))
    return over


def _process_ends(evidence: Evidence) -> dict[tuple[NodeId, int], int]:
    node_of = {site.index: site.node for site in evidence.sites}
    crashes = evidence.faults.crashes
    return {(node_of[crash.host], crash.incarnation): crash.at_us for crash in crashes if crash.host in node_of}


def _split_terms(evidence: Evidence) -> list[tuple[int, int]]:
    """When some cluster had more than one acting super-node, with the time to notice before it and to mend after it."""
    mending_us = RING_IDEAL_HEARTBEATS * evidence.heartbeat_us
    noticing_us = FAILOVER_HEARTBEATS * evidence.heartbeat_us
    ends = _process_ends(evidence)
    spans: dict[ClusterId | None, list[tuple[int, int]]] = {}
    begun: dict[tuple[NodeId, int], tuple[int, ClusterId | None]] = {}
    for at_us, record in evidence.of(Kind.ROLE):
        process = (record.node, record.incarnation)
        since_us, cluster = begun.pop(process, (at_us, record.cluster))
        spans.setdefault(cluster, []).append((since_us, at_us))
        if record.reason is Reason.SUPER_NODE:
            begun[process] = (at_us, record.cluster)
    for process, (since_us, cluster) in begun.items():
        spans.setdefault(cluster, []).append((since_us, ends.get(process, evidence.phases.end_us)))
    split: list[tuple[int, int]] = []
    for several in spans.values():
        several.sort()
        until_us = 0
        for since_us, end_us in several:
            if since_us < min(until_us, end_us):
                split.append((since_us - noticing_us, min(until_us, end_us) + mending_us))
            until_us = max(until_us, end_us)
    return sorted(split)


def _after(split: list[tuple[int, int]], at_us: int) -> int:
    """From when on a verdict holds for every part of the overlay: at once, or when the split it fell into is mended."""
    for since_us, until_us in split:
        if since_us <= at_us < until_us:
            at_us = until_us
    return at_us


def _name(id_: SubscriptionId) -> str:
    return f"{id_.node.hex()[:8]}.{id_.incarnation}.{id_.sequence}"
