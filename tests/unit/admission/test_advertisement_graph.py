"""The graph of advertisements: several parents, equal filters as one, and nothing left behind."""

from __future__ import annotations

from random import Random

from p2psub.matching.language import parse_filter
from p2psub.model.rates import RATE_ONE
from tests.unit.admission.offers import Offers, offer


def test_a_filter_has_all_parents_that_cover_it_directly() -> None:
    """And none that covers it by way of another."""
    offers = Offers({"": 1, "a > 1": 1, "b > 1": 1, "a > 2 AND b > 2": 1, "a > 1 AND b > 1": 1})
    both = {"a > 1 AND b > 1"}
    children = {"": {"a > 1", "b > 1"}, "a > 1": both, "b > 1": both, "a > 1 AND b > 1": {"a > 2 AND b > 2"}}
    assert offers.children() == {**children, "a > 2 AND b > 2": set()}


def test_the_parents_of_a_filter_that_leaves_take_its_children() -> None:
    """Unless they cover them by another way."""
    offers = Offers({"": 1, "a > 1": 1, "b > 1": 1, "a > 1 AND b > 1": 1, "a > 3": 1})
    offers.withdraw("a > 1")
    assert offers.children() == {
        "": {"b > 1", "a > 3"},
        "b > 1": {"a > 1 AND b > 1"},
        "a > 1 AND b > 1": set(),
        "a > 3": set(),
    }


def test_filters_that_cover_each_other_are_one() -> None:
    """However they are written, and whoever of them leaves first."""
    offers = Offers({"a STARTS WITH 'q'": 1, "a >= 'q' AND a < 'r'": 2, "a IN ('qa', 'qb')": 4})
    assert offers.printed() == {"a STARTS WITH 'q'": (7, 3), "a IN ('qa', 'qb')": (4, 1)}
    offers.withdraw("a STARTS WITH 'q'")
    assert offers.printed() == {"a >= 'q' AND a < 'r'": (6, 2), "a IN ('qa', 'qb')": (4, 1)}


def test_an_advertisement_stands_once() -> None:
    """What is told again takes the place of what was told before."""
    offers = Offers({"a > 1": 1})
    for rate in (5, 2.5):
        offers.graph.advertise(offer(0), parse_filter("a > 1"), rate)
    assert offers.printed() == {"a > 1": (2.5, 1)}
    assert len(offers.graph) == 1


def test_an_advertisement_that_no_event_can_satisfy_counts_for_nothing() -> None:
    """Every filter covers it, and none has an event of it."""
    offers = Offers({"a > 1 AND a < 1": 7, "a > 1": 1})
    assert offers.printed() == {"a > 1": (1, 1)}
    offers.withdraw("a > 1 AND a < 1")
    assert len(offers.graph) == 1


def test_sums_are_exact() -> None:
    """Rates that no float can hold add up to what they are, and back to nothing."""
    offers = Offers({"": 1})
    ids = [offers.advertise("a = 1", rate) for rate in (0.1, 0.2, 1e9, 1e-9)]
    top = next(iter(offers.graph))
    assert top.rate == RATE_ONE + 100_000 + 200_000 + 10**15 + 1
    for id_ in ids:
        offers.graph.withdraw(id_)
    assert (top.rate, top.count) == (RATE_ONE, 1)


def test_only_what_may_meet_is_near() -> None:
    """A filter that pins topics is compared with those that pin one of them, or none."""
    offers = Offers({"topic = 'x'": 1, "topic IN ('x', 'y') AND a > 1": 1, "topic = 'y'": 1, "a > 1": 1})
    assert [len(list(offers.graph.near(topics))) for topics in (("x",), ("x", "y"), ("z",), ())] == [3, 4, 1, 4]


def test_what_was_withdrawn_leaves_nothing_behind() -> None:
    """Filters, topics and names go with the last advertisement."""
    texts = ["", "a > 1", "topic = 'x'", "topic = 'x' AND a > 2", "topic IN ('x', 'y')", "a > 2 AND b = 1"]
    offers = Offers(dict.fromkeys(texts, 1))
    for text in Random(5).sample(texts, len(texts)):
        offers.withdraw(text)
    graph = offers.graph
    assert (list(graph), len(graph)) == ([], 0)
    assert not [*graph.near(("x",)), *graph.near(())]
