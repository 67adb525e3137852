"""Adversarial schedules strike where they say, so that what they are hostile to is really tried."""

from __future__ import annotations

from random import Random

import pytest

from p2psub.model.instants import SECOND_US
from sims.engine.faults import DOWN_US
from sims.engine.placement import cluster_named
from sims.scenarios.scenario import Scenario
from sims.scenarios.schedules import SCHEDULES, draw_schedules
from sims.scenarios.stage import Stage
from sims.workloads.applications import Applications
from sims.workloads.load import Load

WINDOW_US = 40 * SECOND_US


def played(name: str, *, clusters: int = 2, members: int = 5, late: bool = False, window_us: int = WINDOW_US) -> Stage:
    """A small overlay under one schedule and nothing else."""
    scenario = Scenario(
        clusters=clusters,
        members=members,
        faults=("wipe",),
        schedules=(name,),
        late_cluster=late,
        load=Load(subscriptions=12, events_per_second=10.0, churn_per_second=4.0),
    )
    stage = Stage(scenario, 5)
    assert stage.form()
    Applications(stage.world, scenario.load, 5).start(stage.world.now + window_us)
    stage.world.run_for(BUDGET_WARM_US)
    stage.saboteur.ends_us = stage.world.now + window_us
    SCHEDULES[name](stage, Random(7))
    stage.world.run_for(window_us + DOWN_US[1])
    return stage


BUDGET_WARM_US = 8 * SECOND_US
"""Members count for the budget from six heartbeats after they joined."""


def test_super_node_out_of_sight_cuts_three_owners_from_their_super_node_alone() -> None:
    """Cuts longer than a lease (10 s), and nobody crashes."""
    log = played("super_node_out_of_sight", members=7).saboteur.log
    assert {cut.name for cut in log.cuts} == {"super_node_out_of_sight"}
    assert any(cut.until_us is not None and cut.until_us - cut.at_us > 15 * SECOND_US for cut in log.cuts)
    assert not log.crashes


def test_super_node_without_candidates_is_wiped_inside_its_cut() -> None:
    """Every strike is a super-node's, with its disk, while its candidates do not hear it."""
    log = played("super_node_without_candidates").saboteur.log
    assert log.crashes
    for crash in log.crashes:
        assert crash.super_node
        assert crash.wiped
        assert any(cut.at_us < crash.at_us < (cut.until_us or 0) for cut in log.cuts)


def test_wipes_while_clusters_are_apart_wipe_many() -> None:
    """One long cut between all clusters, and most members are wiped in it."""
    log = played("wipes_while_clusters_are_apart").saboteur.log
    (cut,) = log.cuts
    assert len({crash.host for crash in log.crashes if cut.at_us <= crash.at_us < (cut.until_us or 0)}) >= 5
    assert all(crash.wiped for crash in log.crashes)


def test_black_out_takes_a_whole_cluster_and_no_disk() -> None:
    """All members of one cluster within milliseconds, and all of them come back."""
    stage = played("black_out")
    first = stage.saboteur.log.crashes[0]
    together = [crash for crash in stage.saboteur.log.crashes if crash.at_us - first.at_us < 5000]
    assert len(together) == 5
    assert {crash.cluster for crash in together} == {first.cluster}
    assert not any(crash.wiped for crash in stage.saboteur.log.crashes)
    assert len(stage.saboteur.peers()) == 10


def test_late_cluster_is_cut_off_when_it_knows_its_place() -> None:
    """One cut, and the new cluster stands in the directory afterwards."""
    stage = played("late_cluster_cut_off", clusters=3, members=4, late=True)
    assert [cut.name for cut in stage.saboteur.log.cuts] == ["late_cluster_cut_off"]
    assert all(cluster_named(2) in dict(said.clusters) for said in stage.statuses())


@pytest.mark.parametrize(("name", "back"), [("all_down", 10), ("all_down_some_for_good", 6)])
def test_all_down_takes_everybody_and_no_disk(name: str, back: int) -> None:
    """All peers and the bootstrap within a tenth of a second; of those for good every super-node is one."""
    stage = played(name)
    crashes = stage.saboteur.log.crashes
    assert len(crashes) == 10
    assert crashes[-1].at_us - crashes[0].at_us < SECOND_US // 10
    assert not any(crash.wiped for crash in crashes)
    assert stage.bootstrap is not None
    assert not stage.bootstrap.is_up
    assert len(stage.saboteur.peers()) == back
    leaders = {crash.host for crash in crashes if crash.super_node}
    assert len(leaders) == 2
    assert leaders.isdisjoint({host.index for host in stage.saboteur.peers()}) == (back < 10)


@pytest.mark.parametrize("faults", [frozenset({"crash"}), frozenset({"partition"}), frozenset({"crash", "partition"})])
def test_mixed_schedules_stay_inside_the_faults_and_the_budget(faults: frozenset[str]) -> None:
    """What is drawn for a seed breaks nothing that was not asked for; all that is allowed is drawn by some seed."""
    drawn = {name for seed in range(300) for name in draw_schedules(Random(seed), faults)}
    assert not drawn & {"cluster_loss", "black_out", "wipes_while_clusters_are_apart"}
    assert not drawn & {"all_down", "all_down_some_for_good"}
    assert ("ring_into_halves" in drawn) == ("partition" in faults)
    assert ("owner_after_acknowledgement" in drawn) == ("crash" in faults)


def test_newcomer_joins_a_ring_while_one_member_is_cut_off() -> None:
    """Then that member and one other are apart from all the rest, longer than a failover."""
    stage = played("newcomer_beyond_a_cut", clusters=1, members=3)
    alone, swapped = stage.saboteur.log.cuts
    assert len(stage.saboteur.peers()) == 4
    assert alone.until_us == swapped.at_us
    assert (swapped.until_us or 0) - swapped.at_us > 10 * SECOND_US


def test_super_node_of_the_others_comes_without_its_disk_to_the_one_that_was_cut_off() -> None:
    """A peer has joined the others meanwhile, and is not heard."""
    stage = played("newcomer_without_its_super_node", clusters=1, members=3)
    (crash,) = stage.saboteur.log.crashes
    assert crash.super_node
    assert crash.wiped
    assert len(stage.saboteur.log.cuts) == 2
    assert len(stage.saboteur.peers()) == 4


@pytest.mark.parametrize("name", ["candidate_behind", "former_super_node_behind"])
def test_member_that_is_behind_is_apart_from_all_that_know_more(name: str) -> None:
    """Two cuts, and nobody crashes."""
    log = played(name, clusters=1, members=7, window_us=64 * SECOND_US).saboteur.log
    assert len(log.cuts) == 2
    assert not log.crashes
