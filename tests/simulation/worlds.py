"""Small worlds of gossiping fakes, for tests of the simulator itself."""

from __future__ import annotations

from p2psub.model.content import Draft, Moment, Value
from p2psub.model.effects import PublishCommand
from p2psub.model.ids import Contact
from sims.engine.budget import Budget
from sims.engine.faults import FaultSchedule, Saboteur
from sims.engine.host import Host
from sims.engine.network import LinkShape
from sims.engine.placement import cluster_named, contact_for
from sims.engine.world import World
from tests.simulation.gossip import Gossip, gossip

SECOND_US = 1_000_000


def make_world(
    count: int, *, seed: int = 7, clusters: int = 1, shape: LinkShape | None = None, clock_seed: int | None = None
) -> tuple[World, list[Host]]:
    """A world whose hosts all dial the two after them."""
    world = World(seed, shape_of=None if shape is None else lambda one, other: shape, clock_seed=clock_seed)
    size = -(-count // clusters)
    hosts = [world.add_host(contact_for(seed, f"n{n}"), cluster_named(n // size), gossip) for n in range(count)]
    for host in hosts:
        world.start(host, neighbours(hosts, host))
    return world, hosts


def neighbours(hosts: list[Host], host: Host) -> tuple[Contact, ...]:
    """The two hosts after it."""
    return tuple(hosts[(host.index + step) % len(hosts)].contact for step in (1, 2))


def core_of(host: Host) -> Gossip:
    """The running fake."""
    assert isinstance(host.core, Gossip)
    return host.core


def digest_of_faulty_world(seed: int) -> str:
    """Run a world with every fault on, and records with sets in them."""
    world, hosts = make_world(24, seed=seed, clusters=3)
    budget = Budget(SECOND_US, 3)
    for host in hosts:
        assert host.cluster is not None
        budget.enrol(host.cluster, host.index)
    saboteur = Saboteur(world, budget, world.network._rng, lambda host: neighbours(hosts, host))
    kinds = frozenset({"crash", "wipe", "partition", "loss", "duplicate", "reorder", "pause", "disk"})
    FaultSchedule(saboteur, kinds, seed).open(20 * SECOND_US)
    attributes: dict[str, Value] = {"tags": frozenset({"a", "bb", "ccc", "dddd"}), "at": Moment(5), "x": 1.5}
    for n in range(200):
        command = PublishCommand(n, [Draft("t", dict(attributes))])
        world.agenda.at(n * 100_000, world.command, hosts[n % 24], command)
    world.run_until(30 * SECOND_US)
    assert len(saboteur.log.crashes) >= 3
    return world.trace.digest()
