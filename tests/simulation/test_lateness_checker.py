"""The checkers of time pass a sound run, and find what is planted: an early end, an end without reason, a late item."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.bids import Bid
from p2psub.model.content import Event, Subscription
from p2psub.model.digests import content_hash
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence
from sims.checkers.judge import judge
from sims.engine.faults import Pause
from tests.simulation.trails import CLUSTER, EVENT, SUBSCRIPTION, H, Trail, deliver, evidence_of, sound_trail

PRICED = msgspec.structs.replace(SUBSCRIPTION, bid=Bid(deadline_us=5 * H))
TIMED = msgspec.structs.replace(EVENT, timeout_us=5 * H)
PUBLISHED_US = 20 * H


def trail_of(event: Event, subscription: Subscription) -> Trail:
    """The sound run with another event or subscription, up to the acknowledgement."""
    trail = sound_trail()
    kept = [one for one in trail.entries if one[1].kind not in (Kind.DELIVER, Kind.OUTCOME, Kind.DISCHARGE)]
    trail.entries = [
        (at_us, msgspec.structs.replace(record, published=event, digest=content_hash(event)))
        if record.kind is Kind.PUBLISH
        else (at_us, msgspec.structs.replace(record, subscribed=subscription))
        if record.kind is Kind.SUBSCRIBE
        else (at_us, record)
        for at_us, record in kept
    ]
    return trail


def ended(event: Event, subscription: Subscription, age_us: int, outcome: Outcome = Outcome.EXPIRED) -> Evidence:
    """A run in which the pair ends so, at that age."""
    trail = trail_of(event, subscription)
    trail.add(PUBLISHED_US + age_us, Kind.OUTCOME, 0, event=EVENT.id, subscription=SUBSCRIPTION.id, outcome=outcome)
    trail.add(PUBLISHED_US + age_us + 1, Kind.DISCHARGE, 0, event=EVENT.id)
    return evidence_of(trail)


def handed_over(event: Event, subscription: Subscription, age_us: int) -> Evidence:
    """A run in which the event is handed over at that age."""
    trail = trail_of(event, subscription)
    trail.add(PUBLISHED_US + age_us, Kind.DELIVER, 3, **deliver())
    at_us, outcome = PUBLISHED_US + age_us + 1, Outcome.DELIVERED
    trail.add(at_us, Kind.OUTCOME, 0, event=EVENT.id, subscription=SUBSCRIPTION.id, outcome=outcome)
    trail.add(PUBLISHED_US + age_us + 2, Kind.DISCHARGE, 0, event=EVENT.id)
    return evidence_of(trail)


def time_found(evidence: Evidence) -> list[str]:
    """What is found about time."""
    return [finding.text for finding in judge(evidence).findings if finding.invariant == "S18"]


@pytest.mark.parametrize(("event", "subscription"), [(EVENT, PRICED), (TIMED, SUBSCRIPTION), (TIMED, PRICED)])
def test_true_expiry_is_sound_and_counted(event: Event, subscription: Subscription) -> None:
    """By deadline, by timeout, or by both; one that is handed over all the same is not counted as expired."""
    judgement = judge(ended(event, subscription, 5 * H))
    assert (judgement.expired, judgement.late) == (1, 0)
    assert time_found(ended(event, subscription, 5 * H)) == []
    assert judge(handed_over(event, subscription, 5 * H)).expired == 0


@pytest.mark.parametrize(("event", "subscription"), [(EVENT, PRICED), (TIMED, SUBSCRIPTION)])
def test_early_expiry_is_found(event: Event, subscription: Subscription) -> None:
    """S18: it had time left."""
    assert len(time_found(ended(event, subscription, 4 * H))) == 1


@pytest.mark.parametrize(("is_restarted", "tenths", "findings"), [(False, 45, 0), (False, 41, 1), (True, 41, 0)])
def test_expiry_is_as_true_as_clocks_are_that_drift(is_restarted: bool, tenths: int, findings: int) -> None:
    """S18: by as much as links cannot tell; where a process was down, by what its wall clock is off by then, too."""
    evidence = ended(EVENT, PRICED, tenths * H // 10)
    evidence.fault_kinds = frozenset({"drift"})
    if not is_restarted:
        evidence.faults.crashes.clear()
    assert len(time_found(evidence)) == findings


def test_expiry_without_deadline_and_timeout_is_found() -> None:
    """S18: nobody has set a limit; other outcomes need none."""
    assert len(time_found(ended(EVENT, SUBSCRIPTION, 50 * H))) == 1
    assert time_found(ended(EVENT, SUBSCRIPTION, 50 * H, Outcome.UNSUBSCRIBED)) == []


def test_what_was_handed_over_was_not_hopeless() -> None:
    """S18: where only messages are lost, nobody says so of what a subscriber has."""
    trail = trail_of(EVENT, PRICED)
    trail.add(PUBLISHED_US + H, Kind.DELIVER, 3, **deliver())
    at_us, outcome = PUBLISHED_US + 2 * H, Outcome.HOPELESS
    trail.add(at_us, Kind.OUTCOME, 0, event=EVENT.id, subscription=SUBSCRIPTION.id, outcome=outcome)
    evidence = evidence_of(trail)
    assert time_found(evidence) == [], "an owner that took over may not know"
    evidence.fault_kinds = frozenset({"loss"})
    assert time_found(evidence) == ["ended as hopeless, though it was handed over"]


@pytest.mark.parametrize(("event", "subscription"), [(EVENT, PRICED), (TIMED, SUBSCRIPTION)])
def test_late_hand_over_is_found(event: Event, subscription: Subscription) -> None:
    """S18: beyond what the wire takes, which no node knows; a process that stood still could not know either."""
    late = handed_over(event, subscription, 7 * H)
    assert (len(time_found(late)), judge(late).late) == (1, 1)
    late.faults.pauses.append(Pause(PUBLISHED_US + 1, PUBLISHED_US + 6 * H, CLUSTER))
    assert time_found(late) == []
    assert time_found(handed_over(event, subscription, 5 * H + 1)) == []


def test_replayed_event_has_no_deadline_but_its_timeout() -> None:
    """Its subscription came later than the event."""
    replayed = msgspec.structs.replace(PRICED, replay=True)
    retained = msgspec.structs.replace(EVENT, retain_us=3600 * H)
    assert time_found(handed_over(retained, replayed, 9 * H)) == []
    assert len(time_found(handed_over(msgspec.structs.replace(retained, timeout_us=5 * H), replayed, 9 * H))) == 1
