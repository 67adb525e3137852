"""RacsCBPS 5 as a claim about our code: its setting, and in which direction criteria move what is discarded and used.

The whole of it is what `p2psub sim admission` runs, and docs/experiments/admission.md shows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from p2psub.model.instants import SECOND_US
from p2psub.model.rates import RATE_ONE
from sims.experiments.admission.gate import DemandChoice
from sims.experiments.admission.plan import CRITERIA
from sims.experiments.admission.run import PATIENCE_US
from sims.experiments.admission.trial import (
    AdmissionReading,
    AdmissionResult,
    AdmissionScene,
    AdmissionTrial,
    perform,
    scene_of,
)
from sims.experiments.admission.workload import AdvertisementLife

SEED = 3
READING = AdmissionReading()
FIXED = AdmissionReading(advertisements=AdvertisementLife.FIXED)


def scene(seed: int = SEED, subscribers: int = 100, reading: AdmissionReading = READING) -> AdmissionScene:
    """What all criteria meet in a minute."""
    return scene_of(seed, subscribers, 60.0, reading)


@cache
def result(
    criterion: str, reading: AdmissionReading = READING, demand: DemandChoice = DemandChoice.SHARED
) -> AdmissionResult:
    """What comes of a criterion with a hundred subscribers."""
    return perform(AdmissionTrial(criterion, demand, 100, SEED, reading=reading))


# 5.1, the setting


def test_5_1_fifty_brokers_with_100_to_200_events_a_second_and_links_with_200_to_300() -> None:
    """5.1: the two directions of a link alike; every broker is reached from every other."""
    capacities = {resource: rate / RATE_ONE for resource, rate in scene().net.capacities.items()}
    work = [rate for resource, rate in capacities.items() if resource.broker == resource.towards]
    links = {resource: rate for resource, rate in capacities.items() if resource.broker != resource.towards}
    assert len(work) == 50
    assert all(100 <= rate <= 200 for rate in work)
    assert all(200 <= rate <= 300 for rate in links.values())
    assert all(links[one.towards, one.broker] == rate for one, rate in links.items())  # type: ignore[index]
    assert all(scene().net.way(one, other) for one in range(50) for other in range(50))


def test_5_1_twenty_publishers_publish_20_to_30_events_a_second_a_hundred_times_each() -> None:
    """5.1: advertise, publish a hundred times, withdraw, again and again; never faster than is advertised."""
    workload = scene().workload
    assert len(workload.publishers) == len(workload.rates) == 20
    assert all(20 <= rate <= 30 for rate in workload.rates)
    for publisher, rate in enumerate(workload.rates):
        turns = [turn for turn in workload.turns if turn.publisher == publisher]
        assert all(SECOND_US / turn.interval_us == pytest.approx(rate, rel=1e-3) for turn in turns)
        assert all(SECOND_US / turn.interval_us <= rate for turn in turns)
        assert all(later.begin_us == turn.begin_us + 100 * turn.interval_us for turn, later in pairwise(turns))
    assert result("none").published == pytest.approx(60 * sum(workload.rates), rel=0.01)


def test_5_1_subscribers_subscribe_and_unsubscribe_again_and_again() -> None:
    """5.1: one subscription at a time; and fewer subscribers do what the first of more do."""
    wishes = scene().workload.wishes
    for subscriber in range(100):
        ours = [wish for wish in wishes if wish.subscriber == subscriber]
        assert len(ours) > 3
        assert all(wish.end_us == later.begin_us for wish, later in pairwise(ours))
    assert scene(subscribers=10).workload.wishes == tuple(wish for wish in wishes if wish.subscriber < 10)


def test_5_1_an_event_is_discarded_after_five_seconds() -> None:
    """5.1: at one broker."""
    assert PATIENCE_US == 5 * SECOND_US


def test_fixed_advertisements_are_kept_to() -> None:
    """Ours, as another reading: every event is one that its publisher's first advertisement allows."""
    turns = scene(reading=FIXED).workload.turns
    assert all(len({turn.event.name for turn in turns if turn.publisher == publisher}) == 1 for publisher in range(20))
    assert len({turn.event for turn in turns}) > 100


def test_all_criteria_meet_the_same() -> None:
    """Whatever is refused."""
    assert len({result(criterion).workload_digest for criterion in CRITERIA}) == 1


# 5.2, what criteria do


def test_5_2_the_stricter_the_criterion_the_less_is_discarded_and_used() -> None:
    """5.2, figures 9 and 10: none, 40 %, 20 %, full; and the more is rejected."""
    found = [result(criterion) for criterion in CRITERIA]
    for laxer, stricter in pairwise(found):
        assert stricter.discarded_per_s < laxer.discarded_per_s
        assert stricter.cpu_utilisation < laxer.cpu_utilisation
        assert stricter.reject_rate > laxer.reject_rate
    assert found[0].reject_rate == 0.0


def test_5_2_full_rejects_more_than_40_percent() -> None:
    """5.2: "soon above 40 %"; with a hundred subscribers it does."""
    assert result("full").reject_rate > 0.4


def test_5_2_cpu_is_used_more_than_links() -> None:
    """5.2, figure 10: under every criterion."""
    assert all(one.cpu_utilisation > one.link_utilisation for one in map(result, CRITERIA))


# Ours


@pytest.mark.parametrize("demand", DemandChoice)
def test_full_discards_nothing_while_publishers_keep_to_advertisements_that_stand(demand: DemandChoice) -> None:
    """By whatever demand; without admission as many subscriptions overload brokers."""
    assert result("full", FIXED, demand).discarded_per_s_total == 0.0
    assert result("none", FIXED).discarded_per_s_total > 0.0


def test_votes_on_advertisements_discard_nothing_and_cost_publishers() -> None:
    """Advertisements that change find no room where subscriptions were admitted before them."""
    voted = result("full", replace(READING, is_voting_on_advertisements=True))
    assert voted.discarded_per_s_total == 0.0
    assert voted.advertisements_reject_rate > 0.0 == result("full").advertisements_reject_rate


def test_what_is_shared_is_paid_once_and_admits_more() -> None:
    """At least 1.2 times as many as where each pays for its route, and 1.5 times as many as by the paper's demand."""
    admitted = {demand: result("full", FIXED, demand).admitted for demand in DemandChoice}
    assert admitted[DemandChoice.SHARED] >= 1.2 * admitted[DemandChoice.ROUTE]
    assert admitted[DemandChoice.SHARED] >= 1.5 * admitted[DemandChoice.PAPER]
