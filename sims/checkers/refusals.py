"""A3 and A4: what was refused gets nothing and is ended, and every version of a subscription has one conclusion."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.changes import LogId
from p2psub.model.content import DeclarationState
from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.places import Standing
from p2psub.model.records import Kind, Record
from sims.checkers.evidence import Evidence, Finding

_CONCLUSIONS = (VerdictStatus.STABLE, VerdictStatus.REFUSED)


def refusals(evidence: Evidence) -> dict[SubscriptionId, int]:
    """When each refused subscription's peer heard so."""
    told = [(at_us, record) for at_us, record in _judged(evidence) if record.status is VerdictStatus.REFUSED]
    return {record.subscription: at_us for at_us, record in told if record.subscription is not None}


def check_refused_gets_nothing(evidence: Evidence) -> Iterator[Finding]:
    """A3: nothing is handed over after a refusal; before it, only what came after an `accepted`. No outcome lies."""
    refused_us = refusals(evidence)
    stood: set[SubscriptionId | None] = set()
    handed_over: set[tuple[object, object]] = set()
    for at_us, record in evidence.of(Kind.VERDICT, Kind.DELIVER, Kind.OUTCOME):
        match record.kind:
            case Kind.VERDICT if record.status is not VerdictStatus.REFUSED:
                stood.add(record.subscription)
            case Kind.DELIVER if record.subscription in refused_us:
                handed_over.add((record.event, record.subscription))
                if record.subscription not in stood or at_us > refused_us[record.subscription]:
                    yield Finding("A3", "handed over, though it was refused", record, at_us)
            case Kind.OUTCOME if record.subscription in refused_us and record.outcome is Outcome.DELIVERED:
                if (record.event, record.subscription) not in handed_over:
                    yield Finding("A3", "called delivered, though it was refused", record, at_us)


def check_refused_is_ended(evidence: Evidence) -> Iterator[Finding]:
    """A3: the last version of what was refused is an ended one; all super-nodes end with it by S9."""
    if evidence.faults.lost_clusters:
        return
    last: dict[SubscriptionId, tuple[int, DeclarationState]] = {}
    for _, record in evidence.of(Kind.NUMBER):
        if (known := record.subscribed) is not None:
            last[known.id] = max(last.get(known.id, (0, known.state)), (known.version, known.state))
    for id_, at_us in refusals(evidence).items():
        if id_ in last and last[id_][1] is DeclarationState.ACTIVE:
            yield Finding("A3", f"{_name(id_)} was refused, and stands", at_us=at_us)


def check_one_conclusion(evidence: Evidence) -> Iterator[Finding]:
    """A4: a version is stable or refused, once; and no log has two ends of it."""
    concluded: set[tuple[object, object]] = set()
    for at_us, record in _judged(evidence):
        if record.status in _CONCLUSIONS:
            version = (record.subscription, record.version)
            if version in concluded:
                yield Finding("A4", "concluded twice", record, at_us)
            concluded.add(version)
    numbered: set[tuple[LogId, SubscriptionId, int]] = set()
    for at_us, record in evidence.of(Kind.NUMBER):
        if record.subscribed is not None and record.number is not None:
            change = (record.number.log, record.subscribed.id, record.subscribed.version)
            if change in numbered:
                yield Finding("A4", "a version was numbered twice in one term", record, at_us)
            numbered.add(change)


def check_conclusions(evidence: Evidence) -> Iterator[Finding]:
    """A4: `stable` only if every standing cluster granted it; `accepted` only while those that refuse are unreached."""
    if evidence.votes is None:
        return
    standing: dict[ClusterId, None] = {}
    given_up: set[ClusterId | None] = set()
    for at_us, record in evidence.of(Kind.DIRECTORY, Kind.VERDICT):
        if record.kind is Kind.DIRECTORY:
            if record.standing is Standing.LOST:
                given_up.add(record.cluster)
            elif record.cluster is not None and at_us < evidence.phases.load_us:
                standing[record.cluster] = None
        elif record.state is DeclarationState.ACTIVE and record.subscription is not None:
            clusters = [cluster for cluster in standing if cluster not in given_up]
            against = [cluster for cluster in clusters if evidence.votes.against(cluster, record.subscription)]
            if record.status is VerdictStatus.STABLE and against:
                yield Finding("A4", f"stable, though {', '.join(against)} refuses it", record, at_us)
            elif record.status is VerdictStatus.ACCEPTED and len(against) > (record.unreached or 0):
                yield Finding("A4", f"accepted, though {', '.join(against)} refuse it", record, at_us)


def _judged(evidence: Evidence) -> list[tuple[int, Record]]:
    """Verdicts on subscriptions that are wanted; on an end there is nothing to refuse."""
    return [(at_us, r) for at_us, r in evidence.of(Kind.VERDICT) if r.state is DeclarationState.ACTIVE]


def _name(id_: SubscriptionId) -> str:
    return f"{id_.node.hex()[:8]}.{id_.incarnation}.{id_.sequence}"
