"""Settled cubes of real nodes, one member per cluster, and the casts that are made in them."""

from __future__ import annotations

from random import Random

from p2psub.model.content import TOPIC, Draft, Filter, Operator, Predicate
from p2psub.model.effects import PublishCommand, SubscribeCommand
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, NodeId, SubscriptionId
from p2psub.model.instants import SECOND_US
from p2psub.model.records import Kind, Record
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.casts_seen import Cast, casts_in
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage

SETTLE_US = 4 * SECOND_US
FORMATION_HEARTBEATS_PER_CLUSTER = 12


class Cube:
    """A cube that `size` clusters of one peer formed in a random order, with nothing broken since."""

    def __init__(self, size: int, seed: int) -> None:
        scenario = Scenario(clusters=size, members=1, faults=(), schedules=(), bootstrap=False)
        self.stage = Stage(scenario, seed)
        self._commands = 0
        world, rng = self.stage.world, Random(f"{seed}/founding")
        self.stage.add_bootstrap()
        for number in rng.sample(range(size), size):
            self.stage.found(cluster_named(number))
            world.run_for(rng.randrange(SECOND_US // 10, SECOND_US))
        for _ in range(FORMATION_HEARTBEATS_PER_CLUSTER * size):
            world.run_for(SECOND_US)
            if len(self.stage.saboteur.peers()) == size and self.is_settled():
                break
        world.run_for(SETTLE_US)
        assert self.is_settled(), f"{size} clusters did not form a cube"

    @property
    def peers(self) -> list[Host]:
        return self.stage.saboteur.peers()

    def is_settled(self) -> bool:
        """Whether every cluster serves, and all of them know the same cube."""
        statuses = self.stage.statuses()
        return self.stage.is_formed() and len({said.clusters for said in statuses}) == 1

    def prefixes(self) -> dict[NodeId, Prefix]:
        """The place of every cluster."""
        places: dict[NodeId, Prefix] = {}
        for host in self.peers:
            said = status_of(host)
            assert said is not None
            assert said.prefix is not None
            places[host.id] = said.prefix
        return places

    def subscribe(self, host: Host, topic: str) -> None:
        self._commands += 1
        wanted = Filter(((Predicate(TOPIC, Operator.EQUAL, topic),),))
        self.stage.world.command(host, SubscribeCommand(self._commands, wanted, False, 1 << 30))

    def publish(self, host: Host, topic: str) -> None:
        self._commands += 1
        self.stage.world.command(host, PublishCommand(self._commands, [Draft(topic)]))

    def run_for(self, span_us: int) -> None:
        self.stage.world.run_for(span_us)

    def records(self, *kinds: Kind) -> list[Record]:
        """What was recorded so far, event by event."""
        return [record for _, record in self.stage.world.trace.happenings(*kinds)]

    def casts(self) -> dict[CastId, Cast]:
        """Every cast so far."""
        return casts_in(record for _, record in self.stage.world.trace.entries)

    def delivered(self) -> list[tuple[int, NodeId, SubscriptionId]]:
        """Event sequence, publisher and subscription of every hand-over."""
        return [
            (record.event.sequence, record.event.node, record.subscription)
            for record in self.records(Kind.DELIVER)
            if record.event is not None and record.subscription is not None
        ]
