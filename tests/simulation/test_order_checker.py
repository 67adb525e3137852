"""S6 finds an order that was broken in silence, and nothing else: what was told, and what was never promised."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from p2psub.model.content import Event, Guarantee, Order, Subscription
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence
from sims.checkers.judge import judge
from sims.checkers.order import check_order, order_gaps, ordered_pairs
from tests.simulation.trails import SUBSCRIPTION, H, Trail, deliver, evidence_of, node

ORDERED = msgspec.structs.replace(SUBSCRIPTION, id=SUBSCRIPTION.id._replace(sequence=5), order=Order.PUBLISHER)
ALSO_ORDERED = msgspec.structs.replace(ORDERED, id=SUBSCRIPTION.id._replace(sequence=6))


def event(
    sequence: int,
    publisher: int = 4,
    topic: str = "t",
    incarnation: int = 1,
    guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE,
) -> Event:
    """An event of a publisher."""
    return Event(EventId(node(publisher), incarnation, sequence), topic, {}, b"", 0, guarantee)


FIRST, SECOND, THIRD = (event(n) for n in (1, 2, 3))


def told(count: int, subscription: Subscription = ORDERED, reason: Reason = Reason.ORDER) -> dict[str, Any]:
    """The fields of a gap that an application is told."""
    return {"subscription": subscription.id, "count": count, "reason": reason}


def run_of(
    *happenings: Event | dict[str, Any], subscription: Subscription = ORDERED, is_acknowledged: bool = True
) -> Evidence:
    """Events that a subscription gets in this order, and the gaps that it is told between them."""
    trail = Trail()
    for record in (SUBSCRIPTION, ORDERED, ALSO_ORDERED):
        trail.add(11 * H, Kind.SUBSCRIBE, 3, subscription=record.id, subscribed=record)
    for given in [one for one in happenings if isinstance(one, Event)]:
        trail.add(20 * H, Kind.PUBLISH, 4, event=given.id, digest=content_hash(given), published=given)
        if is_acknowledged:
            trail.add(20 * H, Kind.ACKNOWLEDGE, 4, event=given.id, copies=3)
    for one in happenings:
        if isinstance(one, Event):
            trail.add(21 * H, Kind.DELIVER, 3, **deliver(one, subscription))
        else:
            trail.add(21 * H, Kind.GAP, 3, **one)
    return evidence_of(trail)


def calm(evidence: Evidence) -> Evidence:
    """The same in a run that broke nothing but processes."""
    evidence.faults.cuts.clear()
    return evidence


def late(evidence: Evidence) -> list[EventId | None]:
    """The events that S6 finds to be late in silence."""
    return [finding.record.event for finding in check_order(evidence) if finding.record is not None]


def test_order_of_publishing_is_sound() -> None:
    """Also with events left out; and the pairs that were compared are counted, so that no run is vacuous."""
    evidence = run_of(FIRST, THIRD, event(9))
    assert (late(evidence), ordered_pairs(evidence), order_gaps(evidence)) == ([], 2, 0)


def test_swap_without_a_gap_is_found() -> None:
    """The event that comes after a later one of its publisher and topic."""
    assert late(run_of(FIRST, THIRD, SECOND)) == [SECOND.id]
    assert late(run_of(THIRD, FIRST, SECOND)) == [FIRST.id, SECOND.id], "the later one is still the last"
    findings = [finding for finding in judge(run_of(SECOND, FIRST)).findings if finding.invariant == "S6"]
    assert len(findings) == 1


def test_swap_behind_a_gap_that_told_of_it_is_no_violation() -> None:
    """The application knew before the event came."""
    evidence = run_of(FIRST, THIRD, told(1), SECOND)
    assert (late(evidence), order_gaps(evidence)) == ([], 1)


@pytest.mark.parametrize(
    ("happenings", "found"),
    [
        ((FIRST, THIRD, SECOND, told(1)), [SECOND.id]),
        ((THIRD, told(1), FIRST, SECOND), [SECOND.id]),
        ((THIRD, told(2), FIRST, SECOND), []),
        ((THIRD, told(1, ALSO_ORDERED), SECOND), [SECOND.id]),
        ((THIRD, told(1, reason=Reason.SPOOL_FULL), SECOND), [SECOND.id]),
        ((told(1), FIRST, SECOND, event(5), THIRD), []),
    ],
    ids=["told too late", "told of one of two", "told of both", "told another", "told something else", "told early"],
)
def test_gap_excuses_as_many_events_as_it_told_of(
    happenings: tuple[Event | dict[str, Any], ...], found: list[EventId]
) -> None:
    """Of its own subscription, for its own reason, and only what comes after it."""
    assert late(run_of(*happenings)) == found


def test_gap_is_a_violation_where_nothing_was_cut() -> None:
    """It may excuse what a cut did, and nothing else; nor may it tell of events that never come late."""
    assert late(calm(run_of(FIRST, THIRD, told(1), SECOND))) == [SECOND.id]
    untrue = [finding.text for finding in check_order(calm(run_of(FIRST, told(1), SECOND)))]
    assert untrue == ["a gap in the order that no late event follows"]


@pytest.mark.parametrize(("matched", "found"), [(0, []), (1, [SECOND.id])], ids=["owed nothing", "owed"])
def test_what_owed_nothing_at_a_dead_owner_may_come_late_behind_a_gap(matched: int, found: list[EventId]) -> None:
    """The next owner cannot know of it. What was owed left copies."""
    evidence = calm(run_of(FIRST, THIRD, told(1), SECOND))
    trail = Trail()
    trail.add(20 * H, Kind.DISCHARGE, 2, event=SECOND.id, matched=matched)
    evidence.entries.extend(trail.entries)
    assert late(evidence) == found


def test_what_was_never_acknowledged_may_come_late_behind_a_gap() -> None:
    """Its owner may have died with the only copy, and come back with it; in silence it may not."""
    assert late(calm(run_of(FIRST, THIRD, told(1), SECOND, is_acknowledged=False))) == []
    assert late(calm(run_of(FIRST, THIRD, SECOND, is_acknowledged=False))) == [SECOND.id]


@pytest.mark.parametrize(("began", "found"), [(19, [SECOND.id]), (20.5, [])], ids=["live", "past"])
def test_replayed_past_may_come_behind_a_gap_after_newer_events(began: float, found: list[EventId]) -> None:
    """It was published before the subscription that asked for it; what came after that is not its past."""
    replaying = msgspec.structs.replace(ORDERED, id=SUBSCRIPTION.id._replace(sequence=7), replay=True)
    evidence = run_of(FIRST, THIRD, told(1, replaying), SECOND, subscription=replaying)
    trail = Trail()
    trail.add(int(began * H), Kind.SUBSCRIBE, 3, subscription=replaying.id, subscribed=replaying)
    evidence.entries[:0] = trail.entries
    assert late(calm(evidence)) == found


@pytest.mark.parametrize(
    "other",
    [event(1, publisher=2), event(1, topic="u"), event(1, guarantee=Guarantee.AT_MOST_ONCE)],
    ids=["another publisher", "another topic", "without promise"],
)
def test_what_is_not_in_one_line_is_not_compared(other: Event) -> None:
    """Order is promised for the promised events of each publisher on each topic."""
    evidence = run_of(SECOND, other, THIRD)
    assert (late(evidence), ordered_pairs(evidence)) == ([], 1)


def test_later_start_of_a_publisher_is_later() -> None:
    """Whatever its numbers: an event of the start before comes late after it."""
    again = event(1, incarnation=2)
    assert late(run_of(SECOND, again)) == []
    assert late(run_of(again, SECOND)) == [SECOND.id]


def test_subscription_that_asked_for_no_order_gets_none() -> None:
    """Nor do two subscriptions have one order together."""
    evidence = run_of(SECOND, FIRST, subscription=SUBSCRIPTION)
    assert (late(evidence), ordered_pairs(evidence)) == ([], 0)
    both = run_of(FIRST, SECOND)
    swapped = [(at_us, record) for at_us, record in both.entries if record.kind is not Kind.DELIVER]
    trail = Trail()
    trail.add(21 * H, Kind.DELIVER, 3, **deliver(SECOND, ORDERED))
    trail.add(22 * H, Kind.DELIVER, 3, **deliver(FIRST, ALSO_ORDERED))
    trail.entries[:0] = swapped
    assert late(evidence_of(trail)) == []
