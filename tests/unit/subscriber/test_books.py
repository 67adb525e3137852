"""A subscriber's books: what promises nothing counts where it is handed over, or found late."""

from __future__ import annotations

from p2psub.model.bids import Bid
from p2psub.model.books import EMPTY_BOOKS, BookSums
from p2psub.model.content import Guarantee
from p2psub.model.instants import Micros
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from tests.unit.bench import event_of, parcel_of, records_of
from tests.unit.subscriber.subscribers import ID, SubscribingPeer

LIMIT_US = 1_000_000
BID = Bid(LIMIT_US, 3, 2)
ONCE = parcel_of(*[event_of("x", n, guarantee=Guarantee.AT_MOST_ONCE) for n in (1, 2)])


def subscribed(window: int = 100, *, status: VerdictStatus | None = VerdictStatus.STABLE) -> SubscribingPeer:
    """A peer with a subscription that bids."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(window, status=status, bid=BID)
    return subscriber


def test_hand_over_earns_the_price() -> None:
    """Of each event; the trace says so, and how old they were."""
    subscriber = subscribed()
    subscriber.take(ONCE, age_us=7, deadline_us=LIMIT_US)
    books = subscriber.core.books
    assert books.sums() == BookSums(2, 6, 0, {})
    assert [(one.subscription, one.guarantee) for one in books.by_subscription()] == [(ID, Guarantee.AT_MOST_ONCE)]
    (told,) = records_of(subscriber.step, Kind.DELIVER)
    assert (told.run, told.age_us, told.earned, told.guarantee) == (2, 7, 3, Guarantee.AT_MOST_ONCE)


def test_what_comes_late_costs_the_penalty() -> None:
    """The drop says what each of them costs."""
    subscriber = subscribed()
    subscriber.take(ONCE, age_us=LIMIT_US + 1, deadline_us=LIMIT_US)
    assert subscriber.core.books.sums() == BookSums(0, 0, 4, {Reason.DEADLINE: 2})
    (told,) = records_of(subscriber.step, Kind.DROP)
    assert (told.reason, told.count, told.age_us, told.earned) == (Reason.EXPIRED, 2, LIMIT_US + 1, -2)


def test_what_is_held_back_counts_when_the_verdict_is_in() -> None:
    """Late by then, or handed over."""
    subscriber = subscribed(status=None)
    subscriber.take(ONCE, deadline_us=LIMIT_US)
    assert subscriber.core.books.sums() == EMPTY_BOOKS
    subscriber.step.now = Micros(LIMIT_US // 2)
    subscriber.take(parcel_of(event_of("x", 3, guarantee=Guarantee.AT_MOST_ONCE)), deadline_us=LIMIT_US)
    subscriber.step.now = Micros(LIMIT_US + 1)
    subscriber.verdict(VerdictStatus.STABLE)
    assert subscriber.core.books.sums() == BookSums(1, 3, 4, {Reason.DEADLINE: 2})
    assert subscriber.handed_over() == [3]


def test_what_is_promised_is_in_its_owners_books() -> None:
    """A pair is booked at one place; the trace has its age and price at both."""
    subscriber = subscribed()
    subscriber.take(parcel_of(event_of("x", 1)), age_us=5, deadline_us=LIMIT_US)
    assert subscriber.core.books.sums() == EMPTY_BOOKS
    (told,) = records_of(subscriber.step, Kind.DELIVER)
    assert (told.age_us, told.earned, told.guarantee) == (5, 3, None)


def test_what_a_full_channel_kept_out_is_in_no_books() -> None:
    """It is a gap, of which the application is told."""
    subscriber = subscribed(window=1)
    subscriber.take(ONCE, deadline_us=LIMIT_US)
    assert subscriber.core.books.sums() == BookSums(1, 3, 0, {})
