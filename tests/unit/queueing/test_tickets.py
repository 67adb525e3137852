"""Orders of tickets: what is gone is passed over, and does not pile up."""

from __future__ import annotations

import pytest

from p2psub.queueing.tickets import SWEPT_AT_MIN, Ticket, TicketHeap, TicketLine
from tests.unit.queueing.messages import message


def tickets(count: int) -> list[Ticket[str]]:
    """By their numbers."""
    return [Ticket(message(str(number)), number, is_timeless=False) for number in range(count)]


def test_what_is_gone_is_passed_over() -> None:
    """By a line and by a heap."""
    line: TicketLine[str] = TicketLine()
    heap: TicketHeap[str] = TicketHeap()
    waiting = tickets(4)
    for ticket in waiting:
        line.push(ticket)
        heap.push(ticket.number % 2, ticket)
    waiting[0].is_gone = waiting[3].is_gone = True
    assert line.first() is waiting[1]
    assert [line.pop(), line.pop()] == [waiting[1], waiting[2]]
    assert line.first() is None
    assert heap.pop_until(0) == [waiting[2]]
    assert heap.pop() is waiting[1]
    with pytest.raises(IndexError):
        heap.pop()


def test_a_line_that_nobody_takes_from_is_swept() -> None:
    """A link that is down holds what waits, and not what expired there."""
    line: TicketLine[str] = TicketLine()
    heap: TicketHeap[str] = TicketHeap()
    for number, ticket in enumerate(tickets(5000)):
        line.push(ticket)
        heap.push(number, ticket)
        ticket.is_gone = number % 100 != 0
    assert len(line._line) <= 2 * 50 + SWEPT_AT_MIN
    assert len(heap._heap) <= 2 * 50 + SWEPT_AT_MIN
    assert [line.pop().number for _ in range(50)] == list(range(0, 5000, 100))
    assert [heap.pop().number for _ in range(50)] == list(range(0, 5000, 100))
