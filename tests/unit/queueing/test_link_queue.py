"""The queue of a link: what holds under every policy, and what differs."""

from __future__ import annotations

import pytest

from p2psub.errors import ConfigError
from p2psub.model.reasons import Reason
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.link_queue import LinkQueue
from p2psub.queueing.policy import POLICIES
from tests.unit.queueing.messages import BEGIN, LINE, after, message, stake

FIVE = (
    message("patient", stake(60.0, price=1.0), rank=2),
    message("dear", stake(40.0, price=3.0), rank=1),
    message("soon", stake(20.0, price=1.0), rank=3),
    message("dear too", stake(40.0, price=3.0), rank=3),
    message("timeless", stake(None, price=9.0), rank=5),
)


def order_of(policy: str) -> list[str]:
    """In which order the five leave at one instant."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    for waiting in FIVE:
        queue.push(waiting, BEGIN)
    return [queue.pop(BEGIN).item for _ in range(len(queue))]


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("fcfs", ["patient", "dear", "soon", "dear too", "timeless"]),
        ("fix", ["timeless", "soon", "dear too", "patient", "dear"]),
        ("lrt", ["soon", "dear", "dear too", "patient", "timeless"]),
        ("mtep", ["dear", "dear too", "patient", "soon", "timeless"]),
    ],
)
def test_a_policy_is_an_order(policy: str, order: list[str]) -> None:
    """First come, first served among equals."""
    assert order_of(policy) == order


def test_a_policy_that_does_not_exist_is_refused() -> None:
    """The setting is named."""
    with pytest.raises(ConfigError, match=r"egress.discipline.*'lifo' is none of fcfs, fix, lrt, mtep"):
        LinkQueue("lifo", LINE)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_drops_what_formula_14_drops(policy: str) -> None:
    """What has a chance stays; and what is gone is never handed out."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    queue.push(message("late", stake(20.0)), BEGIN)
    queue.push(message("later", stake(20.0), stake(40.0)), BEGIN)
    queue.push(message("timed out", expires_s=15.0), BEGIN)
    queue.push(message("timeless"), BEGIN)
    assert queue.expire(after(14.0)) == []
    unsent = queue.expire(after(19.0))
    assert [(one.waiting.item, one.reason) for one in unsent] == [
        ("timed out", Reason.EXPIRED),
        ("late", Reason.HOPELESS),
    ]
    assert sorted(queue.pop(after(19.0)).item for _ in range(2)) == ["later", "timeless"]
    assert not queue


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_is_dropped_for_the_experiment_that_drops_nothing(policy: str) -> None:
    """All leave, however late."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE, is_dropping=False)
    for waiting in FIVE:
        queue.push(waiting, BEGIN)
    assert queue.expire(after(1000.0)) == []
    assert sorted(queue.pop(after(1000.0)).item for _ in FIVE) == sorted(waiting.item for waiting in FIVE)


def test_what_looks_hopeless_stays_while_the_estimate_is_not_to_be_trusted() -> None:
    """An idle link sends it, and learns; what is certain goes all the same."""
    queue: LinkQueue[str] = LinkQueue("mtep", LinkEstimate(10_000_000.0, 0.0))
    queue.push(message("slow", stake(20.0)), BEGIN)
    assert queue.expire(after(1.0), by_estimate=False) == []
    assert [one.reason for one in queue.expire(after(20.0), by_estimate=False)] == [Reason.EXPIRED]


def test_a_new_estimate_changes_who_is_hopeless_and_who_is_first() -> None:
    """The slower line cannot take the large message in time."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    queue.push(message("large", stake(20.0, price=3.0)), BEGIN)
    queue.push(message("small", stake(20.0, price=1.0), size_kb=1.0), BEGIN)
    queue.push(message("smaller", stake(20.0, price=0.5), size_kb=1.0), BEGIN)
    queue.estimate(LinkEstimate(600_000.0, 20_000.0))
    assert [one.waiting.item for one in queue.expire(BEGIN)] == ["large"]
    queue.estimate(LINE)
    queue.push(message("large", stake(20.0, price=3.0)), BEGIN)
    assert [queue.pop(BEGIN).item for _ in range(3)] == ["large", "small", "smaller"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_full_queue_gives_up_what_it_would_earn_least_by(policy: str) -> None:
    """By price, penalty and chance; of equals the last come. What no stake speaks for goes first."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    for waiting in (
        message("dear", stake(60.0, price=3.0)),
        message("dear but late", stake(3.5, price=3.0)),
        message("cheap", stake(60.0, price=1.0)),
        message("cheap too", stake(60.0, price=1.0)),
        message("penalized", stake(60.0, price=1.0, penalty=1.0)),
        message("nobody's"),
    ):
        queue.push(waiting, BEGIN)
    given_up = [queue.give_up_least_worth(after(0.5)).item for _ in range(5)]
    assert given_up == ["nobody's", "cheap too", "cheap", "dear but late", "penalized"]
    assert queue.pop(after(0.5)).item == "dear"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_left_one_way_leaves_by_no_other(policy: str) -> None:
    """Each message leaves once, whoever found it."""
    queue: LinkQueue[str] = LinkQueue(policy, LINE)
    left: list[str] = []
    for number in range(300):
        now = after(number * 0.2)
        queue.push(message(str(number), stake(number * 0.2 + 5.0 + number % 7), since_s=number * 0.2), now)
        left += [one.waiting.item for one in queue.expire(now)]
        if number % 3 == 0 and queue:
            left.append(queue.pop(now).item)
        if number % 7 == 0 and queue:
            left.append(queue.give_up_least_worth(now).item)
        assert len(left) + len(queue) == number + 1
    left += [one.waiting.item for one in queue.expire(after(1000.0))]
    assert sorted(left) == sorted(map(str, range(300)))


def test_an_estimate_that_comes_while_nothing_is_pressed_counts_for_what_comes_later() -> None:
    """Nothing is computed for it until then."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    queue.push(message("timeless"), BEGIN)
    queue.estimate(LinkEstimate(600_000.0, 20_000.0))
    assert queue.expire(BEGIN) == []
    queue.push(message("large", stake(20.0)), BEGIN)
    queue.push(message("small", stake(20.0, price=0.5), size_kb=1.0), BEGIN)
    assert queue.pop(BEGIN).item == "small"
    assert [one.waiting.item for one in queue.expire(BEGIN)] == ["large"]
