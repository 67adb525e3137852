"""News of a new super-node travels by the cube itself: peers that know nobody but the bootstrap hear of it too."""

from __future__ import annotations

from random import Random

from bootstrap.registry import RegistryCore
from p2psub.model.ids import Contact
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.status import Role
from p2psub.node.core import NodeCore
from sims.engine.host import Host
from sims.engine.world import status_of
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Disk, Stage


class StageOfStrangers(Stage):
    """Peers that are told of the bootstrap and of nobody else, as real ones are."""

    def contacts_for(self, host: Host) -> tuple[Contact, ...]:
        assert self.bootstrap is not None
        return (self.bootstrap.contact,)

    def _birth_registry(self, host: Host, rng: Random, disk: Disk, contacts: tuple[Contact, ...]) -> RegistryCore:
        return RegistryCore(host.contact, host.incarnation, self.config, rng, founding_from_us=Micros(0))


def test_other_clusters_hear_of_a_new_super_node_within_ten_heartbeats() -> None:
    """Its neighbours answer its first report with what they know, and it says back what they do not."""
    stage = StageOfStrangers(Scenario(clusters=4, members=4, faults=(), schedules=(), bootstrap=True), 1)
    assert stage.form()
    stage.world.run_for(5 * SECOND_US)
    fallen = next(host for host in stage.saboteur.peers() if stage.saboteur.acts(host))
    cluster = fallen.cluster
    assert cluster is not None
    stage.world.crash(fallen, silent=True)
    stage.world.run_for(10 * SECOND_US)
    successor = stage.saboteur.super_node(cluster)
    assert successor is not None
    told = [core_of(host)._cores.directory.get(cluster) for host in super_nodes(stage)]
    assert {entry.super_node for entry in told if entry is not None} == {successor.contact}


def super_nodes(stage: Stage) -> list[Host]:
    """Everybody who leads."""
    return [host for host in stage.saboteur.peers() if (said := status_of(host)) and said.role is Role.SUPER_NODE]


def core_of(host: Host) -> NodeCore:
    """What runs on a machine."""
    assert isinstance(host.core, NodeCore)
    return host.core
