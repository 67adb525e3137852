"""Building a world out of real nodes: clusters are founded one after the other, members join, the bootstrap may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from bootstrap.registry import RegistryCore
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import SECOND_US, Stamp
from p2psub.model.messages import Message
from p2psub.model.records import Kind, Record
from p2psub.model.status import NodeStatus, Role
from p2psub.node.core import NodeCore
from p2psub.wire.codec import decode_batch, encode_batch
from sims.engine.budget import BUDGET_WINDOW_HEARTBEATS, Budget
from sims.engine.faults import Saboteur
from sims.engine.host import Host
from sims.engine.placement import LinkShapes, cluster_named, contact_for, slow_pairs
from sims.engine.world import World, status_of
from sims.scenarios.scenario import Scenario, with_cube_links
from sims.workloads.drawn_votes import ClusterPolicy, DrawnVotes

FOUNDING_GAP_US = 1_000_000
MEMBER_GAP_US = 100_000
POLL_US = 500_000
SOON_US = 100_000
KNOWN_PEERS = 3

Disk = Mapping[str, Mapping[tuple[object, ...], object]]


def recode(messages: list[Message]) -> list[Message]:
    """Through the wire's codec and back."""
    return decode_batch(encode_batch(messages, Stamp(0, 0)))[0]


class Stage:
    """A world in which peers of several clusters are born, and the saboteur that breaks it."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        codec_share: int = 0,
        clock_seed: int | None = None,
        node: Callable[..., NodeCore] = NodeCore,
    ) -> None:
        scenario = with_cube_links(scenario, seed)
        self.scenario = scenario
        self.seed = seed
        self.config = scenario.node
        self.world = World(
            seed,
            shape_of=LinkShapes(
                seed,
                scenario.bandwidth,
                next(iter(scenario.cube_bandwidths), None),
                slow_pairs(seed, scenario.clusters, scenario.cube_slow_share),
            ).between,
            clock_seed=clock_seed,
            drift="drift" in scenario.faults,
            recode=recode if codec_share else None,
            recode_every=codec_share,
        )
        self.rng = Random(f"{seed}/stage")
        self.budget = Budget(self.config.heartbeat_us, self.config.ring.successors)
        self.saboteur = Saboteur(self.world, self.budget, self.rng, self.contacts_for)
        self.votes = DrawnVotes(seed, scenario.refused_share)
        self._node = node
        self.bootstrap: Host | None = None
        self._scores = Random(f"{seed}/scores")
        self.world.trace.hook(Kind.RING, self._enrol_later)

    # Machines

    def add_bootstrap(self) -> None:
        """A rendezvous that every peer knows; whether it runs is up to the scenario, or the seed."""
        self.bootstrap = self.world.add_host(contact_for(self.seed, "bootstrap"), None, self._birth_registry)
        runs = self.seed % 2 == 0 if self.scenario.bootstrap is None else self.scenario.bootstrap
        if runs:
            self.world.start(self.bootstrap)

    def add_peer(self, cluster: ClusterId, name: str, contact: Contact | None = None) -> Host:
        """A machine for a peer of that cluster, not started yet."""
        score = round(self._scores.uniform(0.5, 2.0), 3)
        policy = {"policy": ClusterPolicy(self.votes, cluster)} if self.scenario.refused_share else {}

        def birth(host: Host, rng: Random, disk: Disk, contacts: tuple[Contact, ...]) -> NodeCore:
            return self._node(
                host.contact,
                host.incarnation,
                self.config,
                rng,
                disk,
                contacts,
                cluster,
                host.wall_offset_us,
                score,
                packs=host.disk.packs(),
                **policy,
            )

        return self.world.add_host(contact or contact_for(self.seed, name), cluster, birth)

    def _enrol_later(self, _: int, record: Record) -> None:
        """A member counts for its ring's budget once the ring has had the time to take it in."""
        host = self.world.network.host_of(record.node)
        if host is not None and host.cluster is not None:
            span_us = BUDGET_WINDOW_HEARTBEATS * self.config.heartbeat_us
            self.world.agenda.after(span_us, self.budget.enrol, host.cluster, host.index, self.world.now)

    def start(self, host: Host) -> None:
        """Start a peer with what an operator would give it: the bootstrap and a few running peers."""
        self.world.start(host, self.contacts_for(host))

    def contacts_for(self, host: Host) -> tuple[Contact, ...]:
        """The bootstrap, a peer of its own cluster and some others, all running; none for the very first peer."""
        others = [peer.contact for peer in self.saboteur.peers() if peer is not host]
        near = [peer.contact for peer in self.saboteur.peers(host.cluster) if peer is not host]
        known = self.rng.sample(near, min(1, len(near)))
        known += [peer for peer in self.rng.sample(others, min(KNOWN_PEERS, len(others))) if peer not in known]
        if self.bootstrap is not None and (others or self.world.now > SECOND_US):
            known.insert(0, self.bootstrap.contact)
        return tuple(known)

    # Formation

    def form(self) -> bool:
        """Found every cluster and let its members join; False if that did not end in time."""
        self.add_bootstrap()
        late = 1 if self.scenario.late_cluster and self.scenario.clusters > 1 else 0
        numbers = range(self.scenario.clusters - late)
        for number in numbers:
            self.world.agenda.after(number * FOUNDING_GAP_US, self.found, cluster_named(number))
        deadline = self.world.now + int(self.scenario.formation_seconds_max * SECOND_US)
        wanted = len(numbers) * self.scenario.members
        while self.world.now < deadline:
            self.world.run_for(POLL_US)
            if len(self.saboteur.peers()) == wanted and self.is_formed():
                return True
        return False

    def found(self, cluster: ClusterId) -> None:
        """Start the founder of a cluster; its members follow once it leads."""
        hosts = [self.add_peer(cluster, f"{cluster}/{n}") for n in range(self.scenario.members)]
        self.start(hosts[0])
        self.world.agenda.after(POLL_US, self._join_when_founded, hosts)

    def _join_when_founded(self, hosts: list[Host]) -> None:
        said = status_of(hosts[0])
        if said is None or said.role is not Role.SUPER_NODE or said.prefix is None:
            self.world.agenda.after(POLL_US, self._join_when_founded, hosts)
            return
        for n, host in enumerate(hosts[1:]):
            self.world.agenda.after(n * MEMBER_GAP_US, self.start, host)

    def is_formed(self) -> bool:
        """Whether every running peer is in its ring, and every cluster serves all its keys."""
        statuses = self.statuses()
        return all(said.role is not Role.JOINING and said.serves and not said.filling for said in statuses)

    def statuses(self) -> list[NodeStatus]:
        """What every running peer says of itself."""
        said = [status_of(host) for host in self.saboteur.peers()]
        return [status for status in said if status is not None]

    # Strikes

    def strike_soon(
        self, rng: Random, node: NodeId, *, wipe: bool, within_us: int = SOON_US, down_us: int | None = None
    ) -> None:
        """Crash a peer in a moment, if the budget allows it then."""
        self.world.agenda.after(rng.randrange(within_us), self.strike, node, wipe, down_us)

    def strike(self, node: NodeId, wipe: bool, down_us: int | None = None) -> None:
        """Crash a peer, if it runs and the budget allows it."""
        host = self.world.network.host_of(node)
        if host is not None and host.is_up:
            self.saboteur.strike(host, wipe=wipe, down_us=down_us)

    def _birth_registry(self, host: Host, rng: Random, disk: Disk, contacts: tuple[Contact, ...]) -> RegistryCore:
        return RegistryCore(host.contact, host.incarnation, self.config, rng)
