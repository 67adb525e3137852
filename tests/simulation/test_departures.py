"""Leaving gracefully: nobody waits for a death, and nothing that the leaver held is missed."""

from __future__ import annotations

import pytest

from p2psub.model.effects import LeaveCommand
from p2psub.model.instants import SECOND_US
from p2psub.model.records import Kind
from p2psub.model.status import LifeStage, Role
from sims.engine.host import Host
from sims.engine.world import status_of
from sims.scenarios.run import run
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from sims.workloads.applications import Applications
from sims.workloads.load import Load
from tests.simulation.seeds import seeds

LOAD = Load(subscriptions=12, events_per_second=20.0, churn_per_second=1.0)


KINDS = (Kind.ACKNOWLEDGE, Kind.DISCHARGE)


def busy_cluster(members: int) -> Stage:
    """One cluster under load."""
    stage = Stage(Scenario(clusters=1, members=members, faults=(), schedules=(), load=LOAD), 3)
    assert stage.form()
    Applications(stage.world, LOAD, 3).start(stage.world.now + 60 * SECOND_US)
    stage.world.run_for(5 * SECOND_US)
    return stage


def leave(stage: Stage, host: Host) -> float:
    """Let a peer leave and end its process once it has; heartbeats that took."""
    began = stage.world.now
    stage.world.command(host, LeaveCommand())
    while not (said := status_of(host)) or said.stage is not LifeStage.LEFT:
        stage.world.run_for(SECOND_US // 10)
        assert stage.world.now - began < 20 * SECOND_US, "it never left"
    stage.world.crash(host, wipe=True)
    return (stage.world.now - began) / SECOND_US


def members_of(stage: Stage, role: Role) -> list[Host]:
    """The running peers in a role."""
    return [host for host in stage.saboteur.peers() if (said := status_of(host)) is not None and said.role is role]


def test_member_leaves_within_a_lease() -> None:
    """Its keys have another owner before it goes, so nobody waits for its death."""
    stage = busy_cluster(6)
    leaver = members_of(stage, Role.MEMBER)[0]
    assert leave(stage, leaver) < 10
    assert all(leaver.id not in said.owners for said in stage.statuses())


def test_super_node_hands_over_at_once() -> None:
    """Another super-node leads before the old super-node has gone: a failover takes longer than a hand-over."""
    stage = busy_cluster(6)
    (leader,) = members_of(stage, Role.SUPER_NODE)
    stage.world.command(leader, LeaveCommand())
    stage.world.run_for(2 * SECOND_US)
    (successor,) = members_of(stage, Role.SUPER_NODE)
    assert successor is not leader
    assert leave(stage, leader) < 15


def test_those_who_stay_acknowledge_with_fewer_copies() -> None:
    """A crash keeps the bar for copies up for ten minutes; whoever leaves gracefully takes it down."""
    stage = busy_cluster(4)
    for leaver in [*members_of(stage, Role.MEMBER), *members_of(stage, Role.CANDIDATE)][:2]:
        leave(stage, leaver)
    stage.world.run_for(60 * SECOND_US)
    assert [said.outbox for said in stage.statuses()] == [0, 0]


def test_last_peer_goes_when_it_holds_nothing() -> None:
    """There is nobody to give anything to."""
    stage = busy_cluster(1)
    (last,) = stage.saboteur.peers()
    assert leave(stage, last) < 3


def test_a_whole_ring_that_leaves_at_once_loses_nothing() -> None:
    """Half of it goes at a time; the last one waits until all is delivered."""
    stage = busy_cluster(3)
    peers = stage.saboteur.peers()
    for host in peers:
        stage.world.command(host, LeaveCommand())
    gone: list[Host] = []
    for _ in range(200):
        stage.world.run_for(SECOND_US // 10)
        for host in [host for host in peers if (said := status_of(host)) and said.stage is LifeStage.LEFT]:
            gone.append(host)
            stage.world.crash(host, wipe=True)
    assert len(gone) == len(peers)
    events = {kind: {record.event for _, record in stage.world.trace.happenings(kind)} for kind in KINDS}
    assert len(events[Kind.ACKNOWLEDGE]) > 50
    assert events[Kind.ACKNOWLEDGE] <= events[Kind.DISCHARGE]


@pytest.mark.parametrize("seed", seeds(8, more=(700020, 700021)))
def test_small_rings_lose_nothing_when_several_members_leave_at_once(seed: int) -> None:
    """Those that leave hold keys, and lead, as long as the others are too few."""
    report = run(Scenario(clusters=3, members=3, seconds=150.0, faults=("crash",), schedules=("departures",)), seed)
    assert report.findings == []
    assert report.wipes > 5


@pytest.mark.parametrize("seed", seeds(0, more=(6,)))
def test_nothing_is_missed_when_peers_leave_among_crashes_and_cuts(seed: int) -> None:
    """Leavers are wiped as soon as they say that they have left."""
    faults = ("crash", "partition", "loss", "duplicate", "wipe")
    report = run(Scenario(clusters=3, members=7, seconds=150.0, faults=faults, schedules=("departures",)), seed)
    assert report.findings == []
    assert report.wipes > 5
