"""What a filter demands: bounds on the peak rate of its events, and on the number of their publishers."""

from __future__ import annotations

from p2psub.model.content import RATE_MAX
from p2psub.model.rates import RATE_SUM_MAX, Demand
from tests.unit.admission.offers import Offers, events_per_s

QUOTES = {"topic = 'quotes'": 10, "topic = 'quotes' AND price > 5": 3, "topic = 'news'": 100, "price > 7": 1}


def test_what_is_covered_is_the_least_and_what_may_meet_the_most() -> None:
    """Ours adds up; the paper's takes the largest of what is covered, and the least of what covers."""
    offers = Offers(QUOTES)
    assert offers.demand("topic = 'quotes' AND price > 3") == events_per_s(3, 14, 1, 3)
    assert offers.demand("topic = 'quotes'") == events_per_s(13, 14, 2, 3)
    assert offers.demand("topic = 'weather'") == events_per_s(0, 1, 0, 1)
    assert offers.demand("") == events_per_s(114, 114, 4, 4)
    assert offers.paper_demand("topic = 'quotes' AND price > 3") == events_per_s(3, 13, 1, 2)


def test_several_advertisements_of_one_publisher_are_one_publisher() -> None:
    """Their rates add up. The paper counts advertisements."""
    offers = Offers({})
    for text in ("a > 1", "a > 2", "b > 1"):
        offers.advertise(text, 5, publisher=7)
    assert offers.demand("a > 0") == events_per_s(10, 15, 1, 1)
    assert offers.paper_demand("a > 0") == events_per_s(10, 15, 2, 3)


def test_the_paper_adds_nothing_up() -> None:
    """Of two that are covered side by side it takes the larger; where nothing covers, we let all stand for it."""
    offers = Offers({"a = 1": 5, "a = 2": 3, "b = 1": 1})
    assert offers.demand("a > 0") == events_per_s(8, 9, 2, 3)
    assert offers.paper_demand("a > 0") == events_per_s(5, 9, 1, 3)


def test_nothing_is_demanded_where_nothing_is_offered_or_wanted() -> None:
    """Neither by a filter that no event can satisfy."""
    nothing = Demand(0, 0, 0, 0)
    assert Offers({}).demand("a > 1") == Offers({}).paper_demand("a > 1") == nothing
    assert Offers(QUOTES).demand("a > 1 AND a < 1") == nothing


def test_a_demand_can_be_said_whatever_is_advertised() -> None:
    """Sums stop at what a message can say."""
    offers = Offers({})
    for number in range(10_000):
        offers.advertise("a = 1", RATE_MAX, publisher=number % 200)
    assert offers.demand("") == Demand(RATE_SUM_MAX, RATE_SUM_MAX, 200, 200)
    assert offers.paper_demand("a = 1") == Demand(RATE_SUM_MAX, RATE_SUM_MAX, 10_000, 10_000)
