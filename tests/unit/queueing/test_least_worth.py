"""What a full queue gives up."""

from __future__ import annotations

from p2psub.queueing.link_queue import LinkQueue
from tests.unit.queueing.messages import BEGIN, LINE, after, message, stake


def test_of_a_long_full_queue_each_given_up_is_the_least_of_all() -> None:
    """Also of what came since all were weighed, and when more go than one weighing remembers."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    prices = {str(number): (number * 37) % 211 for number in range(200)}
    for name, price in prices.items():
        queue.push(message(name, stake(600.0, price=price)), BEGIN)
    for number in range(200):
        name = f"new {number}"
        prices[name] = (number * 53) % 199
        queue.push(message(name, stake(600.0, price=prices[name])), after(number * 0.001))
        given_up = queue.give_up_least_worth(after(number * 0.001)).item
        assert prices[given_up] == min(prices.values())
        del prices[given_up]
    assert len(queue) == len(prices) == 200


def test_worth_falls_with_the_chance() -> None:
    """A second later all are weighed anew."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    for number in range(70):
        queue.push(message(f"dear {number}", stake(12.0, price=2.0)), BEGIN)
        queue.push(message(f"cheap {number}", stake(600.0, price=1.0)), BEGIN)
    assert queue.give_up_least_worth(BEGIN).item == "cheap 69"
    assert queue.give_up_least_worth(after(11.0)).item == "dear 69"
