"""The checker of books passes a sound run, and finds what is planted: a pair that counts twice, never or wrongly."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from p2psub.model.bids import PRICE_ONE, Bid
from p2psub.model.books import BookSums, SubscriptionBooks
from p2psub.model.content import Guarantee
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.books import Earnings
from sims.checkers.evidence import Evidence
from sims.checkers.judge import judge
from tests.simulation.trails import (
    EVENT,
    SUBSCRIPTION,
    H,
    Trail,
    deliver,
    evidence_of,
)
from tests.simulation.trails import sound_trail as default_trail

NAMES: dict[str, Any] = {"event": EVENT.id, "subscription": SUBSCRIPTION.id}
PRICE, PENALTY = 3 * PRICE_ONE, 7
PRICED = msgspec.structs.replace(SUBSCRIPTION, bid=Bid(5 * H, PRICE, PENALTY))
PROMISED, ONCE = Guarantee.EFFECTIVELY_ONCE, Guarantee.AT_MOST_ONCE
LATE_US = 26 * H
EARNED = BookSums(1, PRICE, 0, {})
LOST = BookSums(0, 0, PENALTY, {Reason.DEADLINE: 1})
EXPIRED: dict[str, Any] = {"outcome": Outcome.EXPIRED, "reason": Reason.DEADLINE, "earned": -PENALTY}


def priced_trail() -> Trail:
    """A subscription that bids, and an event that is owed to it."""
    trail = default_trail(without=(Kind.DELIVER, Kind.OUTCOME, Kind.DISCHARGE))
    trail.entries = [
        (at_us, msgspec.structs.replace(record, subscribed=PRICED) if record.kind is Kind.SUBSCRIBE else record)
        for at_us, record in trail.entries
    ]
    return trail


def delivered(**outcome: Any) -> Trail:
    """The event is handed over in time; `outcome` changes what its owner says."""
    trail = priced_trail()
    trail.add(20 * H + 6, Kind.DELIVER, 3, **deliver(), earned=PRICE)
    trail.add(20 * H + 7, Kind.OUTCOME, 0, **{**NAMES, "outcome": Outcome.DELIVERED, "earned": PRICE, **outcome})
    trail.add(20 * H + 8, Kind.DISCHARGE, 0, event=EVENT.id)
    return trail


def expired(**outcome: Any) -> Trail:
    """The event comes too late; `outcome` changes what its owner says."""
    trail = priced_trail()
    trail.add(LATE_US, Kind.OUTCOME, 0, **{**NAMES, **EXPIRED, **outcome})
    trail.add(LATE_US + 1, Kind.DISCHARGE, 0, event=EVENT.id)
    return trail


def told(trail: Trail, books: BookSums) -> Evidence:
    """The owner tells its trace these sums, and its status agrees with them."""
    trail.add(30 * H, Kind.BOOKS, 0, guarantee=PROMISED, books=books)
    return ending(trail, 0, books)


def ending(trail: Trail, who: int, books: BookSums, guarantee: Guarantee = PROMISED) -> Evidence:
    """A run at whose end one node says that its books are these."""
    evidence = evidence_of(trail)
    evidence.at_end[0] = msgspec.structs.replace(evidence.at_end[0], promised_books=EARNED)
    if guarantee is PROMISED:
        evidence.at_end[who] = msgspec.structs.replace(evidence.at_end[who], promised_books=books)
    else:
        evidence.at_end[who] = msgspec.structs.replace(evidence.at_end[who], at_most_once_books=books)
    return evidence


def wrong(evidence: Evidence) -> list[str]:
    """What is found about books."""
    return [finding.text for finding in judge(evidence).findings if finding.invariant == "S19"]


def test_true_books_are_sound() -> None:
    """Of a pair that was handed over, and of one that expired."""
    assert judge(told(delivered(), EARNED)).findings == []
    assert judge(told(expired(), LOST)).findings == []


@pytest.mark.parametrize(
    "books",
    [
        BookSums(2, 2 * PRICE, 0, {}),
        BookSums(0, 0, 0, {}),
        BookSums(1, PRICE - 1, 0, {}),
        BookSums(1, PRICE, 0, {Reason.DEADLINE: 1}),
    ],
)
def test_books_that_are_not_the_sum_of_pairs_are_found(books: BookSums) -> None:
    """S19: a pair counts twice, or never, or wrongly; seen in the trace, and in what the node says at the end."""
    assert len(wrong(told(delivered(), books))) == 2


def test_pair_that_a_process_settles_twice_counts_once() -> None:
    """S19: also where both times are recorded; but an event that two owners stored has two names, and is owed twice."""
    trail = delivered()
    trail.add(20 * H + 9, Kind.OUTCOME, 0, **NAMES, outcome=Outcome.DELIVERED, earned=PRICE)
    twice = BookSums(2, 2 * PRICE, 0, {})
    assert len(wrong(told(trail, twice))) == 2
    stored_again = delivered()
    stored_again.add(20 * H + 5, Kind.STORE, 1, event=EVENT.id, vector=(), matched=1)
    stored_again.add(20 * H + 9, Kind.OUTCOME, 0, **NAMES, outcome=Outcome.DELIVERED, earned=PRICE)
    assert wrong(told(stored_again, twice)) == []


def test_amount_that_is_not_what_the_subscription_bids_is_found() -> None:
    """S19: a price or a penalty of the owner's own."""
    assert len(wrong(told(delivered(earned=2 * PRICE), EARNED))) == 1
    assert len(wrong(told(delivered(earned=None), EARNED))) == 1
    assert len(wrong(told(expired(earned=None), LOST))) == 1


def test_full_channel_excuses() -> None:
    """The pair counts as expired, and costs nothing."""
    free = BookSums(0, 0, 0, {Reason.CHANNEL_FULL: 1})
    assert wrong(told(expired(reason=Reason.CHANNEL_FULL, earned=None), free)) == []
    assert wrong(told(expired(reason=Reason.CHANNEL_FULL), free)) != []


def test_books_of_one_subscription_are_its_pairs() -> None:
    """S19: the sums of all may be right where those of one are not."""
    evidence = told(delivered(), EARNED)
    mine = SubscriptionBooks(SUBSCRIPTION.id, PROMISED, EARNED)
    evidence.at_end[0] = msgspec.structs.replace(evidence.at_end[0], subscription_books=(mine,))
    assert wrong(evidence) == []
    other = SubscriptionBooks(SUBSCRIPTION.id._replace(sequence=9), PROMISED, EARNED)
    evidence.at_end[0] = msgspec.structs.replace(evidence.at_end[0], subscription_books=(other,))
    assert len(wrong(evidence)) == 1


def test_subscriber_books_what_promises_nothing() -> None:
    """By its hand-overs and by its late drops, which count and name no event."""
    trail = delivered()
    trail.add(29 * H, Kind.DROP, 3, subscription=SUBSCRIPTION.id, reason=Reason.EXPIRED, count=2, earned=-PENALTY)
    trail.add(30 * H, Kind.BOOKS, 0, guarantee=PROMISED, books=EARNED)
    right = BookSums(0, 0, 2 * PENALTY, {Reason.DEADLINE: 2})
    assert wrong(ending(trail, 3, right, ONCE)) == []
    assert len(wrong(ending(trail, 3, BookSums(0, 0, PENALTY, {Reason.DEADLINE: 1}), ONCE))) == 1


def test_failover_doubles_nothing_in_the_figures() -> None:
    """Two owners settle the pair, each in its own books; by pairs it earned once, and what was handed over counts."""
    trail = delivered()
    trail.add(LATE_US, Kind.OUTCOME, 1, **NAMES, **EXPIRED)
    assert judge(evidence_of(trail)).earnings == Earnings(on_time=1, hopeless=0, earned=PRICE, penalties=0)
    trail = expired()
    trail.add(LATE_US + 5, Kind.OUTCOME, 1, **NAMES, **(EXPIRED | {"outcome": Outcome.HOPELESS}))
    assert judge(evidence_of(trail)).earnings == Earnings(on_time=0, hopeless=1, earned=0, penalties=PENALTY)
