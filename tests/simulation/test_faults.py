"""The failure budget is kept, whatever the schedule draws."""

from __future__ import annotations

from random import Random

import pytest

from p2psub.model.ids import ClusterId
from sims.engine.budget import Budget
from sims.engine.faults import Crash, FaultSchedule, Saboteur
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from tests.simulation.worlds import SECOND_US, make_world, neighbours

HEARTBEAT_US = SECOND_US


def _play(seed: int, *kinds: str, seconds: int = 120) -> tuple[list[Crash], dict[tuple[int, int], int], Saboteur]:
    """Crashes of a long random schedule, and when each process start happened."""
    world, hosts = make_world(24, seed=seed, clusters=3)
    budget = Budget(HEARTBEAT_US, 3)
    for host in hosts:
        assert host.cluster is not None
        budget.enrol(host.cluster, host.index)
    saboteur = Saboteur(world, budget, Random(seed), lambda host: neighbours(hosts, host))
    FaultSchedule(saboteur, frozenset(kinds or ("crash", "wipe", "partition")), seed).open(seconds * SECOND_US)
    starts: dict[tuple[int, int], int] = {}
    for _ in range(10 * seconds + 100):
        world.run_for(100_000)
        starts.update({(host.index, host.incarnation): host.started_us for host in hosts if host.is_up})
    assert all(host.is_up for host in hosts), "everybody is back when the window is over"
    return saboteur.log.crashes, starts, saboteur


@pytest.mark.parametrize("seed", range(3))
def test_never_more_members_down_in_six_heartbeats_than_the_budget_allows(seed: int) -> None:
    """In every window of six heartbeats at most min(r-1, ceil(m/2)-1) of a ring's members are down or just back."""
    crashes, starts, _ = _play(seed)
    assert len(crashes) > 15
    for crash in crashes:
        down = {
            other.host
            for other in crashes
            if other.cluster == crash.cluster
            and other.at_us <= crash.at_us
            and starts[other.host, other.incarnation + 1] > crash.at_us - 6 * HEARTBEAT_US
        }
        assert len(down) <= 2


def test_a_partitioned_run_has_a_cut_longer_than_eight_heartbeats() -> None:
    """Every seed with partitions has one that outlasts all failure detection."""
    for seed in range(3):
        cuts = _play(seed)[2].log.cuts
        assert any(cut.until_us is not None and cut.until_us - cut.at_us > 8 * HEARTBEAT_US for cut in cuts)


def test_super_nodes_of_a_cluster_fail_ten_heartbeats_apart() -> None:
    """After one super-node's failure the next must wait, while a member may fail."""
    budget, cluster = Budget(HEARTBEAT_US, 3), cluster_named(0)
    for member in range(8):
        budget.enrol(cluster, member)
    budget.fail(cluster, 0, 0, super_node=True)
    assert not budget.allows(cluster, [1], 9 * HEARTBEAT_US, super_node=True)
    assert budget.allows(cluster, [1], 9 * HEARTBEAT_US, super_node=False)
    assert budget.allows(cluster, [1], 10 * HEARTBEAT_US, super_node=True)


@pytest.mark.parametrize(("members", "allowed"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (8, 2), (64, 2)])
def test_budget_is_the_design_s(members: int, allowed: int) -> None:
    """min(r-1, ceil(m/2)-1) for r = 3."""
    budget, cluster = Budget(HEARTBEAT_US, 3), cluster_named(0)
    for member in range(members):
        budget.enrol(cluster, member)
    assert budget.allowance(cluster) == allowed


def test_a_member_that_has_left_does_not_count() -> None:
    """Not even if it had joined so lately that it was to be counted only now."""
    budget, cluster = Budget(HEARTBEAT_US, 3), cluster_named(0)
    for member in range(3):
        budget.enrol(cluster, member)
    budget.dismiss(cluster, 2, 10 * HEARTBEAT_US)
    budget.enrol(cluster, 2, 9 * HEARTBEAT_US)
    assert budget.allowance(cluster) == 0
    budget.enrol(cluster, 2, 11 * HEARTBEAT_US)
    assert budget.allowance(cluster) == 1


def test_a_member_that_came_back_counts_for_six_heartbeats_more() -> None:
    """The ring needs time to repair before others may fail."""
    budget, cluster = Budget(HEARTBEAT_US, 3), cluster_named(0)
    for member in range(8):
        budget.enrol(cluster, member)
    budget.fail(cluster, 0, 0, super_node=False)
    budget.fail(cluster, 1, 0, super_node=False)
    assert not budget.allows(cluster, [2], 100 * HEARTBEAT_US, super_node=False)
    budget.back(cluster, 0, 100 * HEARTBEAT_US)
    assert not budget.allows(cluster, [2], 106 * HEARTBEAT_US - 1, super_node=False)
    assert budget.allows(cluster, [2], 106 * HEARTBEAT_US, super_node=False)
    assert budget.allows(cluster, [0], 101 * HEARTBEAT_US, super_node=False), "it is counted already"


def _ring_of_three_that_lost_a_disk(at: int) -> tuple[Budget, ClusterId]:
    """Member 0 fell with its disk then, and was back three heartbeats later."""
    budget, cluster = Budget(HEARTBEAT_US, 3), cluster_named(0)
    for member in range(3):
        budget.enrol(cluster, member)
    budget.fail(cluster, 0, at * HEARTBEAT_US, super_node=False, wipe=True)
    budget.back(cluster, 0, (at + 3) * HEARTBEAT_US)
    return budget, cluster


def _may_lose_another_disk(budget: Budget, cluster: ClusterId, at: int) -> bool:
    return budget.allows(cluster, [1], at * HEARTBEAT_US, super_node=False, wipe=True)


def test_a_second_disk_is_lost_only_when_the_copies_of_the_first_could_be_made_anew() -> None:
    """Two of three go on, so two disks may be the only ones with an event: across a cut neither can be replaced."""
    budget, cluster = _ring_of_three_that_lost_a_disk(at=2)
    budget.part(cluster, 0)
    budget.part(cluster, 4 * HEARTBEAT_US)
    budget.reunite(cluster, 50 * HEARTBEAT_US)
    assert not _may_lose_another_disk(budget, cluster, at=90), "another cut lasts"
    budget.reunite(cluster, 100 * HEARTBEAT_US)
    assert not _may_lose_another_disk(budget, cluster, at=119), "the terms of both sides look for each other"
    assert budget.allows(cluster, [1], 90 * HEARTBEAT_US, super_node=False), "a disk that is kept keeps its copies"
    assert _may_lose_another_disk(budget, cluster, at=120)


def test_a_disk_that_was_lost_and_made_up_for_does_not_count_in_later_cuts() -> None:
    """What the ring had the time to repair no cut undoes."""
    budget, cluster = _ring_of_three_that_lost_a_disk(at=0)
    assert not _may_lose_another_disk(budget, cluster, at=8)
    assert _may_lose_another_disk(budget, cluster, at=9)
    budget.part(cluster, 10 * HEARTBEAT_US)
    assert _may_lose_another_disk(budget, cluster, at=11)


def test_a_member_without_its_disk_counts_on_when_it_falls_again() -> None:
    """It was given nothing yet, whether or not its second fall takes the disk."""
    budget, cluster = _ring_of_three_that_lost_a_disk(at=0)
    budget.part(cluster, 4 * HEARTBEAT_US)
    budget.fail(cluster, 0, 5 * HEARTBEAT_US, super_node=False)
    budget.back(cluster, 0, 40 * HEARTBEAT_US)
    budget.reunite(cluster, 41 * HEARTBEAT_US)
    assert not _may_lose_another_disk(budget, cluster, at=60)
    assert _may_lose_another_disk(budget, cluster, at=61)


@pytest.mark.parametrize("both_ways", [True, False])
def test_no_second_disk_is_wiped_in_a_ring_that_is_cut(both_ways: bool) -> None:
    """A cut inside the ring tells the budget, and so does its end; a cut between rings does not."""
    saboteur, rings = _saboteur_of_three_rings()
    first, second, third = rings[0]
    saboteur.cut("apart", [(first, host) for host in (*rings[1], *rings[2])], 60 * SECOND_US)
    saboteur.cut("inside", [(third, second)], 20 * SECOND_US, both_ways=both_ways)
    assert saboteur.strike(first, wipe=True, down_us=SECOND_US)
    saboteur.world.run_for(15 * SECOND_US)
    assert not saboteur.strike(second, wipe=True)
    assert not saboteur.strike_together([second], wipe=True)
    assert saboteur.may_strike([second])
    saboteur.world.run_for(26 * SECOND_US)
    assert saboteur.strike(second, wipe=True)


def _saboteur_of_three_rings() -> tuple[Saboteur, list[list[Host]]]:
    """Rings of three, with the fault window open."""
    world, hosts = make_world(9, clusters=3)
    budget = Budget(HEARTBEAT_US, 3)
    for host in hosts:
        assert host.cluster is not None
        budget.enrol(host.cluster, host.index)
    saboteur = Saboteur(world, budget, Random(1), lambda host: neighbours(hosts, host))
    saboteur.ends_us = 120 * SECOND_US
    return saboteur, [[host for host in hosts if host.cluster == cluster_named(n)] for n in range(3)]


def test_an_outage_lasts_for_minutes() -> None:
    """Longer than any patience of the others, and within the budget as every crash."""
    crashes, starts, _ = _play(0, "outage", seconds=600)
    down_us = [starts[crash.host, crash.incarnation + 1] - crash.at_us for crash in crashes]
    assert len(down_us) > 3
    assert all(
        span >= 60 * SECOND_US or crash.at_us + span >= 600 * SECOND_US
        for crash, span in zip(crashes, down_us, strict=True)
    )


def test_a_link_that_flaps_is_cut_many_times_for_a_moment() -> None:
    """Each time for a second at most, and it is whole in the end."""
    cuts = _play(0, "flap")[2].log.cuts
    assert len(cuts) > 10
    assert all(cut.until_us is not None and cut.until_us - cut.at_us <= SECOND_US + 1_000 for cut in cuts)


def test_no_disk_is_said_to_be_full_after_the_process_on_it_fell() -> None:
    """A crash makes room, and the log says so: what the next process acknowledges is durable."""
    _, _, saboteur = _play(0, "crash", seconds=1)
    host = saboteur.world.hosts[0]
    saboteur.fill_disk(host)
    saboteur.world.run_for(SECOND_US)
    saboteur.down(host)
    assert [(disk.node, disk.until_us) for disk in saboteur.log.full_disks] == [(host.id, saboteur.world.now)]
    assert not host.disk.full
