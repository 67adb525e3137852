"""Who has proved nothing holds a place for a while, and gives way to newer ones; what goes wrong with it ends there."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from p2psub.errors import PeerFault
from p2psub.runtime.strangers import Strangers


def stumble(error: Exception) -> None:
    """Fail."""
    raise error


class Door:
    """Strangers with room for two, and who of them was turned away."""

    def __init__(self) -> None:
        self.strangers = Strangers(room=2)
        self.away: list[str] = []

    async def stand(self, name: str, *, seconds: float = 5.0) -> None:
        """Hold a place without proving anything."""
        with self.strangers.admit(seconds):
            await trio.Event().wait()
        self.away.append(name)


async def test_the_oldest_gives_way(nursery: trio.Nursery) -> None:
    """So a newcomer always has a place, and there are never more than there is room for."""
    door = Door()
    for name in "abcd":
        nursery.start_soon(door.stand, name)
        await trio.testing.wait_all_tasks_blocked()
        assert len(door.strangers) <= 2
    assert door.away == ["a", "b"]
    assert door.strangers.refused == 2
    nursery.cancel_scope.cancel()


async def test_time_runs_out(autojump_clock: trio.testing.MockClock) -> None:
    """Also if nobody else comes; then the place is free again."""
    door = Door()
    await door.stand("slow", seconds=3.0)
    assert trio.current_time() == pytest.approx(3.0)
    assert (door.away, door.strangers.refused, len(door.strangers)) == (["slow"], 1, 0)


async def test_who_proves_itself_is_a_stranger_no_more(nursery: trio.Nursery) -> None:
    """Its place is free, and nobody after it can push it out."""
    door, is_known = Door(), False
    with door.strangers.admit(5.0):
        await trio.lowlevel.checkpoint()
        is_known = True
    assert (is_known, len(door.strangers), door.strangers.refused) == (True, 0, 0)
    for name in "abc":
        nursery.start_soon(door.stand, name)
    await trio.testing.wait_all_tasks_blocked()
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("error", [PeerFault("x"), OSError("x"), trio.BrokenResourceError("x"), ZeroDivisionError("x")])
async def test_what_goes_wrong_with_one_ends_there(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """It is counted and logged; what we did not foresee is logged as ours to look at."""
    door = Door()
    with caplog.at_level(logging.INFO), door.strangers.admit(5.0):
        stumble(error)
    assert door.strangers.refused == 1
    (record,) = caplog.records
    assert (record.levelno == logging.ERROR) == isinstance(error, ZeroDivisionError)


async def test_being_stopped_is_no_refusal(nursery: trio.Nursery) -> None:
    """Whoever cancels us from outside wants us to end."""
    door = Door()
    with trio.CancelScope() as scope:
        scope.cancel()
        await door.stand("a")
    assert scope.cancelled_caught
    assert (door.away, door.strangers.refused, len(door.strangers)) == ([], 0, 0)
