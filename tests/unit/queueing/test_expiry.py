"""When a message is not worth sending any more."""

from __future__ import annotations

from bisect import bisect_left

import pytest

from p2psub.model.instants import Micros
from p2psub.model.reasons import Reason
from p2psub.model.stakes import Stake
from p2psub.queueing.expiry import expires_at
from p2psub.queueing.link_queue import LinkQueue
from p2psub.queueing.prospects import prospects_of, success
from tests.unit.queueing.messages import BEGIN, LINE, after, message, stake


@pytest.mark.parametrize(
    ("waiting", "seconds"),
    [
        (message("no time"), None),
        (message("a timeout", expires_s=30.0), 30.0),
        (message("a deadline", stake(20.0)), 20.0),
        (message("two deadlines", stake(20.0), stake(40.0)), 40.0),
        (message("the timeout is earlier", stake(20.0), stake(40.0), expires_s=30.0), 30.0),
        (message("the timeout is later", stake(20.0), expires_s=30.0), 20.0),
        (message("one may have it whenever", stake(20.0), stake(None)), None),
        (message("one may have it until the timeout", stake(20.0), stake(None), expires_s=30.0), 30.0),
    ],
)
def test_a_message_is_over_with_its_timeout_or_its_last_deadline(waiting: object, seconds: float | None) -> None:
    """The earlier of both, for each pair (5)."""
    assert expires_at(waiting) == (None if seconds is None else after(seconds))  # type: ignore[arg-type]


def test_it_is_hopeless_in_the_microsecond_in_which_its_best_chance_falls_to_epsilon() -> None:
    """Not one earlier, not one later: as if formula 14 were asked in each."""
    waiting = message("x", stake(20.0), stake(40.0, hops=4))
    queue: LinkQueue[str] = LinkQueue("mtep", LINE, epsilon=0.04)
    queue.push(waiting, BEGIN)
    prospects = prospects_of(waiting, LINE)

    def is_hopeless(waited_us: int) -> bool:
        return all(success(centre_us, stretch, waited_us) <= 0.04 for centre_us, stretch, _, _ in prospects)

    first_us = bisect_left(range(40_000_000), True, key=is_hopeless)
    assert 20_000_000 < first_us < 40_000_000
    assert queue.expire(Micros(BEGIN + first_us - 1)) == []
    assert len(queue.expire(Micros(BEGIN + first_us))) == 1


def test_a_way_that_is_said_to_take_for_ever_is_hopeless_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others name the ways: no figure of theirs makes us look for an instant that no float can tell from the next."""
    looks: list[float] = []

    def counted(centre_us: float, stretch: float, waited_us: float) -> float:
        looks.append(waited_us)
        return success(centre_us, stretch, waited_us)

    monkeypatch.setattr("p2psub.queueing.expiry.success", counted)
    for figure in (1 << 62, 1 << 50, 1 << 40):
        queue: LinkQueue[str] = LinkQueue("mtep", LINE)
        endless = Stake(after(20.0), 1, 0, figure, figure, figure)
        queue.push(message("x", endless, size_kb=1_000.0), BEGIN)
        assert [unsent.reason for unsent in queue.expire(BEGIN)] == [Reason.HOPELESS]
    assert len(looks) < 100


def test_the_tickets_of_what_left_do_not_pile_up() -> None:
    """A queue that is always short holds little, whatever has passed through it."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    for number in range(5000):
        now = after(number * 0.1)
        queue.push(message(str(number), stake(number * 0.1 + 60.0), since_s=number * 0.1), now)
        queue.expire(now)
        if number > 10:
            queue.pop(now)
    policy, expiry = queue._policy, queue._expiry
    assert expiry is not None
    held = [expiry._certain._heap, expiry._hopeless._heap, policy._line, policy._ends]  # type: ignore[attr-defined]
    assert len(queue) == 11
    assert max(map(len, held)) <= 200
