"""Adversarial schedules: each waits for the moment at which a promise is easiest to break, and strikes there.

A schedule hooks on records and plans actions; the saboteur refuses what the budget forbids. None of them is told to the
nodes. Strikes are thinned out by chance, so that a window holds several and the load goes on between them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from p2psub.model.circle import place_after
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId, key_of_topic
from p2psub.model.instants import SECOND_US
from p2psub.model.places import Standing
from p2psub.model.records import Kind, Record
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.absences import (
    all_but_one_leave,
    all_down,
    all_down_some_for_good,
    black_out,
    cluster_loss,
    departures,
)
from sims.scenarios.outdated import (
    candidate_behind,
    former_super_node_behind,
    newcomer_beyond_a_cut,
    newcomer_without_its_super_node,
)
from sims.scenarios.set_back_clocks import holder_returns_too_young
from sims.scenarios.stage import SOON_US, Stage
from sims.scenarios.votes_unheard import super_node_with_a_refusal
from sims.workloads.market import TOPICS

Schedule = Callable[[Stage, Random], None]


def owner_after_acknowledgement(stage: Stage, rng: Random) -> None:
    """Crash the owner of an event within 100 ms after its acknowledgement."""
    owners: dict[object, NodeId] = {}

    def stored(_: int, record: Record) -> None:
        owners[record.event] = record.node

    def acknowledged(_: int, record: Record) -> None:
        owner = owners.get(record.event)
        if owner is not None and rng.random() < 0.03:
            wipe = "wipe" in stage.scenario.faults and rng.random() < 0.5
            stage.strike_soon(rng, owner, wipe=wipe)

    stage.world.trace.hook(Kind.STORE, stored)
    stage.world.trace.hook(Kind.ACKNOWLEDGE, acknowledged)


def owner_before_acknowledgement(stage: Stage, rng: Random) -> None:
    """Crash the owner just after it stored an event, when its publisher may not know yet."""

    def stored(_: int, record: Record) -> None:
        if rng.random() < 0.02:
            stage.strike_soon(rng, record.node, wipe=False, within_us=10_000)

    stage.world.trace.hook(Kind.STORE, stored)


def owner_and_first_replica(stage: Stage, rng: Random) -> None:
    """Wipe the owner of an event and its first successor together, right after the acknowledgement."""
    owners: dict[object, NodeId] = {}

    def stored(_: int, record: Record) -> None:
        owners[record.event] = record.node

    def acknowledged(_: int, record: Record) -> None:
        owner = owners.get(record.event)
        if owner is not None and rng.random() < 0.03:
            stage.world.agenda.after(rng.randrange(SOON_US), strike, owner)

    def strike(owner: NodeId) -> None:
        host = stage.world.network.host_of(owner)
        said = None if host is None else status_of(host)
        if host is not None and said is not None and said.successors:
            replica = stage.world.network.host_of(said.successors[0].id)
            if replica is not None and replica is not host:
                stage.saboteur.strike_together([host, replica], wipe="wipe" in stage.scenario.faults)

    stage.world.trace.hook(Kind.STORE, stored)
    stage.world.trace.hook(Kind.ACKNOWLEDGE, acknowledged)


def super_node_of_open_cast(stage: Stage, rng: Random) -> None:
    """Crash a super-node that is the root of an open cast."""

    def cast(_: int, record: Record) -> None:
        if rng.random() < 0.02:
            stage.strike_soon(rng, record.node, wipe=False, within_us=60_000)

    stage.world.trace.hook(Kind.CAST, cast)


def super_node_in_custody(stage: Stage, rng: Random) -> None:
    """Crash a super-node that has just taken custody of a cast."""

    def received(_: int, record: Record) -> None:
        if record.cast is not None and rng.random() < 0.01:
            stage.strike_soon(rng, record.node, wipe=False, within_us=30_000)

    stage.world.trace.hook(Kind.RECEIVE, received)


def super_node_after_number(stage: Stage, rng: Random) -> None:
    """Crash a super-node right after it numbered a change."""

    def numbered(_: int, record: Record) -> None:
        if rng.random() < 0.05:
            stage.strike_soon(rng, record.node, wipe=rng.random() < 0.5 and "wipe" in stage.scenario.faults)

    stage.world.trace.hook(Kind.NUMBER, numbered)


def join_beside_key(stage: Stage, rng: Random) -> None:
    """New peers join exactly where keys in use lie, so that a busy topic gets another owner; some crash meanwhile."""
    numbers = list(range(stage.scenario.clusters))
    for n in range(min(4, stage.scenario.clusters)):
        delay_us = rng.randrange(2 * SECOND_US, 30 * SECOND_US)
        stage.world.agenda.after(delay_us, _join_at, stage, rng, cluster_named(rng.choice(numbers)), n)


def _join_at(stage: Stage, rng: Random, cluster: ClusterId, n: int) -> None:
    if not stage.saboteur.is_open or not stage.saboteur.peers(cluster):
        return
    place = NodeId(place_after(key_of_topic(TOPICS[(n * 5) % len(TOPICS)]), rng.randrange(1, 1000)))
    host = stage.add_peer(cluster, f"{cluster}/beside/{n}", Contact(place, f"{cluster}/beside/{n}"))
    stage.start(host)
    if rng.random() < 0.5 and "crash" in stage.scenario.faults:
        stage.world.agenda.after(rng.randrange(4 * SECOND_US), stage.strike, place, False)


def ring_into_halves(stage: Stage, rng: Random) -> None:
    """Cut one ring into halves for long enough that both elect, three times."""
    for n in range(3):
        stage.world.agenda.after(rng.randrange(SECOND_US, 10 * SECOND_US) + n * 25 * SECOND_US, _halve, stage, rng)


def _halve(stage: Stage, rng: Random) -> None:
    cluster = cluster_named(rng.randrange(stage.scenario.clusters))
    ring = sorted((host for host in stage.world.hosts if host.cluster == cluster), key=lambda host: host.id)
    first = rng.randrange(len(ring))
    turned = ring[first:] + ring[:first]
    # Neighbours on the circle stay together in half of the cuts; in the others every arc is torn.
    side = turned[: len(ring) // 2] if rng.random() < 0.5 else turned[::2]
    inside = {host.index for host in side}
    pairs = [(host, other) for host in side for other in ring if other.index not in inside]
    stage.saboteur.cut("ring_into_halves", pairs, rng.randrange(10 * SECOND_US, 20 * SECOND_US))


def super_node_out_of_sight(stage: Stage, rng: Random) -> None:
    """Cut a super-node off from three neighbours on its ring, which still hear all others: owners without a lease."""
    for n in range(3):
        stage.world.agenda.after(rng.randrange(SECOND_US, 6 * SECOND_US) + n * 28 * SECOND_US, _lose_sight, stage, rng)


def _lose_sight(stage: Stage, rng: Random) -> None:
    cluster = cluster_named(rng.randrange(stage.scenario.clusters))
    leader = stage.saboteur.super_node(cluster)
    ring = sorted((host for host in stage.world.hosts if host.cluster == cluster), key=lambda host: host.id)
    if leader is not None and len(ring) > 4:
        place = ring.index(leader)
        after = [ring[(place + step) % len(ring)] for step in range(1, len(ring))]
        first = rng.randrange(len(after) - 2)
        pairs = [(leader, host) for host in after[first : first + 3]]
        stage.saboteur.cut("super_node_out_of_sight", pairs, rng.randrange(18 * SECOND_US, 24 * SECOND_US))


def super_node_without_candidates(stage: Stage, rng: Random) -> None:
    """Cut a super-node off from its candidates for a moment, and wipe it in there: what they do not hold is gone."""
    for n in range(5):
        stage.world.agenda.after(rng.randrange(SECOND_US, 3 * SECOND_US) + n * 12 * SECOND_US, _isolate, stage, rng)


def _isolate(stage: Stage, rng: Random) -> None:
    leader = stage.saboteur.super_node(cluster_named(rng.randrange(stage.scenario.clusters)))
    said = None if leader is None else status_of(leader)
    if leader is not None and said is not None:
        found = [stage.world.network.host_of(candidate.id) for candidate in said.candidates]
        pairs = [(leader, host) for host in found if host is not None]
        stage.saboteur.cut("super_node_without_candidates", pairs, 3 * SECOND_US)
        wipe = "wipe" in stage.scenario.faults
        stage.world.agenda.after(rng.randrange(SECOND_US, 2 * SECOND_US), stage.strike, leader.id, wipe)


def wipes_while_clusters_are_apart(stage: Stage, rng: Random) -> None:
    """Part all clusters, so that events stay owed, and wipe one member after the other meanwhile."""
    hosts = [host for host in stage.world.hosts if host.cluster is not None]
    pairs = [(one, other) for one in hosts for other in hosts if one.cluster != other.cluster]
    stage.saboteur.cut("clusters_apart", pairs, 35 * SECOND_US)
    for n in range(30):
        stage.world.agenda.after(n * SECOND_US + rng.randrange(SECOND_US), _wipe_next, stage, rng)


def _wipe_next(stage: Stage, rng: Random) -> None:
    host = rng.choice(stage.saboteur.peers())
    wipe = "wipe" in stage.scenario.faults
    stage.saboteur.strike(host, wipe=wipe, down_us=rng.randrange(100_000, 600_000))


def late_cluster(stage: Stage, rng: Random) -> None:
    """A new cluster is founded while subscriptions come and go: a prefix splits during casts, and fills."""
    _found_late(stage, rng, stage.scenario.clusters)


def _found_late(stage: Stage, rng: Random, number: int) -> None:
    """Found the cluster that the scenario left out, or else one more, under a number that no other schedule uses."""
    number = stage.scenario.clusters - 1 if stage.scenario.late_cluster else number
    stage.world.agenda.after(rng.randrange(SECOND_US, 15 * SECOND_US), stage.found, cluster_named(number))


def late_cluster_cut_off(stage: Stage, rng: Random) -> None:
    """Found a cluster, and cut it off from all others the moment it knows its place: what it lacks it cannot get."""
    _found_late(stage, rng, stage.scenario.clusters + 1)
    cut: list[ClusterId] = []

    def placed(_: int, record: Record) -> None:
        host = stage.world.network.host_of(record.node)
        if host is None or host.cluster is None or record.cluster != host.cluster or cut:
            return
        if record.standing is Standing.PRESENT:
            cut.append(host.cluster)
            stage.world.agenda.after(0, _cut_off, stage, host.cluster)

    stage.world.trace.hook(Kind.DIRECTORY, placed)


def _cut_off(stage: Stage, cluster: ClusterId) -> None:
    hosts = [host for host in stage.world.hosts if host.cluster is not None]
    pairs = [(one, other) for one in hosts for other in hosts if one.cluster == cluster != other.cluster]
    stage.saboteur.cut("late_cluster_cut_off", pairs, 10 * SECOND_US)


def publisher_restarts(stage: Stage, rng: Random) -> None:
    """Restart publishers right after they were asked to publish, with an outbox on disk."""

    def published(_: int, record: Record) -> None:
        if rng.random() < 0.02:
            stage.strike_soon(
                rng, record.node, wipe=False, within_us=40_000, down_us=rng.randrange(500_000, 3 * SECOND_US)
            )

    stage.world.trace.hook(Kind.PUBLISH, published)


def subscriber_restarts(stage: Stage, rng: Random) -> None:
    """Restart subscribers around a subscriber."""

    def delivered(_: int, record: Record) -> None:
        if rng.random() < 0.005:
            stage.strike_soon(
                rng, record.node, wipe=False, within_us=20_000, down_us=rng.randrange(500_000, 3 * SECOND_US)
            )

    stage.world.trace.hook(Kind.DELIVER, delivered)


def holder_returns_late(stage: Stage, rng: Random) -> None:
    """Keep whoever holds, owns, published or took an event down until everybody else has forgotten it.

    Struck right after the hand-over: a holder has not heard then that the event owes nothing any more.
    """
    forgotten_us = stage.config.pubsub.remembered_us
    holders: dict[EventId | None, list[NodeId]] = {}

    def held(_: int, record: Record) -> None:
        holders.setdefault(record.event, []).append(record.node)

    def delivered(_: int, record: Record) -> None:
        if record.event is not None and record.event in holders and rng.random() < 0.05:
            concerned = [*holders[record.event], record.event.node, record.node]
            down_us = forgotten_us + rng.randrange(SECOND_US, 20 * SECOND_US)
            stage.strike_soon(rng, rng.choice(concerned), wipe=False, within_us=20_000, down_us=down_us)

    stage.world.trace.hook(Kind.COPY, held)
    stage.world.trace.hook(Kind.STORE, held)
    stage.world.trace.hook(Kind.DELIVER, delivered)


SCHEDULES: dict[str, Schedule] = {
    schedule.__name__: schedule
    for schedule in (
        owner_after_acknowledgement,
        owner_before_acknowledgement,
        owner_and_first_replica,
        super_node_of_open_cast,
        super_node_in_custody,
        super_node_after_number,
        join_beside_key,
        ring_into_halves,
        super_node_out_of_sight,
        super_node_without_candidates,
        wipes_while_clusters_are_apart,
        black_out,
        all_down,
        all_down_some_for_good,
        late_cluster,
        late_cluster_cut_off,
        cluster_loss,
        publisher_restarts,
        subscriber_restarts,
        departures,
        holder_returns_late,
        holder_returns_too_young,
        all_but_one_leave,
        newcomer_beyond_a_cut,
        newcomer_without_its_super_node,
        candidate_behind,
        former_super_node_behind,
        super_node_with_a_refusal,
    )
}

_NEED_NO_CRASH = frozenset(
    {"join_beside_key", "ring_into_halves", "late_cluster", "late_cluster_cut_off", "super_node_out_of_sight"}
)
_NEED_PARTITION = frozenset(
    {"ring_into_halves", "late_cluster_cut_off", "super_node_out_of_sight", "super_node_without_candidates"}
)
_BY_NAME_ONLY = frozenset(
    {
        "all_but_one_leave",
        "all_down",
        "all_down_some_for_good",
        "black_out",
        "candidate_behind",
        "cluster_loss",
        "former_super_node_behind",
        "holder_returns_late",
        "holder_returns_too_young",
        "newcomer_beyond_a_cut",
        "newcomer_without_its_super_node",
        "super_node_with_a_refusal",
        "wipes_while_clusters_are_apart",
    }
)
"""Outside the budget, or a whole campaign of their own."""


def draw_schedules(rng: Random, faults: frozenset[str]) -> tuple[str, ...]:
    """Two schedules for a seed, of those that its faults allow and that stay inside the budget."""
    allowed = [
        name
        for name in SCHEDULES
        if name not in _BY_NAME_ONLY
        and (name in _NEED_NO_CRASH or "crash" in faults)
        and (name not in _NEED_PARTITION or "partition" in faults)
    ]
    return tuple(sorted(rng.sample(allowed, 2))) if faults else ()
