"""Which arrivals are out of order, and when that is known."""

from __future__ import annotations

from p2psub.model.ids import ID_BYTES, EventId, NodeId, Place
from p2psub.soak.arrival_order import ArrivalOrder

PUBLISHER = NodeId(Place(bytes(ID_BYTES)))


def event(sequence: int) -> EventId:
    """The id of the publisher's event of that number."""
    return EventId(PUBLISHER, 1, sequence)


def arrive(order: ArrivalOrder, *sequences: int) -> None:
    """Events arrive in this order; each has the same number in the books as at its peer."""
    for sequence in sequences:
        order.note(sequence, event(sequence))


def test_events_in_their_order_are_not_late() -> None:
    """Numbers may be missing: other topics have them."""
    order = ArrivalOrder(lambda _: True)
    arrive(order, 1, 4, 9)
    assert order.late() == 0


def test_every_event_after_a_later_one_is_late() -> None:
    """However far it was overtaken, once for each arrival."""
    order = ArrivalOrder(lambda _: True)
    arrive(order, 3, 1, 2, 4)
    assert order.late() == 2


def test_an_event_that_nobody_was_promised_overtakes_none() -> None:
    """It may be late itself."""
    order = ArrivalOrder({1: True, 2: True, 3: False, 9: False}.get)
    arrive(order, 9, 1, 2)
    assert order.late() == 0
    order = ArrivalOrder({4: True, 3: False}.get)
    arrive(order, 4, 3)
    assert order.late() == 1


def test_an_arrival_is_judged_when_the_outcome_of_all_before_it_is_known() -> None:
    """An acknowledgement that comes late counts as if it had come at once."""
    promised: dict[int, bool] = {1: True}
    order = ArrivalOrder(promised.get)
    arrive(order, 2, 1)
    assert order.late() == 0
    promised[2] = True
    assert order.late() == 1
    promised = {1: True}
    order = ArrivalOrder(promised.get)
    arrive(order, 2, 1)
    promised[2] = False
    assert order.late() == 0


def test_order_is_that_of_the_publishers_peer() -> None:
    """The books number events as the application calls; two calls at once may be taken in the other order."""
    order = ArrivalOrder(lambda _: True)
    order.note(8, event(1))
    order.note(7, event(2))
    assert order.late() == 0
