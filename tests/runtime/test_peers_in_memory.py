"""Real cores behind real links and drivers, with the network in memory and time virtual: they are an overlay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest
import trio
import trio.testing

from p2psub.api.errors import NotTaken
from p2psub.api.items import Notification
from p2psub.api.join_stages import stage_of
from p2psub.api.status import PeerStatus
from p2psub.config import NodeConfig
from p2psub.model.content import Draft, Filter, Guarantee
from p2psub.model.effects import Persist, Stored
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.status import Role
from p2psub.node.core import NodeCore
from p2psub.runtime.driver import Driver
from p2psub.runtime.handshake import Self
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.links import LinkTable
from p2psub.runtime.peer import Peer
from p2psub.runtime.pulse import Pulse
from tests.runtime.memory import OVERLAY, MemoryNetwork
from tests.unit.bench import at
from tests.unit.runtime.control.fakes import STATUS

CONFIG = NodeConfig()
BEAT_S = CONFIG.heartbeat_us / 1e6
FORMING_S = 60.0
FAILOVER_S = 30 * BEAT_S

Disk = dict[str, dict[tuple[object, ...], object]]


class MemoryPeer:
    """A whole peer without socket and file; whoever keeps its disk can start it again."""

    def __init__(
        self, network: MemoryNetwork, me: Contact, contacts: tuple[Contact, ...], disk: Disk, start: int
    ) -> None:
        self.contact = me
        self.disk = disk
        self.inbox = Inbox()
        self.transport = network.transport(me)
        self.links = LinkTable(Self(OVERLAY, me, start), self.transport, self.inbox)
        pulse = Pulse()
        self.peer = Peer(self.inbox, self.status, lambda: 0, pulse)
        # A disk that a later start reads must not change under the core that reads it.
        durable = {namespace: dict(rows) for namespace, rows in disk.items()}
        self.core = NodeCore(me, start, CONFIG, Random(me.id), durable, contacts, ClusterId("blue"))
        self.driver = Driver(
            self.core,
            self.inbox,
            self.links,
            self._persist,
            _drop,
            _drop,
            self.peer.notified,
            self.peer.replied,
            pulse=pulse,
        )

    def _persist(self, persist: Persist) -> None:
        for write in persist.writes:
            rows = self.disk.setdefault(write.namespace, {})
            if write.value is None:
                rows.pop(write.name, None)
            else:
                rows[write.name] = write.value
        self.inbox.put_nowait(Stored(persist.number))

    async def run(self) -> None:
        await self.transport.bind()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.links.run)
            nursery.start_soon(self.transport.serve, self.links.accept)
            nursery.start_soon(self.driver.run)

    def status(self) -> PeerStatus:
        stage = stage_of(self.core.status(), len(self.links.open), uptime_s=0.0)
        return msgspec.structs.replace(
            STATUS, node=self.core.status(), stage=stage.name, missing=stage.missing, ready=stage.missing is None
        )

    @property
    def is_super_node(self) -> bool:
        return self.core.status().role is Role.SUPER_NODE


def _drop(_: object) -> None:
    """Nobody reads the records."""


class Neighbourhood:
    """Peers that run, and can be killed and started again."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self.network = MemoryNetwork()
        self.peers: dict[int, MemoryPeer] = {}
        self._scopes: dict[int, trio.CancelScope] = {}
        self._disks: dict[int, Disk] = {}
        self._starts: dict[int, int] = {}

    def start(self, place: int) -> MemoryPeer:
        """Start the peer at this place, or start it again; the first of all founds, and the others know it."""
        self._starts[place] = self._starts.get(place, 0) + 1
        contacts = (at(1),) if place != 1 else ()
        disk = self._disks.setdefault(place, {})
        peer = self.peers[place] = MemoryPeer(self.network, at(place), contacts, disk, self._starts[place])
        scope = self._scopes[place] = trio.CancelScope()

        async def run() -> None:
            with scope:
                await peer.run()

        self._nursery.start_soon(run)
        return peer

    def kill(self, place: int) -> None:
        """Without a word."""
        self._scopes[place].cancel()
        del self.peers[place]

    async def wait_until(self, condition: Callable[[], bool], seconds: float = FORMING_S) -> None:
        """In virtual time."""
        with trio.fail_after(seconds):
            while not condition():
                await trio.sleep(BEAT_S / 10)

    async def form(self, *places: int) -> None:
        """Start peers, and wait until all are ready and agree on one super-node."""
        for place in places:
            self.start(place)
        await self.wait_until(self.is_one)

    def is_one(self) -> bool:
        """Whether all that run are ready, follow one of them, and own the ring together."""
        nodes = [peer.core.status() for peer in self.peers.values()]
        everybody = sorted(node.id for node in nodes)
        return (
            all(peer.status().ready for peer in self.peers.values())
            and len({node.super_node for node in nodes}) == 1
            and all(sorted(node.owners) == everybody for node in nodes)
        )

    @property
    def super_node(self) -> int:
        """The place of the one that leads."""
        (place,) = [place for place, peer in self.peers.items() if peer.is_super_node]
        return place

    def links(self) -> dict[NodeId, list[NodeId]]:
        """Who is linked with whom."""
        return {peer.contact.id: sorted(link.peer.id for link in peer.links.open) for peer in self.peers.values()}


@pytest.fixture
async def neighbourhood() -> AsyncIterator[Neighbourhood]:
    """Nobody lives there yet."""
    async with trio.open_nursery() as nursery:
        yield Neighbourhood(nursery)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def subscribed(peer: MemoryPeer) -> AsyncIterator[list[str]]:
    """The topics of the events that reach an application at this peer."""
    heard: list[str] = []
    async with peer.peer.subscribe(Filter()) as subscription, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def take() -> None:
            async for item in subscription:
                assert isinstance(item, Notification)
                heard.append(item.event.topic)

        yield heard
        nursery.cancel_scope.cancel()


async def test_three_peers_are_a_cluster(neighbourhood: Neighbourhood, autojump_clock: trio.testing.MockClock) -> None:
    """One rules, all own keys, and between any two there is one link at most, on which both agree."""
    await neighbourhood.form(1, 2, 3)
    assert [neighbourhood.peers[place].is_super_node for place in (1, 2, 3)].count(True) == 1
    links = neighbourhood.links()
    assert all(peer in links[other] for peer, others in links.items() for other in others)
    assert all(len(set(others)) == len(others) for others in links.values())
    counters = [peer.links.counters for peer in neighbourhood.peers.values()]
    assert not [c for c in counters if c["link_bugs"] or c["peer_faults"]]
    assert not [peer for peer in neighbourhood.peers.values() if peer.driver.counters["core_faults"]]


async def test_what_one_publishes_another_gets(
    neighbourhood: Neighbourhood, autojump_clock: trio.testing.MockClock
) -> None:
    """Once; the publisher knows how many copies there are and how many wanted it."""
    await neighbourhood.form(1, 2, 3)
    async with subscribed(neighbourhood.peers[2]) as heard:
        for number in range(20):
            outcome = await neighbourhood.peers[3].peer.publish({}, topic=str(number))
            assert (outcome.copies, outcome.matched) == (3, 1)
        await neighbourhood.wait_until(lambda: len(heard) >= 20)
        assert sorted(heard, key=int) == [str(number) for number in range(20)]


@pytest.mark.parametrize("is_super_node", [True, False])
async def test_a_killed_peer_is_done_without(
    neighbourhood: Neighbourhood, is_super_node: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """The others find a new super-node if it was theirs, share the ring, and deliver on; nothing is lost or doubled."""
    await neighbourhood.form(1, 2, 3, 4, 5)
    leader = neighbourhood.super_node
    others = [place for place in neighbourhood.peers if place != leader]
    victim, publisher, subscriber = (leader, *others[:2]) if is_super_node else (others[2], *others[:2])
    async with subscribed(neighbourhood.peers[subscriber]) as heard:
        await neighbourhood.peers[publisher].peer.publish({}, topic="before")
        neighbourhood.kill(victim)
        await neighbourhood.peers[publisher].peer.publish({}, topic="meanwhile")
        await neighbourhood.wait_until(neighbourhood.is_one, FAILOVER_S)
        assert (neighbourhood.super_node == leader) != is_super_node
        await neighbourhood.peers[publisher].peer.publish({}, topic="after")
        await neighbourhood.wait_until(lambda: len(heard) >= 3)
        await trio.sleep(10 * BEAT_S)
        assert sorted(heard) == ["after", "before", "meanwhile"]


async def test_a_peer_that_is_started_again_is_itself(
    neighbourhood: Neighbourhood, autojump_clock: trio.testing.MockClock
) -> None:
    """Ten times in a row: each time it takes its old place, and its old links are replaced, not kept beside."""
    await neighbourhood.form(1, 2, 3)
    member = next(place for place in neighbourhood.peers if place != neighbourhood.super_node)
    for _ in range(10):
        neighbourhood.kill(member)
        neighbourhood.start(member)
        await neighbourhood.wait_until(neighbourhood.is_one)
    links = neighbourhood.links()
    assert all(len(set(others)) == len(others) <= 2 for others in links.values())
    async with subscribed(neighbourhood.peers[member]) as heard:
        await neighbourhood.peers[neighbourhood.super_node].peer.publish({}, topic="again")
        await neighbourhood.wait_until(lambda: heard == ["again"])


async def test_a_subscription_is_stable_in_a_whole_cluster(
    neighbourhood: Neighbourhood, autojump_clock: trio.testing.MockClock
) -> None:
    """The verdict says so, and leaving the block ends it everywhere."""
    await neighbourhood.form(1, 2, 3)
    peer = neighbourhood.peers[3].peer
    async with peer.subscribe(Filter()) as subscription:
        assert subscription.verdict.status is VerdictStatus.STABLE
        assert neighbourhood.peers[3].core.status().active_subscriptions == (subscription.id,)
    await neighbourhood.wait_until(lambda: not neighbourhood.peers[3].core.status().active_subscriptions)
    await trio.sleep(5 * BEAT_S)
    assert (await neighbourhood.peers[1].peer.publish({}, topic="t")).matched == 0


async def test_an_advertisement_is_known_to_the_super_node_and_holds_its_peer(
    neighbourhood: Neighbourhood, autojump_clock: trio.testing.MockClock
) -> None:
    """A second's worth is taken at once; other peers and other topics are free; it ends with its block."""
    await neighbourhood.form(1, 2, 3)
    member = next(peer for peer in neighbourhood.peers.values() if not peer.is_super_node)
    leader = next(peer for peer in neighbourhood.peers.values() if peer.is_super_node)
    async with member.peer.advertise("topic = 'a'", rate=2) as advertisement:
        assert advertisement.verdict.status is VerdictStatus.STABLE
        (known,) = leader.core.status().advertised
        assert (known.id, known.rate) == (advertisement.id, 2)
        for guarantee in Guarantee:
            await trio.sleep(2)
            outcomes = await member.peer.publish_many([Draft("a", guarantee=guarantee)] * 3)
            assert [outcome.refused for outcome in outcomes] == [None, None, "above_rate"]
            with pytest.raises(NotTaken, match="advertise a higher rate"):
                await member.peer.publish({}, topic="a", guarantee=guarantee)
        await member.peer.publish({}, topic="b")
        await leader.peer.publish({}, topic="a")
    await neighbourhood.wait_until(lambda: not leader.core.status().advertised)
    await member.peer.publish_many([Draft("a")] * 10)
