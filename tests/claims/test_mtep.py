"""Sentences of the paper MTEP about one queue, each as a claim about our code."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate, Stake, Waiting
from p2psub.queueing.link_queue import LinkQueue
from p2psub.queueing.prospects import prospects_of, success
from p2psub.queueing.slopes import Slopes
from tests.unit.queueing.messages import BEGIN, LINE, after, message, stake


def priority(waiting: Waiting[str], weight: float = 0.4, postponed_us: float = 3_000_000.0) -> int:
    """Of a message now, at the beginning."""
    return Slopes(prospects_of(waiting, LINE), postponed_us, weight).look(0, 0)[0]


def chance(waiting: Waiting[str], link: LinkEstimate = LINE) -> float:
    """That its one stake is reached in time."""
    ((centre_us, stretch, _, _),) = prospects_of(waiting, link)
    return success(centre_us, stretch, BEGIN - waiting.since_us)


def test_the_delay_of_a_way_adds_up_means_and_variances() -> None:
    """MTEP 2.1.2: the delays of the links are independent and normal."""
    over_three = message("x", Stake(after(12.0), 1, 0, 2 * LINE.mean_us_per_kb, 2 * LINE.deviation_us_per_kb**2))
    deviations = (12.0 - 3 * 3.0) / math.sqrt(3 * 1.0**2)
    assert chance(over_three) == pytest.approx((1 + math.erf(deviations / math.sqrt(2))) / 2)


def test_the_smaller_of_timeout_and_deadline_counts() -> None:
    """MTEP (5)."""
    both = message("x", stake(10.0), expires_s=4.0)
    assert chance(both) == chance(message("x", stake(4.0))) < chance(message("x", stake(10.0)))
    assert chance(message("x", stake(4.0), expires_s=10.0)) == chance(message("x", stake(4.0)))


def test_time_that_has_passed_lowers_the_chance_as_time_to_come_does() -> None:
    """MTEP (6) and (7): what counts is their sum, with processing at each hop and the last hop to the subscriber."""
    late = replace(message("x", stake(8.0)), since_us=Micros(BEGIN - 2_000_000))
    assert chance(late) == chance(message("x", stake(8.0)))
    held_up = message("x", replace(stake(8.0), fixed_us=1_000_000))
    assert chance(held_up) == pytest.approx(chance(message("x", stake(7.0))))


@pytest.mark.parametrize("weight", [0.1, 0.4, 0.8])
def test_more_subscriptions_higher_prices_and_higher_penalties_raise_the_priority(weight: float) -> None:
    """MTEP 2.3.3: (2) and (13)."""
    one = priority(message("x", stake(5.0)), weight)
    assert priority(message("x", stake(5.0), stake(5.0)), weight) > one
    assert priority(message("x", stake(5.0, price=2.0)), weight) > one
    assert priority(message("x", stake(5.0, penalty=0.5)), weight) > one


def test_what_is_likely_to_arrive_has_priority_over_what_is_not() -> None:
    """MTEP 2.3.3: a higher chance, a higher priority, for what is as urgent."""
    likely, unlikely = message("x", stake(30.0, hops=1)), message("x", stake(3.5, hops=1))
    assert priority(likely, weight=1.0) > priority(unlikely, weight=1.0)


def test_what_is_urgent_has_the_higher_postponed_cost() -> None:
    """MTEP 2.3.2: what can wait loses nothing by it, what cannot does, also if it is less likely to arrive."""
    patient, urgent = message("x", stake(60.0, penalty=0.1)), message("x", stake(5.0, penalty=0.1))
    assert chance(urgent) < chance(patient)
    assert priority(patient, weight=0.0) == 0
    assert priority(urgent, weight=0.0) > 500_000


def test_the_weight_moves_the_choice_from_urgent_to_earning() -> None:
    """MTEP 3.3.2: near 0 by postponed cost and penalty, at 1 by expected earning alone."""
    firsts = []
    for weight in (0.0, 1.0):
        queue: LinkQueue[str] = LinkQueue("mtep", LINE, weight=weight)
        queue.push(message("earning", stake(60.0, price=3.0)), BEGIN)
        queue.push(message("urgent", stake(5.0, price=2.0)), BEGIN)
        firsts.append(queue.pop(BEGIN).item)
    assert firsts == ["urgent", "earning"]


def test_an_event_is_deleted_before_its_timeout_if_it_can_reach_no_subscription() -> None:
    """MTEP 2.3.4: so that it takes no bandwidth."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    queue.push(message("x", stake(20.0, hops=5), stake(30.0, hops=5), expires_s=60.0), BEGIN)
    assert queue.expire(after(10.0)) == []
    assert [one.waiting.item for one in queue.expire(after(20.0))] == ["x"]


def test_the_queue_adapts_to_a_change_of_the_network() -> None:
    """MTEP 3.3.1: on a line that became slow, what can still arrive goes before what cannot."""
    queue: LinkQueue[str] = LinkQueue("mtep", LINE)
    queue.push(message("dear", stake(10.0, price=2.0)), BEGIN)
    queue.push(message("patient", stake(60.0, price=1.0)), BEGIN)
    queue.estimate(LinkEstimate(230_000.0, 20_000.0))
    assert queue.pop(BEGIN).item == "patient"
