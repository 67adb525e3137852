"""What a seed stands for: the same in every process, and what filters and bids say is what pairs are counted by."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.bench.bid_load import TOPIC, BidLoad
from p2psub.matching.language import parse_filter
from p2psub.matching.linear import matches
from p2psub.model.content import Event
from p2psub.model.ids import EventId
from tests.unit.bench import at

LOAD = BidLoad(3, 40.0, 5.0, 16, 100)


def event(number: int) -> Event:
    """One of the load, as a node carries it."""
    return Event(EventId(at(1).id, 1, number + 1), TOPIC, dict(LOAD.events[number].attributes))


def test_whoever_is_told_of_a_load_draws_the_same() -> None:
    """An order carries five numbers."""
    told = msgspec.json.decode(msgspec.json.encode(LOAD), type=BidLoad)
    assert (told.wanted, told.events, told.matched) == (LOAD.wanted, LOAD.events, LOAD.matched)
    assert BidLoad(4, 40.0, 5.0, 16, 100).wanted != LOAD.wanted


def test_pairs_are_those_that_the_filters_match() -> None:
    """By the plainest matcher there is."""
    filters = [parse_filter(wanted.filter) for wanted in LOAD.wanted]
    found = {
        (subscription, number)
        for subscription, wanted in enumerate(filters)
        for number in range(len(LOAD.events))
        if matches(wanted, event(number))
    }
    assert found == LOAD.matched
    assert len(found) == pytest.approx(16 * 200 / 16, rel=0.6)


def test_events_come_at_random_instants_within_the_time() -> None:
    """In the order of their numbers."""
    instants = [event.at_s for event in LOAD.events]
    assert instants == sorted(instants)
    assert (len(instants), instants[0] >= 0.0, instants[-1] < 5.0) == (200, True, True)


def test_who_has_less_time_pays_more() -> None:
    """The bids of the paper, in a tenth of its time; a miss costs a tenth of the price."""
    bids = {wanted.bid for wanted in BidLoad(0, 1.0, 1.0, 200, 1).wanted}
    hurried = sorted(bids, key=lambda bid: bid.deadline_us)
    assert [bid.deadline_us for bid in hurried] == [2_000_000, 2_400_000, 3_000_000, 4_000_000, 6_000_000]
    assert [bid.price for bid in hurried] == sorted((bid.price for bid in hurried), reverse=True)
    assert all(bid.penalty * 10 == bid.price for bid in hurried)
