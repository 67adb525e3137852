"""What nodes say to each other in three scenes: a join, a publish across clusters, a failover.

Each is a run of the simulator without faults but its own; a line is one message, with the time since the scene began.
Messages that repeat on every beat are left out once they say nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from p2psub.model.content import TOPIC, Draft, Filter, Operator, Predicate
from p2psub.model.effects import Effect, Input, PublishCommand, SubscribeCommand, Transmit
from p2psub.model.ids import NodeId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages import Message, casts, cluster, pubsub, ring, shards
from p2psub.model.status import Role
from p2psub.node.core import NodeCore
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage

SEED: Final = 4
SIZE: Final = Scenario(clusters=2, members=4, seconds=90, faults=(), schedules=(), bootstrap=False)

JOIN: Final = (
    cluster.Heartbeat,
    cluster.HeartbeatAck,
    ring.Lookup,
    ring.Found,
    cluster.IndexTransfer,
    cluster.IndexStored,
)
PUBLISH: Final = (
    pubsub.Publish,
    shards.MatchRequest,
    shards.MatchResponse,
    pubsub.StoreCopy,
    pubsub.CopyStored,
    pubsub.Acknowledge,
    pubsub.Deliver,
    pubsub.Delivered,
    pubsub.Route,
    pubsub.Routed,
    pubsub.Discharged,
    casts.EventCast,
    casts.Custody,
    casts.Answer,
)
FAILOVER: Final = (
    cluster.Takeover,
    cluster.Heartbeat,
    cluster.HeartbeatAck,
    cluster.IndexTransfer,
    cluster.IndexStored,
)

Said = tuple[int, NodeId, NodeId, Message]


class Overheard(NodeCore):
    """A node whose messages somebody writes down."""

    def __init__(self, heard: Callable[[NodeId, NodeId, Message], None], *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._heard = heard
        self._name: NodeId = arguments[0].id

    def step(self, inputs: Iterable[Input], now: Micros) -> list[Effect]:
        """Step, and tell what is transmitted."""
        effects = super().step(inputs, now)
        for effect in effects:
            if isinstance(effect, Transmit):
                for message in effect.messages:
                    self._heard(self._name, effect.peer, message)
        return effects


class Scene:
    """Two clusters of four; what their nodes say from `begin` on."""

    def __init__(self) -> None:
        self._said: list[Said] = []
        self._began_us = 0
        self.stage = Stage(SIZE, SEED, node=partial(Overheard, self._hear))
        assert self.stage.form(), "the overlay has not formed"
        self.run(20)
        self._names = self._name_all()
        self._said.clear()

    def _hear(self, sender: NodeId, receiver: NodeId, message: Message) -> None:
        self._said.append((self.stage.world.now, sender, receiver, message))

    def run(self, seconds: float) -> None:
        self.stage.world.run_for(int(seconds * SECOND_US))

    def hosts(self, number: int) -> list[Host]:
        """The peers of a cluster, its super-node first."""
        hosts = self.stage.saboteur.peers(cluster_named(number))
        return sorted(hosts, key=lambda host: (not self.is_super_node(host), host.index))

    def is_super_node(self, host: Host) -> bool:
        said = status_of(host)
        return said is not None and said.role is Role.SUPER_NODE

    def _name_all(self) -> dict[NodeId, str]:
        names: dict[NodeId, str] = {}
        for number, letter in enumerate("AB"):
            members = iter(range(1, 100))
            for host in self.hosts(number):
                names[host.id] = f"SN({letter})" if self.is_super_node(host) else f"{letter}{next(members)}"
        return names

    def name(self, host: Host, name: str) -> None:
        """Call a peer something."""
        self._names[host.id] = name

    def begin(self) -> None:
        """What is said from now on is written down."""
        self._said.clear()
        self._began_us = self.stage.world.now

    def transcript(self, classes: tuple[type[Message], ...], *, is_news: Callable[[Said], bool] | None = None) -> str:
        """A line for each message of these classes."""
        shown = [said for said in self._said if isinstance(said[3], classes) and (is_news is None or is_news(said))]
        return "".join(self._line(said) for said in shown)

    def _line(self, said: Said) -> str:
        at_us, sender, receiver, message = said
        spent_ms = (at_us - self._began_us) / 1_000
        return f"{spent_ms:8.1f} ms  {self._names[sender]:>6} -> {self._names[receiver]:<6}  {_shown(message)}\n"


def _shown(message: Message) -> str:
    """The class of a message, and what tells it from others of its class."""
    name = type(message).__name__
    match message:
        case cluster.Heartbeat():
            marks = [mark for mark, holds in (("in_ring", message.in_ring), ("leaving", message.leaving)) if holds]
            return f"{name}({', '.join(marks)})" if marks else name
        case cluster.HeartbeatAck():
            return f"{name}(table {message.table.version.n})" if message.table is not None else name
        case cluster.IndexTransfer() | cluster.IndexStored():
            return f"{name}(table {message.version.n})"
        case pubsub.Acknowledge():
            said = [f"copies={outcome.copies}, matched={outcome.matched}" for outcome in message.outcomes]
            return f"{name}({'; '.join(said)})"
        case pubsub.Delivered() | pubsub.Routed():
            return f"{name}({', '.join(said.outcome for said in message.outcomes)})"
        case cluster.Takeover():
            return f"{name}(epoch {message.epoch.counter})"
        case _:
            return name


def join() -> str:
    """A ninth peer joins cluster A: from its first heartbeat until it serves its arc."""
    scene = Scene()
    newcomer = scene.stage.add_peer(cluster_named(0), "newcomer")
    scene.name(newcomer, "new")
    scene.begin()
    scene.stage.start(newcomer)
    scene.run(1.5)
    versions: set[object] = set()

    def is_news(said: Said) -> bool:
        _, sender, receiver, message = said
        if newcomer.id not in (sender, receiver):
            return isinstance(message, cluster.IndexTransfer | cluster.IndexStored)
        if isinstance(message, cluster.Heartbeat | cluster.HeartbeatAck):
            ack = isinstance(message, cluster.HeartbeatAck)
            table = message.table.version if isinstance(message, cluster.HeartbeatAck) and message.table else None
            in_ring = message.in_ring if isinstance(message, cluster.Heartbeat) else None
            word = (ack, table, in_ring)
            is_new = word not in versions
            versions.add(word)
            return is_new
        return not isinstance(message, ring.Lookup) or sender == newcomer.id

    transcript = scene.transcript(JOIN, is_news=is_news)
    said = status_of(newcomer)
    assert said is not None
    assert said.serves, "the newcomer does not serve"
    return transcript


def publish() -> str:
    """A peer of cluster A publishes; one peer of each cluster has subscribed to the topic."""
    scene = Scene()
    wanted = Filter(((Predicate(TOPIC, Operator.EQUAL, "quotes/ACME"),),))
    near, far = scene.hosts(0)[2], scene.hosts(1)[2]
    for number, host in enumerate((near, far), 1):
        scene.stage.world.command(host, SubscribeCommand(number, wanted))
    scene.run(20)
    scene.begin()
    scene.stage.world.command(scene.hosts(0)[1], PublishCommand(9, [Draft("quotes/ACME", {"price": 12.5})]))
    scene.run(3)
    return scene.transcript(PUBLISH)


def failover() -> str:
    """The super-node of cluster A crashes: who takes over, and how its members come to follow."""
    scene = Scene()
    leader, *members = scene.hosts(0)
    scene.begin()
    scene.stage.world.crash(leader)
    scene.run(12)
    (successor,) = [host for host in members if scene.is_super_node(host)]
    heartbeats: set[NodeId] = set()
    tables: set[object] = set()

    def is_news(said: Said) -> bool:
        _, sender, receiver, message = said
        if isinstance(message, cluster.Heartbeat):
            is_first = receiver == successor.id and sender not in heartbeats
            heartbeats.update([sender] if is_first else [])
            return is_first
        if isinstance(message, cluster.HeartbeatAck):
            word = (receiver, message.table and message.table.version, message.epoch)
            is_first = sender == successor.id and word not in tables
            tables.add(word)
            return is_first
        return successor.id in (sender, receiver)

    return scene.transcript(FAILOVER, is_news=is_news)


SCENES: Final[dict[str, Callable[[], str]]] = {"join": join, "publish": publish, "failover": failover}
