"""Hyper ("Publish-subscribe system based on structural P2P"), sentence by sentence, on the code that is shipped.

Each test names the section it takes its claim from. Rings and cubes here are ideal: what faults do to them is the
business of the simulations.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil, log2
from statistics import fmean

import pytest

from p2psub.config import RingConfig
from p2psub.model.circle import CIRCLE, distance, place_after
from p2psub.model.content import Draft
from p2psub.model.effects import PublishCommand, SubscribeCommand, UnsubscribeCommand
from p2psub.model.graycode import Prefix, label_of, sibling_half
from p2psub.model.ids import ID_BYTES, ClusterId, Contact, Key, NodeId, SubscriptionId, digest_of, key_of_topic
from p2psub.model.instants import SECOND_US
from p2psub.model.messages.casts import ChangeCast
from p2psub.model.messages.ring import Lookup
from p2psub.model.places import Table, TableVersion
from p2psub.model.records import Kind, Record
from p2psub.node.core import NodeCore
from p2psub.node.cores import Cores
from sims.engine.host import Host
from sims.experiments.broadcast import Algorithm, BroadcastReading, Choice, Trial, perform
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from tests.unit.bench import CONFIG, epoch, event_of, matched_by, node_at, on_topic, sent
from tests.unit.casts.cubes import CHANGE, Bench, leader_of
from tests.unit.overlay.rings import Exchange

DIMENSIONS = (1, 2, 3, 4)

# 2.1, the hypercube of super-nodes


def labels_of(dimensions: int) -> list[Prefix]:
    """The labels of a complete cube, by position."""
    return [label_of(position, dimensions) for position in range(1 << dimensions)]


def differing(one: str, other: str) -> list[int]:
    """The bits in which two labels differ."""
    return [d for d, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_2_1_positions_are_numbered_by_brgc(dimensions: int) -> None:
    """2.1: N = 2^n nodes get binary numbers of length n by BRGC; adjacent ones differ in one bit."""
    labels = labels_of(dimensions)
    assert len(set(labels)) == 1 << dimensions
    assert {len(label) for label in labels} == {dimensions}
    assert all(len(differing(one, other)) == 1 for one, other in pairwise([*labels, labels[0]]))


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_2_1_every_node_has_degree_n(dimensions: int) -> None:
    """2.1: each node has n neighbours, those whose number differs in one bit; both are each other's i-th."""
    labels = labels_of(dimensions)
    cube = Bench(labels[0], tuple(labels)).directory
    for own in labels:
        near = [label for label in labels if len(differing(own, label)) == 1]
        assert len(near) == dimensions
        assert {c.id for c in cube.neighbours(own)} == {leader_of(label).id for label in near}
        assert all(leader_of(own) in cube.neighbours(label) for label in near)


class CubeWalk:
    """A broadcast through the real casts of a complete cube, message by message."""

    def __init__(self, dimensions: int, root: Prefix) -> None:
        labels = labels_of(dimensions)
        nodes = {label: Bench(label, tuple(labels)) for label in labels}
        self.received: Counter[Prefix] = Counter({root: 1})
        self.messages: list[tuple[Prefix, Prefix, int]] = []
        self.hops = 0
        nodes[root].start(CHANGE)
        waiting = [root]
        by_leader = {leader_of(label): label for label in labels}
        while waiting:
            sender = waiting.pop(0)
            for to, message in sent(nodes[sender].step):
                if isinstance(message, ChangeCast):
                    receiver = by_leader[to]
                    self.messages.append((sender, receiver, len(message.subcube) - 1))
                    self.received[receiver] += 1
                    self.hops = max(self.hops, message.hops)
                    nodes[receiver].casts.on_cast(leader_of(sender), message)
                    waiting.append(receiver)
        self.stored = [label for label in labels if nodes[label].local.taken]


WALKS = [(dimensions, root) for dimensions in DIMENSIONS for root in labels_of(dimensions)]


@pytest.mark.parametrize(("dimensions", "root"), WALKS)
def test_2_1_broadcast_reaches_everybody_once_from_every_root(dimensions: int, root: Prefix) -> None:
    """2.1: every node receives once, N-1 messages in all, the last after n hops; any node can be the source."""
    walk, size = CubeWalk(dimensions, root), 1 << dimensions
    assert walk.received == Counter(labels_of(dimensions))
    assert sorted(walk.stored) == sorted(labels_of(dimensions))
    assert len(walk.messages) == size - 1
    assert walk.hops == dimensions


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_2_1_receivers_forward_on_higher_edges_only(dimensions: int) -> None:
    """2.1: the root sends to all its neighbours; a receiver on edges with a number above the one it came by."""
    root = labels_of(dimensions)[-1]
    walk = CubeWalk(dimensions, root)
    came_by = {receiver: edge for _, receiver, edge in walk.messages}
    assert [edge for sender, _, edge in walk.messages if sender == root] == list(range(dimensions))
    for sender, receiver, edge in walk.messages:
        assert differing(sender, receiver) == [edge]
        assert receiver.startswith(sibling_half(sender, edge))
        if sender != root:
            assert edge > came_by[sender]


# 2.2, the Chord rings of the clusters


def ring_of(size: int, fingers: int = CONFIG.ring.fingers) -> tuple[Exchange, list[Contact]]:
    """An ideal ring of members with hashed ids, fingers filled."""
    members = [Contact(NodeId(digest_of(b"member", str(n).encode())), str(n)) for n in range(size)]
    exchange = Exchange(config=RingConfig(fingers=fingers))
    exchange.found_ideal(members)
    exchange.fill_fingers()
    return exchange, sorted(members, key=lambda contact: contact.id)


def successor(key: Key, members: list[Contact]) -> Contact:
    """The first member whose id is equal to or follows the key: the paper's rule, by looking at all of them."""
    return min(members, key=lambda member: distance(key, member.id))


KEYS = [key_of_topic(f"topic {n}") for n in range(40)]


def test_2_2_nodes_and_resources_share_one_circle() -> None:
    """2.2: a consistent hash gives every resource a key of the same m bits as the nodes' keys, the same everywhere."""
    assert {len(key) for key in KEYS} == {len(node_at(1))} == {ID_BYTES}
    assert len(set(KEYS)) == len(KEYS)
    assert [key_of_topic(f"topic {n}") for n in range(40)] == KEYS


@pytest.mark.parametrize("size", [1, 2, 3, 5, 16, 64])
def test_2_2_key_is_stored_at_its_successor(size: int) -> None:
    """2.2: a key lives at successor(key), the first node equal to or after it; every node finds the same one."""
    exchange, members = ring_of(size)
    table = Table(TableVersion(epoch(1, 1), 1), tuple(members), size)
    for key in KEYS[:10]:
        owner = successor(key, members)
        assert {exchange.look_up(member, key).successors[0] for member in members} == {owner}
        assert table.owner_of(key) == owner
    assert all(table.owner_of(Key(member.id)) == member for member in members)


def test_2_2_finger_is_the_successor_of_a_place_a_power_of_two_away() -> None:
    """2.2: the i-th finger is the first node at or after nodekey + 2^(i-1); we keep the longest ones."""
    exchange, members = ring_of(16)
    for peer in exchange.peers.values():
        for i, finger in peer.ring.fingers.items():
            start = place_after(peer.step.me.id, CIRCLE >> i)
            assert finger == successor(Key(start), members)


def test_2_2_look_up_goes_to_the_last_known_node_that_does_not_pass_the_key() -> None:
    """2.2: of the routing table, the greatest entry that does not exceed the key."""
    exchange, members = ring_of(32)
    for peer in list(exchange.peers.values())[:8]:
        known = [*peer.ring.successors, *peer.ring.fingers.values()]
        for key in KEYS:
            if not peer.ring.answers_for(key):
                before = [c for c in known if distance(peer.step.me.id, c.id) < distance(peer.step.me.id, key)]
                assert peer.ring.next_hop(key) == max(before, key=lambda c: distance(peer.step.me.id, c.id))
    assert len(members) == 32


def test_2_2_figure_4() -> None:
    """2.2, figure 4: with m = 6, node 8 looks for key 54 by way of 42 and 51, and finds node 56."""
    scale = 4  # six bits of the figure are the first six of our circle
    exchange = Exchange([n * scale for n in (1, 8, 14, 21, 32, 38, 42, 48, 51, 56)], RingConfig(successors=1))
    exchange.fill_fingers()
    key, path = Key(node_at(54 * scale)), [8]
    exchange.peers[node_at(8 * scale)].lookups.start(key, lambda found: path.append(found.successors[0].id[0] // scale))
    while busy := [peer for peer in exchange.peers.values() if peer.step.sends]:
        ((to, message),) = sent(busy[0].step)
        if isinstance(message, Lookup):
            path.append(to.id[0] // scale)
        exchange.peers[to.id].hear(busy[0].step.me, message)
    assert path == [8, 42, 51, 56]


# 3.1, subscriptions and events through a whole overlay

CLUSTERS, MEMBERS = 3, 4
TOPIC = "weather"


class Overlay:
    """A settled overlay of real nodes, and what its trace shows."""

    def __init__(self) -> None:
        scenario = Scenario(clusters=CLUSTERS, members=MEMBERS, faults=(), schedules=(), bootstrap=False)
        self.stage = Stage(scenario, seed=3)
        assert self.stage.form()
        # Older tables must confirm too until their leases are over: let that pass.
        self.run(12)
        self.command = 0

    @property
    def peers(self) -> list[Host]:
        return self.stage.saboteur.peers()

    def run(self, seconds: int) -> None:
        self.stage.world.run_for(seconds * SECOND_US)

    def of_cluster(self, cluster: ClusterId) -> list[Host]:
        return self.stage.saboteur.peers(cluster)

    def clusters(self) -> list[ClusterId]:
        return sorted({host.cluster for host in self.peers if host.cluster is not None})

    def subscribe(self, host: Host, topic: str, *, replay: bool = False) -> SubscriptionId:
        """Subscribe, and wait until it stands."""
        self.command += 1
        before = len(self.records(Kind.SUBSCRIBE))
        self.stage.world.command(host, SubscribeCommand(self.command, on_topic(topic), replay))
        self.run(4)
        (record,) = self.records(Kind.SUBSCRIBE)[before:]
        assert record.subscription is not None
        return record.subscription

    def unsubscribe(self, host: Host, subscription: SubscriptionId) -> None:
        self.command += 1
        self.stage.world.command(host, UnsubscribeCommand(self.command, subscription))
        self.run(4)

    def publish(self, host: Host, topic: str, *, retain_s: float = 0.0) -> int:
        """Publish, and wait until everything owed is paid; the place in the trace where that began."""
        self.command += 1
        before = len(self.stage.world.trace.entries)
        self.stage.world.command(host, PublishCommand(self.command, [Draft(topic, retain_s=retain_s)]))
        self.run(4)
        return before

    def records(self, kind: Kind, since: int = 0) -> list[Record]:
        return [record for _, record in self.stage.world.trace.happenings(kind, since=since)]

    def holders(self, topic: str) -> dict[ClusterId, list[Host]]:
        """Per cluster, who has a subscription to the topic in its index."""
        event = event_of(topic)
        found: dict[ClusterId, list[Host]] = {cluster: [] for cluster in self.clusters()}
        for host in self.peers:
            assert host.cluster is not None
            if matched_by(cores_of(host), event):
                found[host.cluster].append(host)
        return found

    def owner(self, cluster: ClusterId, topic: str) -> Host:
        """successor(key) among the members of a cluster."""
        key = key_of_topic(topic)
        return min(self.of_cluster(cluster), key=lambda host: distance(key, host.id))


def cores_of(host: Host) -> Cores:
    """The running node's cores."""
    assert isinstance(host.core, NodeCore)
    return host.core._cores


@pytest.fixture(scope="module")
def overlay() -> Overlay:
    """One overlay for all claims of 3.1; each uses topics of its own."""
    return Overlay()


def test_3_1_1_subscription_is_stored_at_the_owner_of_its_key_in_every_cluster(overlay: Overlay) -> None:
    """3.1.1: in its own ring by Chord, and in every other that the multicast tree reaches; nowhere else."""
    overlay.subscribe(overlay.peers[1], "3.1.1")
    assert overlay.holders("3.1.1") == {cluster: [overlay.owner(cluster, "3.1.1")] for cluster in overlay.clusters()}


def test_3_1_1_subscription_travels_down_one_tree_rooted_at_its_own_super_node(overlay: Overlay) -> None:
    """3.1.1: SN_i passes it to all other super-nodes along the tree built with SN_i as root: N-1 messages."""
    before = len(overlay.stage.world.trace.entries)
    host = overlay.peers[2]
    overlay.subscribe(host, "tree")
    (cast,) = overlay.records(Kind.CAST, before)
    status = cores_of(host).election.super_node
    assert status is not None
    assert cast.node == status.id
    forwards = [record for record in overlay.records(Kind.FORWARD, before) if record.cast == cast.cast]
    receives = [record for record in overlay.records(Kind.RECEIVE, before) if record.cast == cast.cast]
    assert len(forwards) == len({record.node for record in receives}) == CLUSTERS - 1


def test_3_1_1_new_subscription_is_matched_with_the_events_already_stored(overlay: Overlay) -> None:
    """3.1.1: in its own cluster and in every other; what matches is passed back to CN_i, once."""
    first, *_, last = overlay.clusters()
    for cluster in (first, last):
        overlay.publish(overlay.of_cluster(cluster)[2], "stored", retain_s=600.0)
    before = len(overlay.stage.world.trace.entries)
    subscription = overlay.subscribe(overlay.of_cluster(first)[1], "stored", replay=True)
    overlay.run(4)
    handed_over = overlay.records(Kind.DELIVER, before)
    assert len({record.event for record in handed_over}) == len(handed_over) == 2
    assert {record.subscription for record in handed_over} == {subscription}


def test_3_1_2_event_is_stored_and_matched_at_the_owner_of_its_key_in_its_own_cluster(overlay: Overlay) -> None:
    """3.1.2: CN_k = successor(N-K) of the publisher's ring stores and matches it; no other cluster does."""
    for publisher in (overlay.peers[0], overlay.peers[-1]):
        assert publisher.cluster is not None
        before = overlay.publish(publisher, TOPIC)
        owner = overlay.owner(publisher.cluster, TOPIC)
        assert [record.node for record in overlay.records(Kind.STORE, before)] == [owner.id]
        assert [record.node for record in overlay.records(Kind.MATCH, before)] == [owner.id]


def test_3_1_2_same_cluster_is_served_without_the_cube(overlay: Overlay) -> None:
    """3.1.2: publisher and subscriber in one cluster: the event goes back to CN_j, and no super-node casts it."""
    one, other = overlay.of_cluster(overlay.clusters()[0])[:2]
    subscription = overlay.subscribe(one, "near")
    before = overlay.publish(other, "near")
    assert [record.subscription for record in overlay.records(Kind.DELIVER, before)] == [subscription]
    assert overlay.records(Kind.CAST, before) == []


def test_3_1_2_other_clusters_are_served_through_the_two_super_nodes(overlay: Overlay) -> None:
    """3.1.2: CN_k hands it to SN_m, that to SN_n, that to CN_j: one cast by the publisher's own super-node."""
    first, *_, last = overlay.clusters()
    subscription = overlay.subscribe(overlay.of_cluster(last)[1], "far")
    publisher = overlay.of_cluster(first)[1]
    before = overlay.publish(publisher, "far")
    assert [record.subscription for record in overlay.records(Kind.DELIVER, before)] == [subscription]
    leader, target = (cores_of(overlay.of_cluster(c)[0]).election.super_node for c in (first, last))
    assert leader is not None
    assert target is not None
    (cast,) = overlay.records(Kind.CAST, before)
    assert cast.node == leader.id
    assert target.id in [record.peer for record in overlay.records(Kind.FORWARD, before)]


def test_3_1_3_unsubscribing_removes_it_from_every_cluster(overlay: Overlay) -> None:
    """3.1.3: a cancellation is spread like a subscription; whoever holds the subscription deletes it."""
    host = overlay.peers[3]
    subscription = overlay.subscribe(host, "3.1.3")
    assert all(overlay.holders("3.1.3").values())
    overlay.unsubscribe(host, subscription)
    assert not any(overlay.holders("3.1.3").values())
    before = overlay.publish(overlay.peers[-1], "3.1.3")
    assert overlay.records(Kind.DELIVER, before) == []


# 3.2, what it costs


def test_3_2_1_finger_table_has_at_most_m_entries() -> None:
    """3.2 (1): no more than one finger per bit of the circle."""
    exchange, _ = ring_of(64)
    assert all(len(peer.ring.fingers) <= 8 * ID_BYTES for peer in exchange.peers.values())
    assert all(len(set(peer.ring.fingers.values())) <= 2 * log2(64) for peer in exchange.peers.values())


@pytest.mark.parametrize("size", [8, 32, 64, 128])
def test_3_2_2_look_ups_take_o_log_n_hops(size: int) -> None:
    """3.2 (2): about half of log2 N on average, never much more than log2 N."""
    exchange, members = ring_of(size)
    hops = [exchange.look_up(member, key).hops for member in members for key in KEYS[:8]]
    assert max(hops) <= ceil(log2(size)) + 1
    assert sum(hops) / len(hops) <= log2(size) / 2 + 1


def test_3_2_3_subscriptions_are_spread_over_the_members() -> None:
    """3.2 (3): each member bears S/N on average, whatever the ring; none bears more than O(log N) times that."""
    subscriptions, size = 4_000, 16
    keys = [key_of_topic(f"load {n}") for n in range(subscriptions)]
    loads: list[int] = []
    for ring in range(20):
        members = [Contact(NodeId(digest_of(b"load", bytes([ring, n]))), "") for n in range(size)]
        table = Table(TableVersion(epoch(1, 1), 1), tuple(sorted(members, key=lambda c: c.id)), size)
        load = Counter(table.owner_of(key).id for key in keys)
        assert sum(load.values()) == subscriptions
        assert max(load.values()) <= subscriptions / size * (1 + log2(size))
        loads += [load[member.id] for member in members]
    fair = subscriptions / size
    assert sum(fair / 4 <= load <= fair * 2 for load in loads) >= len(loads) / 2


def test_3_2_4_join_moves_the_keys_of_one_arc_and_no_others() -> None:
    """3.2 (4): what moves, moves from the joiner's successor to the joiner: about S/N of all."""
    keys = [key_of_topic(f"move {n}") for n in range(2_000)]
    _, members = ring_of(16)
    joiner = Contact(NodeId(digest_of(b"joiner")), "joiner")
    grown = tuple(sorted([*members, joiner], key=lambda contact: contact.id))
    before = Table(TableVersion(epoch(1, 1), 1), tuple(members), 16)
    after = Table(TableVersion(epoch(1, 1), 2), grown, 17)
    moved = [key for key in keys if before.owner_of(key) != after.owner_of(key)]
    assert {after.owner_of(key) for key in moved} == {joiner}
    assert {before.owner_of(key) for key in moved} == {successor(Key(joiner.id), members)}
    assert 0 < len(moved) < 4 * len(keys) / 16


# 4, the simulation: coverage and duplicates beside flooding and gossip


def mean_of(algorithm: Algorithm, nodes: int, reading: BroadcastReading) -> tuple[float, float]:
    """Coverage and duplicate rate, the means of a few seeds."""
    results = [perform(Trial(algorithm, nodes, seed, reading=reading, simulated_max=8)) for seed in range(8)]
    return fmean(result.coverage for result in results), fmean(result.duplicate_rate for result in results)


@pytest.mark.parametrize("nodes", [8, 100, 1_024, 8_192])
def test_4_figure_5_flooding_and_hypercube_reach_everybody(nodes: int) -> None:
    """4: "the coverage of flooding and of the hypercube's broadcast is close to 100 %"; of ours, exactly."""
    for algorithm in (Algorithm.FLOODING, Algorithm.HYPERCUBE):
        assert mean_of(algorithm, nodes, BroadcastReading())[0] == 1.0


@pytest.mark.parametrize(
    "reading", [BroadcastReading(), BroadcastReading(rounds=6), BroadcastReading(choice=Choice.LINKS)]
)
def test_4_figure_5_gossip_is_worse_and_worsens_with_size(reading: BroadcastReading) -> None:
    """4: "gossip's coverage is poor, and tends to worsen as the network grows"; in every reading of it."""
    small, middle, large = (mean_of(Algorithm.GOSSIP, nodes, reading)[0] for nodes in (8, 64, 4_096))
    assert 1.0 > small > middle > large


@pytest.mark.parametrize("nodes", [256, 1_024, 8_192])
def test_4_figure_6_duplicates_of_flooding_gossip_and_hypercube(nodes: int) -> None:
    """4: about 3.5 duplicates per node by flooding, 1.5 by gossip, 0.5 by the hypercube; ours makes none."""
    flooding, gossip, hypercube = (mean_of(algorithm, nodes, BroadcastReading())[1] for algorithm in Algorithm)
    assert flooding == pytest.approx(3.5, abs=0.2)
    assert gossip == pytest.approx(1.5, abs=0.2)
    assert hypercube == 0.0
