"""The ledger: who pays once, what is left, and what would not fit."""

from __future__ import annotations

from p2psub.admission.ledger import Ledger
from p2psub.model.charges import Charge, Shortage

ROOM = {"here": 100, "there": 40}


def charge(payer: str, amount: int, *resources: str) -> Charge[str]:
    """What a payer owes at these resources."""
    return Charge(payer, amount, resources)


def test_a_payer_pays_once_at_each_resource() -> None:
    """From its first charge there until its last is struck."""
    ledger = Ledger(ROOM)
    near, far = charge("a", 30, "here"), charge("a", 30, "here", "there")
    ledger.enter(near)
    ledger.enter(far)
    assert ledger.reserved() == {"here": 30, "there": 30}
    ledger.strike(near)
    assert ledger.reserved() == {"here": 30, "there": 30}
    ledger.strike(far)
    assert ledger.reserved() == {}


def test_payers_pay_apart() -> None:
    """What one leaves is what the other had reserved."""
    ledger = Ledger(ROOM)
    for one in (charge("a", 30, "here"), charge("b", 25, "here")):
        ledger.enter(one)
    assert ledger.reserved() == {"here": 55}
    ledger.strike(charge("a", 30, "here"))
    assert ledger.reserved() == {"here": 25}


def test_what_does_not_fit_is_told_with_the_worst_first() -> None:
    """By how much is missing. Nothing is entered by asking."""
    ledger = Ledger(ROOM)
    ledger.enter(charge("a", 30, "here", "there"))
    asked = [charge("b", 50, "here", "there"), charge("c", 25, "here")]
    assert ledger.would_exceed(asked) == [Shortage("there", 50, 10), Shortage("here", 75, 70)]
    assert ledger.reserved() == {"here": 30, "there": 30}


def test_room_can_be_used_up_and_no_more() -> None:
    """What is left is enough for as much."""
    ledger = Ledger(ROOM)
    ledger.enter(charge("a", 60, "here"))
    assert ledger.would_exceed([charge("b", 40, "here")]) == []
    assert ledger.would_exceed([charge("b", 41, "here")]) == [Shortage("here", 41, 40)]


def test_who_pays_already_or_nothing_needs_no_room() -> None:
    """Not even where more is reserved than there is; others are refused there by all that is missing."""
    ledger = Ledger(ROOM)
    ledger.enter(charge("a", 60, "there"))
    assert ledger.would_exceed([charge("a", 60, "there")]) == []
    assert ledger.would_exceed([charge("c", 0, "there")]) == []
    assert ledger.would_exceed([charge("b", 1, "there")]) == [Shortage("there", 1, -20)]


def test_one_payer_with_two_charges_is_asked_for_once() -> None:
    """Where their resources overlap."""
    asked = [charge("a", 30, "here", "there"), charge("a", 30, "there")]
    assert Ledger(ROOM).would_exceed(asked) == []


def test_capacities_may_change_and_what_has_none_is_not_limited() -> None:
    """The ledger looks them up when it is asked."""
    capacities = dict(ROOM)
    ledger = Ledger(capacities)
    ledger.enter(charge("a", 60, "here", "anywhere"))
    capacities["here"] = 50
    assert ledger.would_exceed([charge("b", 5, "here", "anywhere")]) == [Shortage("here", 5, -10)]
