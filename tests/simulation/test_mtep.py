"""The experiment of MTEP 3 on meshes so small that what comes of it can be worked out by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from p2psub.model.bids import PRICE_ONE
from p2psub.model.instants import SECOND_US, Micros
from sims.experiments.mtep.load_ways import LoadSearch, waiting_of, ways_by_load
from sims.experiments.mtep.mesh import Mesh, MeshLink, drawn_mesh
from sims.experiments.mtep.outlook import BEAT_US, Beyond, Outlook
from sims.experiments.mtep.paths import climbing_ways, shortest_ways
from sims.experiments.mtep.trial import (
    Arrivals,
    MeshReading,
    MeshTrial,
    PathChoice,
    Transfers,
    perform,
    scene_of,
)
from sims.experiments.mtep.workload import MeshDemand, MeshEvent, drawn_demand
from tests.simulation.meshes import ONE_LINK, bid, demand_of, event, run

# What an event of 50 KB takes over one link: 20 ms to the broker, 2 ms there, 3 s, 2 ms, 20 ms to the subscriber.
ALONE_S = 3.044


def test_event_alone_takes_its_links_and_its_brokers() -> None:
    """It is on time to the microsecond at which it is handed over, and not one before."""
    assert run(ONE_LINK, demand_of(bid(ALONE_S)), "fcfs", event(0, 0), is_dropping=False).on_time == 1
    assert run(ONE_LINK, demand_of(bid(ALONE_S - 1e-6)), "fcfs", event(0, 0), is_dropping=False).late == 1


def test_two_events_take_a_link_one_after_the_other() -> None:
    """The second waits for the first to have gone: three seconds more."""
    for deadline_s, on_time in ((ALONE_S + 3, 2), (ALONE_S + 3 - 1e-6, 1)):
        demand = demand_of(bid(deadline_s, price=2, penalty=1))
        tally = run(ONE_LINK, demand, "fcfs", event(0, 0), event(0, 0), is_dropping=False)
        assert (tally.on_time, tally.late, tally.dropped) == (on_time, 2 - on_time, 0)
        assert tally.earning == (2 * on_time - (2 - on_time)) * PRICE_ONE
        assert tally.transmissions == 2


def test_event_without_a_chance_is_dropped_where_it_waits() -> None:
    """By formula 14: a pair that needs its transmission to be two deviations faster has a chance of 2 %, one 16 %."""
    for short_s, ended in ((2.0, (1, 0, 1)), (1.0, (1, 1, 0))):
        demand = demand_of(bid(ALONE_S + 3 - short_s, price=2, penalty=1))
        tally = run(ONE_LINK, demand, "fcfs", event(0, 0), event(0, 0))
        assert (tally.on_time, tally.late, tally.dropped) == ended
        assert tally.earning == 1 * PRICE_ONE
        assert tally.transmissions == 2 - tally.dropped


# Two events wait while a third takes the link; only the one that goes next is in time.
FIRST_DEARER = (event(0.1, 0, rank=1), event(0.2, 1, rank=5)), demand_of(bid(8.0, price=2), bid(7.7), bid(60))
SECOND_DEARER = (event(0.1, 0, rank=5), event(0.2, 1, rank=1)), demand_of(bid(8.0), bid(8.1, price=2), bid(60))
SECOND_DEARER_AND_DUE_FIRST = (event(0.1, 0), event(0.2, 1)), demand_of(bid(8.2), bid(7.9, price=2), bid(60))


@pytest.mark.parametrize(
    ("scene", "earned"),
    [
        (FIRST_DEARER, {"fcfs": 2, "fix": 1, "lrt": 1, "mtep": 2}),
        (SECOND_DEARER, {"fcfs": 1, "fix": 1, "lrt": 1, "mtep": 2}),
        (SECOND_DEARER_AND_DUE_FIRST, {"fcfs": 1, "fix": 1, "lrt": 2, "mtep": 2}),
    ],
)
def test_what_a_policy_sends_next_is_what_it_earns(
    scene: tuple[tuple[MeshEvent, ...], MeshDemand], earned: dict[str, int]
) -> None:
    """The first that came, the one of the highest rank, that with the least time left, or that which earns most."""
    waiting, demand = scene
    for policy, price in earned.items():
        tally = run(ONE_LINK, demand, policy, event(0, 2), *waiting, is_dropping=False)
        assert (tally.on_time, tally.late) == (2, 1), policy
        assert tally.earning == (1 + price) * PRICE_ONE, policy


FORK = Mesh((1, 1, 2), (MeshLink(0, 0, 1, 60_000, 0), MeshLink(1, 1, 2, 40_000, 0), MeshLink(2, 1, 3, 80_000, 0)))
"""Three seconds to the fork; from there two to one edge broker and four to the other."""


def test_event_passes_a_link_once_for_all_below_it() -> None:
    """Three subscriptions at two brokers make three transmissions, and no broker has the event twice."""
    demand = demand_of(bid(60), bid(60), bid(60), edges=(0, 0, 1))
    tally = run(FORK, demand, "mtep", event(0, 0, 1, 2))
    assert (tally.on_time, tally.transmissions, tally.copies_max) == (3, 3, 1)


def test_links_of_a_broker_do_not_wait_for_each_other() -> None:
    """Each has a queue and its own time: 5.046 s to the near broker, 7.046 s to the far one."""
    for near_s, far_s, on_time in ((5.046, 7.046, 2), (5.045999, 7.046, 1), (5.046, 7.045999, 1)):
        demand = demand_of(bid(near_s), bid(far_s), edges=(0, 1))
        assert run(FORK, demand, "fcfs", event(0, 0, 1), is_dropping=False).on_time == on_time


def test_a_broker_that_sends_on_one_link_at_a_time_lets_them_take_turns() -> None:
    """Another reading: the far link waits for two seconds, and the next event on the near one for six."""
    events = (event(0, 0, 1), event(0.001, 2))
    for sooner_s, is_one_link_at_a_time, late in ((0, True, 0), (1e-6, True, 3), (1e-6, False, 1)):
        bids = [bid(seconds - sooner_s) for seconds in (5.046, 9.046, 11.045)]
        demand = demand_of(*bids, edges=(0, 1, 0))
        tally = run(FORK, demand, "fcfs", *events, is_dropping=False, is_one_link_at_a_time=is_one_link_at_a_time)
        assert tally.late == late


DIAMOND = Mesh(
    (1, 2, 1),
    (
        MeshLink(0, 0, 1, 40_000, 0),
        MeshLink(1, 0, 2, 60_000, 0),
        MeshLink(2, 1, 3, 75_000, 0),
        MeshLink(3, 2, 3, 50_000, 0),
    ),
)
"""By the left 115 ms a KB, by the right 110: yet the left link out of layer 1 is the faster one."""


def test_shortest_way_is_that_of_the_smallest_sum() -> None:
    """Not that of the fastest first link; a subscription that climbs takes the fastest last link."""
    assert shortest_ways(DIAMOND)[0] == ((1, 3),)
    assert climbing_ways(DIAMOND)[0] == ((1, 3),)
    slower = replace(DIAMOND, links=(*DIAMOND.links[:1], MeshLink(1, 0, 2, 70_000, 0), *DIAMOND.links[2:]))
    assert shortest_ways(slower)[0] == ((0, 2),)
    assert climbing_ways(slower)[0] == ((1, 3),)


def test_outlook_sums_what_lies_beyond_a_link() -> None:
    """Means and variances of the links, every broker's time, the subscriber's link (MTEP 2.1.2, 4)."""
    mesh = replace(FORK, links=tuple(replace(link, deviation_us_per_kb=20_000) for link in FORK.links))
    outlook = Outlook(mesh, 2_000, 20_000, is_waiting_told=False)
    assert outlook.beyond((0, 2)) == Beyond(140_000, 2 * 20_000**2, 3 * 2_000 + 20_000)
    assert outlook.beyond(()) == Beyond(0, 0, 2_000 + 20_000)


def test_brokers_tell_what_waits_at_every_beat() -> None:
    """Not at once; and not at all, unless they are asked to."""
    for is_told in (True, False):
        outlook = Outlook(FORK, 0, 0, is_waiting_told=is_told)
        outlook.note_waited(2, 8_000, Micros(1))
        assert outlook.beyond((1,)).fixed_us == outlook.beyond((2,)).fixed_us == 0
        outlook.note_waited(0, 0, BEAT_US)
        assert outlook.beyond((2,)).fixed_us == (1_000 if is_told else 0)
        assert outlook.beyond((1,)).fixed_us == 0


def test_expected_wait_is_that_of_queueing_theory_and_grows_on() -> None:
    """Of transmissions that always take the same half a load of 1/2 waits; a full link has a finite one."""
    link = MeshLink(0, 0, 1, 60_000, 0)
    assert waiting_of(link, 0.5) == pytest.approx(0.5)
    assert waiting_of(link, 0.0) == 0.0
    waits = [waiting_of(link, load / 10) for load in range(50)]
    steps = np.diff(waits)
    assert all(np.diff(steps) > -1e-9)
    assert waiting_of(replace(link, deviation_us_per_kb=60_000), 0.5) == pytest.approx(1.0)


def test_search_lowers_its_cost_until_nothing_is_better() -> None:
    """And a fresh look at the trees it ends with finds the same loads."""
    rng = np.random.default_rng(5)
    mesh = drawn_mesh(rng, (2, 2, 4, 8))
    search = LoadSearch(mesh, drawn_demand(rng, 8), 6.0, rng)
    costs = [search.cost()]
    while search.sweep():
        costs.append(search.cost())
    assert len(costs) > 1
    assert costs == sorted(costs, reverse=True)
    assert search.cost() == costs[-1]
    before = search.loads()
    search.weigh()
    for found, again in zip(before, search.loads(), strict=True):
        assert (found.busy, found.pairs) == pytest.approx((again.busy, again.pairs), abs=1e-6)


SHORT = MeshTrial("mtep", 1.0, seed=3, minutes=1.0)


TWO_WAYS = Mesh(
    (1, 1, 2, 2),
    tuple(
        MeshLink(number, upper, lower, mean_us_per_kb, 0)
        for number, (upper, lower, mean_us_per_kb) in enumerate(
            [
                (0, 1, 60_000),
                (1, 2, 60_000),
                (1, 3, 60_000),
                (2, 4, 40_000),
                (3, 4, 42_000),
                (2, 5, 42_000),
                (3, 5, 40_000),
            ]
        )
    ),
)
"""One edge broker is reached a little sooner by the left, the other by the right."""


def test_ways_by_load_are_the_shortest_until_links_fill() -> None:
    """Then both edge brokers have what one publisher publishes from one side, the left for some publishers."""
    wanting_all = replace(demand_of(bid(60), bid(60), edges=(0, 1)), bounds=np.full((2, 4), 10.0))
    assert ways_by_load(TWO_WAYS, wanting_all, 0.01, np.random.default_rng(1)) == shortest_ways(TWO_WAYS)
    full = ways_by_load(TWO_WAYS, wanting_all, 1.5, np.random.default_rng(1))
    sides = Counter(tuple(way[1] for way in of_publisher) for of_publisher in full)
    assert set(sides) == {(1, 1), (2, 2)}
    assert min(sides.values()) >= 3


def test_all_but_two_choices_of_paths_tell_nothing_of_what_waits() -> None:
    """And each has the ways of one that tells nothing."""
    assert [choice for choice in PathChoice if choice.is_waiting_told] == [PathChoice.PAPER_TOLD, PathChoice.LOAD]
    assert not any(choice.untold.is_waiting_told for choice in PathChoice)


def test_policies_and_readings_of_queues_and_ways_meet_the_same_workload() -> None:
    """One digest for all of a seed, rate and length; another for every other."""
    trials = [replace(SHORT, policy=policy) for policy in ("fcfs", "fix", "lrt")]
    trials += [replace(SHORT, weight=weight) for weight in (0.0, 1.0)]
    trials += [replace(SHORT, reading=MeshReading(paths=choice)) for choice in PathChoice]
    trials += [replace(SHORT, reading=MeshReading(transfers=Transfers.MEAN))]
    results = [perform(trial) for trial in trials]
    assert len({result.workload_digest for result in results}) == 1
    assert len({result.matched for result in results}) == 1
    others = [replace(SHORT, seed=4), replace(SHORT, rate=2.0), replace(SHORT, minutes=1.5)]
    assert len({perform(trial).workload_digest for trial in (SHORT, *others)}) == 4
    assert scene_of(3, 1.0, 1.0, Arrivals.RANDOM).mesh == scene_of(3, 2.0, 9.0, Arrivals.RANDOM).mesh


def test_trial_gives_the_same_result_each_time() -> None:
    """But for the CPU seconds it took."""
    one, other = perform(SHORT), perform(SHORT)
    assert replace(one, cpu_seconds=0.0) == replace(other, cpu_seconds=0.0)


def test_even_arrivals_are_as_many_as_the_rate_says() -> None:
    """Every publisher publishes once a minute."""
    events = scene_of(3, 1.0, 3.0, Arrivals.EVEN).traffic.events
    assert len(events) == 3 * 40
    instants = [event.published_us for event in events if event.publisher == 7]
    assert set(np.diff(instants)) <= {60 * SECOND_US - 1, 60 * SECOND_US, 60 * SECOND_US + 1}
