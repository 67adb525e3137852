"""What is at stake for a message that waits: one stake for each sum of bids, as long as these are not too many."""

from __future__ import annotations

import pytest

from p2psub.model.bids import BidSum
from p2psub.model.ids import ClusterId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.pubsub import Route
from p2psub.model.stakes import Stake, Waiting
from p2psub.model.ways import Way
from p2psub.node.queued import STAKES_MAX, Queued, waiting_of
from tests.unit.bench import event_of, parcel_of

SINCE_US = Micros(1000 * SECOND_US)
AGE_US = Micros(2 * SECOND_US)
FAR = Way(60_000, 400, 5_000)


def waiting(*clusters: tuple[BidSum, ...]) -> Waiting[Queued]:
    """A message to so many clusters, each with these sums."""
    wants = tuple([(ClusterId(f"c{number}"), (), sums) for number, sums in enumerate(clusters)])
    route = Route(1, parcel_of(event_of("x")), AGE_US, wants)
    return waiting_of(Queued(route, route.weight, SINCE_US, None), route, lambda _: FAR)


def sums(count: int, first_s: int = 10) -> tuple[BidSum, ...]:
    """Each with a limit of its own."""
    return tuple([BidSum((first_s + number) * SECOND_US, 3, 2, 1) for number in range(count)])


def due_us(limit_s: int) -> Micros:
    """The first instant at which it is late."""
    return Micros(SINCE_US - AGE_US + limit_s * SECOND_US + 1)


def test_each_sum_is_a_stake_with_the_way_to_its_cluster() -> None:
    """Up to a limit."""
    assert waiting(sums(1), sums(1, 20)).stakes == (
        Stake(due_us(10), 3, 2, 60_000, 400, 5_000, 1),
        Stake(due_us(20), 3, 2, 60_000, 400, 5_000, 1),
    )
    assert len(waiting(sums(STAKES_MAX // 2), sums(STAKES_MAX // 2)).stakes) == STAKES_MAX


@pytest.mark.parametrize("clusters", [[sums(STAKES_MAX + 1)], [sums(1)] * STAKES_MAX + [sums(1, STAKES_MAX + 10)]])
def test_more_sums_count_as_one_that_is_due_with_the_last(clusters: list[tuple[BidSum, ...]]) -> None:
    """What a liar names costs no more than what others bid; and nothing expires before its time."""
    pairs = STAKES_MAX + 1
    assert waiting(*clusters).stakes == (Stake(due_us(STAKES_MAX + 10), 3 * pairs, 2 * pairs, pairs=pairs),)


def test_where_one_of_too_many_has_no_limit_all_together_have_none() -> None:
    """A pair of it may have it whenever it comes."""
    endless = BidSum(0, 3, 2, 1)
    (stake,) = waiting((endless, *sums(STAKES_MAX))).stakes
    assert stake.due_us is None
