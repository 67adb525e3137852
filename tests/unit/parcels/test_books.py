"""Books stay small, whatever number of subscriptions they are about."""

from __future__ import annotations

from p2psub.model.bids import NO_BID, PRICE_ONE
from p2psub.model.content import Guarantee
from p2psub.model.ids import SubscriptionId
from p2psub.parcels.books import Books
from tests.unit.bench import node_at, step_at


def test_subscriptions_booked_last_are_shown_and_all_are_counted() -> None:
    """A subscription that is booked again is kept in place of one that was not."""
    books = Books(step_at(64), Guarantee.AT_MOST_ONCE)
    ids = [SubscriptionId(node_at(1), 1, n) for n in range(1025)]
    for id_ in [*ids[:1024], ids[0], ids[1024]]:
        books.hand_over(id_, NO_BID, 1)
    shown = {one.subscription: one.sums.on_time for one in books.by_subscription()}
    assert (len(shown), shown[ids[0]], ids[1] in shown, ids[1024] in shown) == (1024, 2, False, True)
    assert (books.sums().on_time, books.sums().earned) == (1026, 1026 * PRICE_ONE)
