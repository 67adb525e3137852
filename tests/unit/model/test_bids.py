"""Bids on the wire."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.bids import DEADLINE_US_MAX, PRICE_MAX, PRICE_ONE, Bid, BidSum, sum_bids


def test_a_bid_that_nobody_made_presses_nobody() -> None:
    """No deadline, price 1, penalty 0."""
    assert Bid() == Bid(deadline_us=0, price=PRICE_ONE, penalty=0)


@pytest.mark.parametrize(
    "bid",
    [(-1, 0, 0), (DEADLINE_US_MAX + 1, 0, 0), (0, -1, 0), (0, PRICE_MAX + 1, 0), (0, 0, -1), (0, 0, PRICE_MAX + 1)],
)
def test_a_bid_beyond_its_caps_is_not_decoded(bid: tuple[int, int, int]) -> None:
    """Whatever a peer sends."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(bid), type=Bid)


def test_the_dearest_bids_of_a_million_pairs_add_up_in_63_bits() -> None:
    """So sums travel as ints."""
    assert 1_000_000 * (2 * PRICE_MAX) < 1 << 63


def test_a_sum_that_a_liar_makes_too_large_can_still_be_told() -> None:
    """What is owed is what other members say: a message with it must be one that every peer decodes."""
    dearest = Bid(0, PRICE_MAX, PRICE_MAX)
    (total,) = sum_bids(0, [(dearest, 256)] * 100_000)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(total), type=BidSum) == total
    assert total.pairs == 25_600_000
