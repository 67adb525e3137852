"""A subscriber hands over nothing late: it says `expired`, and knows what it handed over before."""

from __future__ import annotations

import pytest

from p2psub.model.bids import Bid
from p2psub.model.content import Guarantee, Order
from p2psub.model.effects import Notify
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import WindowUpdate
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from tests.unit.bench import bits, effects_of, event_of, parcel_of, records_of, sent_of
from tests.unit.subscriber.subscribers import ID, SubscribingPeer

LIMIT_US = 1_000_000
TWO = parcel_of(event_of("x", 1), event_of("x", 2))
TIMED = parcel_of(event_of("x", 1, timeout_us=LIMIT_US))
ONCE = parcel_of(event_of("x", 1, timeout_us=LIMIT_US, guarantee=Guarantee.AT_MOST_ONCE))


def subscribed(*, status: VerdictStatus | None = VerdictStatus.STABLE, order: Order = Order.NONE) -> SubscribingPeer:
    """A peer with a subscription."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=status, order=order)
    return subscriber


def ended(*said: object) -> list[Outcome]:
    """Outcomes alone."""
    return [one.outcome for one in said]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("age_us", "outcome"), [(LIMIT_US, Outcome.DELIVERED), (LIMIT_US + 1, Outcome.EXPIRED)])
def test_deadline_and_timeout_are_ages(age_us: int, outcome: Outcome) -> None:
    """Up to that age it is handed over."""
    assert ended(*subscribed().take(TWO, age_us=age_us, deadline_us=LIMIT_US)) == [outcome]
    assert ended(*subscribed().take(TIMED, age_us=age_us)) == [outcome]
    assert ended(*subscribed().take(TIMED, age_us=age_us, deadline_us=2 * LIMIT_US)) == [outcome]


def test_late_event_is_dropped_with_a_record() -> None:
    """The trace says why the application did not get it."""
    subscriber = subscribed()
    subscriber.take(TWO, age_us=LIMIT_US + 1, deadline_us=LIMIT_US)
    assert subscriber.handed_over() == []
    (drop,) = records_of(subscriber.step, Kind.DROP)
    assert (drop.event, drop.run, drop.reason) == (TWO.first, 2, Reason.EXPIRED)


def test_what_was_handed_over_in_time_stays_delivered() -> None:
    """A repetition that comes late is answered from memory."""
    subscriber = subscribed()
    subscriber.take(TWO, bits(0), deadline_us=LIMIT_US)
    said = subscriber.take(TWO, age_us=LIMIT_US + 1, deadline_us=LIMIT_US)
    assert [(one.outcome, one.bitmap) for one in said] == [(Outcome.DELIVERED, bits(0)), (Outcome.EXPIRED, bits(1))]


def test_late_event_that_promises_nothing_is_counted() -> None:
    """Nobody is told; the record counts."""
    subscriber = subscribed()
    assert subscriber.take(ONCE, age_us=LIMIT_US + 1) == ()
    (drop,) = records_of(subscriber.step, Kind.DROP)
    assert (subscriber.handed_over(), drop.reason, drop.count) == ([], Reason.EXPIRED, 1)


def test_what_may_become_late_waits_for_the_verdict_at_its_owner() -> None:
    """Held back here it would count as delivered, and might be late by then; with the verdict its owner may go on."""
    subscriber = subscribed(status=None)
    assert ended(*subscriber.take(TIMED)) == [Outcome.DEFERRED]
    subscriber.verdict(VerdictStatus.STABLE)
    ((_, update),) = sent_of(subscriber.step, WindowUpdate)
    assert update.acks[0].room > 0
    assert ended(*subscriber.take(TIMED)) == [Outcome.DELIVERED]


def test_unpromised_event_that_is_late_by_the_verdict_is_dropped() -> None:
    """It was held back; nothing late is handed over."""
    subscriber = subscribed(status=None)
    subscriber.take(ONCE, age_us=1)
    subscriber.step.now = Micros(LIMIT_US)
    subscriber.verdict(VerdictStatus.STABLE)
    assert subscriber.handed_over() == []
    (drop,) = records_of(subscriber.step, Kind.DROP)
    assert drop.reason is Reason.EXPIRED


def test_what_came_before_its_turn_may_be_late_by_then() -> None:
    """An ordered subscription: its age is that of its turn."""
    subscriber = subscribed(order=Order.PUBLISHER)
    first, second = parcel_of(event_of("x", 1)), parcel_of(event_of("x", 2, timeout_us=LIMIT_US))
    subscriber.bring(2, second)
    subscriber.step.now = Micros(LIMIT_US + 1)
    answers = subscriber.bring(1, first)
    assert [ended(*answer.outcomes) for _, answer in answers] == [[Outcome.EXPIRED], [Outcome.DELIVERED]]
    assert subscriber.handed_over() == [1]


def test_application_is_told_when_each_event_was_published_and_how_old_it_may_be() -> None:
    """By the node's own clock; nothing is said of limits where there are none."""
    subscriber = subscribed()
    subscriber.step.now = Micros(100)
    subscriber.take(TIMED, age_us=30)
    subscriber.take(parcel_of(event_of("x", 5)), age_us=40)
    told = [(notify.born_us, notify.limits_us) for notify in effects_of(subscriber.step, Notify)]
    assert told == [([70], [LIMIT_US]), ([60], ())]


def test_bid_is_part_of_the_record() -> None:
    """So every cluster knows it, and it stays for the subscription's life."""
    subscriber = SubscribingPeer()
    bid = Bid(LIMIT_US, 5, 7)
    subscriber.subscribe(bid=bid)
    (known,) = (record.subscribed for record in records_of(subscriber.step, Kind.SUBSCRIBE))
    assert known is not None
    assert (known.id, known.bid) == (ID, bid)
