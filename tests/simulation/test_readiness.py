"""A peer says that it may be used only while it can do its part."""

from __future__ import annotations

from p2psub.api.join_stages import stage_of
from p2psub.model.instants import SECOND_US
from p2psub.model.status import Role
from sims.engine.host import Host
from sims.engine.world import status_of
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage


def formed(members: int) -> Stage:
    """One cluster."""
    stage = Stage(Scenario(clusters=1, members=members, faults=(), schedules=()), 2)
    assert stage.form()
    stage.world.run_for(10 * SECOND_US)
    return stage


def stages_of(hosts: list[Host]) -> set[str]:
    """How far these peers say they are."""
    statuses = [status_of(host) for host in hosts]
    return {stage_of(said, links=1, uptime_s=60.0).name for said in statuses if said is not None}


def test_super_node_that_is_cut_off_from_its_cluster_is_not_ready() -> None:
    """Those on the other side have another one and go on; when they meet again, all are ready."""
    stage = formed(4)
    hosts = stage.saboteur.peers()
    alone = next(host for host in hosts if stage.saboteur.acts(host))
    others = [host for host in hosts if host is not alone]
    cut = stage.world.cut([(alone, other) for other in others])
    stage.world.run_for(20 * SECOND_US)
    said = status_of(alone)
    assert said is not None
    assert said.role is Role.SUPER_NODE
    assert (stages_of([alone]), stages_of(others)) == ({"cut off"}, {"ready"})
    stage.world.heal(cut)
    stage.world.run_for(30 * SECOND_US)
    assert stages_of(hosts) == {"ready"}


def test_cluster_of_one_stays_ready() -> None:
    """There is nobody whom it should hear."""
    stage = formed(1)
    stage.world.run_for(60 * SECOND_US)
    assert stages_of(stage.saboteur.peers()) == {"ready"}


def test_takeover_leaves_everybody_ready() -> None:
    """A new super-node to whom nobody has reported yet is not cut off."""
    stage = formed(4)
    fallen = next(host for host in stage.saboteur.peers() if stage.saboteur.acts(host))
    stage.world.crash(fallen)
    seen: set[str] = set()
    for _ in range(100):
        stage.world.run_for(SECOND_US // 5)
        seen |= stages_of([host for host in stage.saboteur.peers() if stage.saboteur.acts(host)])
    assert seen == {"ready"}
