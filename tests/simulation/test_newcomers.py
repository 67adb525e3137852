"""Members that join where others cannot see it: the bar for copies counts them all the same."""

from __future__ import annotations

import pytest

from p2psub.model.effects import LeaveCommand
from p2psub.model.instants import SECOND_US
from p2psub.model.records import Kind
from p2psub.model.status import LifeStage
from p2psub.node.core import NodeCore
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.run import run
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from sims.workloads.applications import Applications
from sims.workloads.load import Load

LOAD = Load(subscriptions=12, events_per_second=20.0, burst_share=0.0)


def busy_rings(members: int) -> Stage:
    """Two clusters under load: one alone could not fill a super-node that was cut off."""
    stage = Stage(Scenario(clusters=2, members=members, faults=(), schedules=(), load=LOAD), 3)
    assert stage.form()
    Applications(stage.world, LOAD, 3).start(stage.world.now + 120 * SECOND_US)
    stage.world.run_for(5 * SECOND_US)
    return stage


def ring_with_a_newcomer_beyond_a_cut() -> tuple[Stage, Host, Host, Host]:
    """A super-node, a newcomer, and a member that was cut off before the newcomer joined; the cut goes on."""
    stage = busy_rings(3)
    leader = stage.saboteur.super_node(cluster_named(0))
    assert leader is not None
    newcomer, cut_off = [host for host in stage.saboteur.peers(cluster_named(0)) if host is not leader]
    leave(stage, newcomer)
    stage.world.cut([(cut_off, leader), (cut_off, newcomer)])
    stage.world.run_for(6 * SECOND_US)
    stage.world.start(newcomer, (leader.contact,))
    stage.world.run_for(12 * SECOND_US)
    return stage, leader, newcomer, cut_off


def core_of(host: Host) -> NodeCore:
    """The running node."""
    assert isinstance(host.core, NodeCore)
    return host.core


def leave(stage: Stage, host: Host) -> None:
    """Let a peer leave, and wipe it once it has."""
    stage.world.command(host, LeaveCommand())
    while not (said := status_of(host)) or said.stage is not LifeStage.LEFT:
        stage.world.run_for(SECOND_US // 10)
    stage.world.crash(host, wipe=True)


def copies_stated(stage: Stage, since_us: int) -> set[int]:
    """The copies of what was acknowledged in the first cluster since then, of what any subscription wants."""
    ring = {host.id for host in stage.world.hosts if host.cluster == cluster_named(0)}
    told = [record for at_us, record in stage.world.trace.happenings(Kind.ACKNOWLEDGE) if at_us >= since_us]
    return {record.copies or 0 for record in told if record.matched and record.node in ring}


def test_member_that_was_cut_off_does_not_trust_its_old_count() -> None:
    """It leads after the cut, and the one other member that it knew leaves: a third may have joined meanwhile."""
    stage, leader, newcomer, cut_off = ring_with_a_newcomer_beyond_a_cut()
    world = stage.world
    world.crash(leader, wipe=True)
    world.heal()
    world.cut([(newcomer, leader), (newcomer, cut_off)])
    began_us = world.now
    world.start(leader, (cut_off.contact,))
    world.run_for(4 * SECOND_US)
    assert stage.saboteur.super_node(cluster_named(0)) is cut_off
    world.command(leader, LeaveCommand())
    world.run_for(10 * SECOND_US)
    assert copies_stated(stage, began_us) == set(), "it waits"
    world.heal()
    world.run_for(10 * SECOND_US)
    assert copies_stated(stage, began_us) == {3}, "with the newcomer it goes on"


def test_member_that_is_back_tells_whom_it_met_by_its_disk() -> None:
    """A restart forgets no member: the one that was cut off hears of the newcomer from that disk alone."""
    stage, leader, newcomer, cut_off = ring_with_a_newcomer_beyond_a_cut()
    world = stage.world
    world.crash(leader)
    world.heal()
    world.cut([(newcomer, leader), (newcomer, cut_off)])
    world.start(leader, (cut_off.contact,))
    world.run_for(4 * SECOND_US)
    term = core_of(cut_off)._cores.office.term
    assert term is not None
    assert newcomer.id in term.roster.census._seen


@pytest.mark.parametrize("leads", [True, False])
def test_ring_of_two_goes_on_when_the_other_is_back(leads: bool) -> None:
    """However long it was away: both remember that there was no third."""
    stage = busy_rings(2)
    away = next(host for host in stage.saboteur.peers(cluster_named(0)) if stage.saboteur.acts(host) is leads)
    stage.world.crash(away)
    stage.world.run_for(45 * SECOND_US)
    stage.start(away)
    began_us = stage.world.now
    stage.world.run_for(15 * SECOND_US)
    assert copies_stated(stage, began_us) == {2}


def test_ring_of_two_goes_on_when_a_cut_is_healed() -> None:
    """Each side led for itself and was sure of nothing; together they are, at once."""
    load = Load(subscriptions=12, events_per_second=10.0)
    twice = Scenario(clusters=1, members=2, seconds=200.0, faults=("partition",), schedules=(), load=load)
    assert run(twice, 1).findings == []
