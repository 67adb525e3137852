"""Content without deadline or timeout: behind what time presses, and not for ever."""

from __future__ import annotations

import pytest

from p2psub.queueing.link_queue import LinkQueue
from tests.unit.queueing.messages import BEGIN, LINE, after, message, stake


@pytest.mark.parametrize("policy", ["fcfs", "lrt", "mtep"])
def test_without_any_deadline_a_queue_is_a_line(policy: str) -> None:
    """Prices order nothing where nothing is late."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    for number in range(20):
        queue.push(message(str(number), stake(None, price=number % 3)), BEGIN)
    assert [queue.pop(BEGIN).item for _ in range(20)] == [str(number) for number in range(20)]


@pytest.mark.parametrize("policy", ["lrt", "mtep"])
def test_it_waits_behind_what_is_pressed_for_a_minute_and_then_has_a_quarter_of_the_link(policy: str) -> None:
    """However much of both comes."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    for _ in range(30):
        queue.push(message("timeless"), BEGIN)
    left: list[str] = []
    for number in range(60):
        now = after(3.0 * number)
        queue.push(message("pressed", stake(3.0 * number + 60.0), since_s=3.0 * number), now)
        left.append(queue.pop(now).item)
    assert left[:20] == ["pressed"] * 20
    assert left[20:] == ["timeless", "pressed", "pressed", "pressed"] * 10


@pytest.mark.parametrize("policy", ["lrt", "mtep"])
def test_its_share_is_counted_in_bytes(policy: str) -> None:
    """A large one lets thrice its bytes pass, however many messages these are."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    for name in ("first", "second"):
        queue.push(message(name, size_kb=40.0), BEGIN)
    for number in range(20):
        queue.push(message(str(number), stake(300.0), size_kb=10.0), BEGIN)
    left = [queue.pop(after(60.0)).item for _ in range(len(queue))]
    assert left == ["first", *map(str, range(12)), "second", *map(str, range(12, 20))]


def test_what_goes_while_nothing_is_pressed_owes_nothing() -> None:
    """The link was free."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    for name in ("first", "second"):
        queue.push(message(name), BEGIN)
    assert queue.pop(after(60.0)).item == "first"
    queue.push(message("pressed", stake(120.0), since_s=60.0), after(60.0))
    assert [queue.pop(after(60.0)).item for _ in range(2)] == ["second", "pressed"]


def test_a_timeout_presses_too() -> None:
    """What may come at any age until the publisher's timeout is not timeless."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    queue.push(message("timeless"), BEGIN)
    queue.push(message("expires", stake(None), expires_s=30.0), BEGIN)
    assert queue.pop(BEGIN).item == "expires"


def test_a_pair_without_deadline_waits_no_longer_because_others_have_one() -> None:
    """One message for both: what others bid never lets it go by its priority, so it has its turn like any other."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    queue.push(message("both", stake(5.0, price=0.1), stake(None)), BEGIN)
    queue.push(message("timeless"), BEGIN)
    left: list[str] = []
    for number in range(40):
        now = after(3.0 * number)
        queue.push(message("dear", stake(3.0 * number + 60.0, price=5.0), since_s=3.0 * number), now)
        left.append(queue.pop(now).item)
    assert left[:20] == ["dear"] * 20
    assert left[20:25] == ["both", "dear", "dear", "dear", "timeless"]
    assert set(left[25:]) == {"dear"}
