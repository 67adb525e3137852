"""Reservations: what each reading charges, at which resource, and what is left when somebody goes."""

from __future__ import annotations

import pytest

from p2psub.matching.language import parse_filter
from p2psub.model.charges import Shortage
from tests.unit.admission.reserved import LINE, READINGS, Row, declared


def test_shared_an_advertisement_counts_once_at_each_resource() -> None:
    """However many subscriptions share it; what is only on one's way is charged for that one alone."""
    row = Row("shared")
    row.advertise(0, "a", "topic = 'x'", 20)
    row.subscribe(1, "b", "topic = 'x' AND price > 5")
    row.subscribe(2, "c", "topic = 'x' AND price < 2")
    assert row.reserved() == {"a": 20, "b": 20, "c": 20, "ab": 20, "bc": 20}
    row.unsubscribe(2, "c")
    assert row.reserved() == {"a": 20, "b": 20, "ab": 20}


def test_route_every_subscription_pays_for_itself() -> None:
    """Along its own way, beside what the publisher's node has to do for every event."""
    row = Row("route")
    row.advertise(0, "a", "topic = 'x'", 20)
    row.subscribe(1, "b", "topic = 'x' AND price > 5")
    row.subscribe(2, "c", "topic = 'x' AND price < 2")
    assert row.reserved() == {"a": 60, "b": 40, "c": 20, "ab": 40, "bc": 20}
    row.unsubscribe(1, "b")
    assert row.reserved() == {"a": 40, "b": 20, "c": 20, "ab": 20, "bc": 20}


def test_paper_every_broker_reserves_the_maximal_demand_of_each() -> None:
    """By formula (1): 20 where an advertisement covers the subscription; where none does, all that is advertised."""
    row = Row("paper")
    row.subscribe(1, "b", "topic = 'x' AND price > 5")
    row.advertise(0, "a", "topic = 'x'", 20)
    assert row.reserved() == dict.fromkeys(LINE, 20)
    row.advertise(1, "a", "topic = 'y'", 30)
    row.subscribe(2, "c", "topic = 'z'")
    assert row.reserved() == dict.fromkeys(LINE, 20 + 50)
    row.withdraw(0, "a")
    assert row.reserved() == dict.fromkeys(LINE, 30 + 30)


@pytest.mark.parametrize("reading", READINGS)
def test_nothing_is_left_when_all_are_gone(reading: str) -> None:
    """Whoever goes first."""
    for leaving in ("subscriber", "publisher"):
        row = Row(reading)
        row.advertise(0, "a", "topic = 'x'", 0.1)
        row.subscribe(1, "c", "topic = 'x'")
        if leaving == "subscriber":
            row.unsubscribe(1, "c")
            row.withdraw(0, "a")
        else:
            row.withdraw(0, "a")
            row.unsubscribe(1, "c")
        assert row.reserved() == {}


@pytest.mark.parametrize("reading", ["shared", "route"])
def test_what_cannot_meet_is_not_charged(reading: str) -> None:
    """Neither for its topic, nor for its values, nor if no event satisfies it."""
    row = Row(reading)
    row.advertise(0, "a", "topic = 'x' AND price < 3", 20)
    row.subscribe(1, "b", "topic = 'y'")
    row.subscribe(2, "b", "price > 3")
    row.subscribe(3, "b", "topic = 'x' AND price < 1 AND price > 2")
    assert row.reserved() == {"a": 20}


def test_an_advertisement_that_no_event_can_satisfy_is_not_charged() -> None:
    """Not even at home."""
    row = Row("shared")
    row.subscribe(1, "b", "price > 3")
    row.advertise(0, "a", "price < 1 AND price > 2", 20)
    assert row.reserved() == {}
    row.withdraw(0, "a")


def test_filters_without_a_topic_meet_across_topics() -> None:
    """On either side."""
    row = Row("shared")
    row.advertise(0, "a", "price > 1", 20)
    row.advertise(1, "c", "topic = 'x'", 5)
    row.subscribe(1, "b", "topic = 'x'")
    row.subscribe(2, "d", "price > 2")
    assert row.reserved()["b"] == row.reserved()["c"] == 25
    assert row.reserved()["ab"] == 20


@pytest.mark.parametrize("reading", READINGS)
def test_who_declares_again_is_there_once(reading: str) -> None:
    """With what was said last."""
    row, other = Row(reading), Row(reading)
    for rate, text in ((20, "topic = 'x'"), (7, "topic = 'y'")):
        row.advertise(0, "a", text, rate)
        row.subscribe(1, "c", text)
    other.advertise(0, "a", "topic = 'y'", 7)
    other.subscribe(1, "c", "topic = 'y'")
    assert row.reserved() == other.reserved()


@pytest.mark.parametrize("reading", READINGS)
def test_who_is_not_there_can_go(reading: str) -> None:
    """Nothing changes."""
    row = Row(reading)
    row.unsubscribe(1, "b")
    row.withdraw(0, "a")
    assert row.reserved() == {}


def test_a_subscription_is_short_where_its_way_is_full() -> None:
    """Of the link most of all; a second one to the same node needs nothing there any more."""
    row = Row("shared", a=100, b=25, ab=10)
    row.advertise(0, "a", "topic = 'x'", 30)
    assert row.short(1, "b", "topic = 'x'") == [Shortage("ab", 30, 10), Shortage("b", 30, 25)]
    assert row.reserved() == {"a": 30}
    row.subscribe(1, "b", "topic = 'x'")
    assert row.short(2, "b", "topic = 'x' AND price > 5") == []


def test_an_advertisement_asks_for_what_subscriptions_would_take_of_it() -> None:
    """At its own node and on the ways to all that it may meet; the paper asks nobody."""
    charges = {}
    for reading in READINGS:
        row = Row(reading, b=10)
        row.subscribe(1, "b", "topic = 'x'")
        asked = row.reservations.charges_of_advertisement(declared("a", 0), parse_filter("topic = 'x'"), 20)
        charges[reading] = [one.resources for one in asked]
        assert bool(row.ledger.would_exceed(asked)) is (reading != "paper")
    assert charges == {"shared": [("a",), ("a", "b", "ab")], "route": [("a",), ("a", "b", "ab")], "paper": []}
