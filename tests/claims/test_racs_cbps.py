"""Figures of the paper RacsCBPS about what advertisements add up to, each as a claim about our code."""

from __future__ import annotations

from tests.unit.admission.offers import Offers, events_per_s

DEU = "name = 'DEU'"
# Own rates, each of one publisher; what the figures print besides is what they add up to.
BEFORE_4A = {"price > 0": 4, "price > 5": 9, f"price > 3 AND {DEU}": 4}
BEFORE_4B = {"price > 5": 5, "price > 9": 4, f"price > 3 AND {DEU}": 4, f"price > 8 AND {DEU}": 11}
BEFORE_4C = {**BEFORE_4B, "price > 0": 4}
AFTER_4C = {**BEFORE_4C, f"price > 7 AND {DEU}": 3}


def test_figure_4a_a_filter_that_is_advertised_again() -> None:
    """It and what covers it have the new rate in addition, and one publisher more."""
    offers = Offers(BEFORE_4A)
    assert offers.printed() == {"price > 0": (17, 3), "price > 5": (9, 1), f"price > 3 AND {DEU}": (4, 1)}
    offers.advertise("price > 5", 3)
    assert offers.printed() == {"price > 0": (20, 4), "price > 5": (12, 2), f"price > 3 AND {DEU}": (4, 1)}


def test_figure_4b_a_new_filter_adds_up_what_it_covers_each_once() -> None:
    """`price>8, name=DEU` is covered in two ways: 4 + 20 + 15 - 11 = 28, and 1 + 3 + 2 - 1 = 5."""
    offers = Offers(BEFORE_4B)
    below = {
        "price > 5": (20, 3),
        "price > 9": (4, 1),
        f"price > 3 AND {DEU}": (15, 2),
        f"price > 8 AND {DEU}": (11, 1),
    }
    assert offers.printed() == below
    offers.advertise("price > 0", 4)
    assert offers.printed() == {**below, "price > 0": (28, 5)}


def test_figure_4c_what_covers_a_new_filter_has_its_rate_in_addition() -> None:
    """The figure prints 39 at `price>0`. The rule of 3.2 gives 28 + 3 = 31, as figure 5 prints for the same graph."""
    offers = Offers(BEFORE_4C)
    offers.advertise(f"price > 7 AND {DEU}", 3)
    assert offers.printed() == {
        "price > 0": (31, 6),
        "price > 5": (23, 4),
        "price > 9": (4, 1),
        f"price > 3 AND {DEU}": (18, 3),
        f"price > 7 AND {DEU}": (14, 2),
        f"price > 8 AND {DEU}": (11, 1),
    }


def test_figure_5_what_a_new_subscription_demands() -> None:
    """At least 18 and at most 31, of 3 to 6 publishers: by the paper's reading and by ours: all here may meet it."""
    offers = Offers(AFTER_4C)
    assert offers.paper_demand(f"price > 2 AND {DEU}") == events_per_s(18, 31, 3, 6)
    assert offers.demand(f"price > 2 AND {DEU}") == events_per_s(18, 31, 3, 6)


def test_a_subscription_with_an_advertised_filter_demands_what_stands_there() -> None:
    """RacsCBPS 3.4 (a). By our reading more may come, from what merely meets the filter."""
    offers = Offers(AFTER_4C)
    assert offers.paper_demand("price > 5") == events_per_s(23, 23, 4, 4)
    assert offers.demand("price > 5") == events_per_s(23, 31, 4, 6)


def test_theorem_1_forgets_what_merely_meets() -> None:
    """Events of `size>0` may satisfy the subscription, and formula (1) leaves their rate out."""
    offers = Offers({"price > 1": 2, "price > 9": 1, "size > 0": 100})
    assert offers.paper_demand("price > 5") == events_per_s(1, 3, 1, 2)
    assert offers.demand("price > 5") == events_per_s(1, 103, 1, 3)


def test_what_is_covered_in_many_ways_counts_once_at_any_depth() -> None:
    """The term of 3.2 for what is counted twice looks one level down, and would say 7 of these six at the top."""
    offers = Offers({"a > 2 AND b > 2": 1, "a > 2": 1, "b > 2": 1, "a > 1": 1, "b > 1": 1, "": 1})
    assert offers.printed()[""] == (6, 6)


def test_a_filter_leaves_with_its_own_last_advertisement() -> None:
    """RacsCBPS 3.3 asks for the count, which has those of covered filters in it; what is left is what was before."""
    offers = Offers(AFTER_4C)
    offers.withdraw(f"price > 7 AND {DEU}")
    before = Offers(BEFORE_4C)
    assert offers.printed() == before.printed()
    assert offers.children() == before.children()
