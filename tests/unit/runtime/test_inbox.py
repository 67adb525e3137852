"""Inputs keep their order; our own side never waits, and those who read sockets wait when there is too much."""

from __future__ import annotations

import trio
import trio.testing

from p2psub.model.effects import Input, LinkLost, Received, Stored
from p2psub.model.instants import Stamp
from p2psub.runtime.inbox import WAITING_MAX, Inbox
from tests.unit.bench import at, node_at


def heard(place: int) -> Received:
    """Something that a peer said."""
    return Received(at(place), [], Stamp(0, 0))


async def test_inputs_come_in_order() -> None:
    """Whoever put them; and each is taken once."""
    inbox = Inbox()
    inbox.put_nowait(Stored(1))
    await inbox.put(heard(2))
    inbox.put_nowait(Stored(3))
    assert inbox.take() == [Stored(1), heard(2), Stored(3)]
    assert inbox.take() == []


async def test_whoever_waits_for_an_input_is_woken(nursery: trio.Nursery) -> None:
    """By the first, also if it is taken away and another comes."""
    inbox, taken = Inbox(), list[Input]()

    @nursery.start_soon
    async def drive() -> None:
        while len(taken) < 3:
            await inbox.wait_any()
            taken.extend(inbox.take())

    for number in range(3):
        await trio.testing.wait_all_tasks_blocked()
        assert len(taken) == number
        inbox.put_nowait(Stored(number))
    await trio.testing.wait_all_tasks_blocked()
    assert taken == [Stored(0), Stored(1), Stored(2)]


async def test_readers_wait_while_there_is_too_much(nursery: trio.Nursery) -> None:
    """And go on when the node has taken what there was; what our own side has to say goes in all the same."""
    inbox = Inbox()
    for _ in range(WAITING_MAX):
        await inbox.put(heard(1))
    for _ in range(3):
        nursery.start_soon(inbox.put, heard(2))
    await trio.testing.wait_all_tasks_blocked()
    inbox.put_nowait(LinkLost(node_at(3)))
    assert inbox.take() == [heard(1)] * WAITING_MAX + [LinkLost(node_at(3))]
    await trio.testing.wait_all_tasks_blocked()
    assert inbox.take() == [heard(2)] * 3


async def test_a_reader_that_is_cancelled_while_it_waits_takes_nobodys_turn(nursery: trio.Nursery) -> None:
    """Its link has ended; the others are woken all the same."""
    inbox = Inbox()
    for _ in range(WAITING_MAX):
        await inbox.put(heard(1))
    scope = trio.CancelScope()

    async def give_up() -> None:
        with scope:
            await inbox.put(heard(2))

    nursery.start_soon(give_up)
    await trio.testing.wait_all_tasks_blocked()
    nursery.start_soon(inbox.put, heard(3))
    await trio.testing.wait_all_tasks_blocked()
    scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    inbox.take()
    await trio.testing.wait_all_tasks_blocked()
    assert inbox.take() == [heard(3)]
