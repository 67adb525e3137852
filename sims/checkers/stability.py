"""What a verdict is worth: a stable subscription misses nothing, and every subscription becomes stable."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.content import Event, Guarantee, Subscription, pinned_topics
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.obligations import Obligations
from sims.checkers.oracle import wants
from sims.checkers.rings import RING_IDEAL_HEARTBEATS

_STABLE = f"{VerdictStatus.STABLE} "


def check_stable_misses_nothing(evidence: Evidence, obligations: Obligations) -> Iterator[Finding]:
    """S1: published after the verdict `stable`, acknowledged, matching: delivered, or the trace says why not.

    A stable subscription is stored in every cluster, so no owner anywhere may acknowledge without knowing it. Only
    subscriptions that stand to the end are looked at, so that a pair is not excused by how it ended. In a cut a cluster
    may be in halves that each go on, and the verdict speaks for one of them; it is worth more once the halves are one.
    """
    stable_us = {subscription: _after_cuts(evidence, at_us) for subscription, at_us in _stable_since(evidence).items()}
    standing = _standing(evidence)
    by_topic: dict[str, list[Subscription]] = {}
    open_ones: list[Subscription] = []
    for subscription in standing.values():
        if subscription.id in stable_us:
            topics = pinned_topics(subscription.filter)
            for topic in topics:
                by_topic.setdefault(topic, []).append(subscription)
            if not topics:
                open_ones.append(subscription)
    acknowledged = {record.event for _, record in evidence.of(Kind.ACKNOWLEDGE)}
    for at_us, record in evidence.of(Kind.PUBLISH):
        event: Event | None = record.published
        if event is None or event.id not in acknowledged or event.guarantee is not Guarantee.EFFECTIVELY_ONCE:
            continue
        for subscription in [*by_topic.get(event.topic, []), *open_ones]:
            pair = (event.id, subscription.id)
            missed = pair not in obligations.delivered and pair not in obligations.ended
            if missed and stable_us[subscription.id] < at_us and wants(subscription.filter, event):
                name = f"{subscription.id.node.hex()[:8]}.{subscription.id.incarnation}.{subscription.id.sequence}"
                yield Finding("S1", f"the stable subscription {name} missed an event", record, at_us)


def check_becomes_stable(evidence: Evidence) -> Iterator[Finding]:
    """Whoever still wants something when the run ends, long after the last fault, has been told that it is stable."""
    if evidence.faults.lost_clusters:
        return
    stable_us = _stable_since(evidence)
    for subscription in _standing(evidence).values():
        if subscription.id not in stable_us:
            name = f"{subscription.id.node.hex()[:8]}.{subscription.id.incarnation}.{subscription.id.sequence}"
            yield Finding("bound:stable", f"{name} is not stable in every cluster at the end")


def _stable_since(evidence: Evidence) -> dict[SubscriptionId | None, int]:
    """When each subscription was first called stable."""
    found: dict[SubscriptionId | None, int] = {}
    for at_us, record in evidence.of(Kind.VERDICT):
        if record.reason is not None and record.reason.startswith(_STABLE):
            found.setdefault(record.subscription, at_us)
    return found


def _after_cuts(evidence: Evidence, at_us: int) -> int:
    """From when on a verdict holds for every part of the overlay: at once, or when the cut it fell into has mended."""
    mending_us = RING_IDEAL_HEARTBEATS * evidence.heartbeat_us
    until = at_us
    for cut in sorted(evidence.faults.cuts, key=lambda cut: cut.at_us):
        healed_us = evidence.phases.end_us if cut.until_us is None else cut.until_us
        if cut.at_us <= until < healed_us + mending_us:
            until = healed_us + mending_us
    return until


def _standing(evidence: Evidence) -> dict[SubscriptionId, Subscription]:
    """Subscriptions asked for by a process that runs to the end and never gave them up."""
    running = {(site.node, site.incarnation) for site in evidence.sites}
    given_up = {record.subscription for _, record in evidence.of(Kind.UNSUBSCRIBE)}
    asked = [record.subscribed for _, record in evidence.of(Kind.SUBSCRIBE) if record.subscribed is not None]
    lost = {site.node for site in evidence.sites if site.cluster in evidence.faults.lost_clusters}
    return {
        subscription.id: subscription
        for subscription in asked
        if (subscription.id.node, subscription.id.incarnation) in running
        and subscription.id not in given_up
        and subscription.id.node not in lost
    }
