"""Schedules of absence: peers that leave, and whole clusters that are down, for a while or for good."""

from __future__ import annotations

from random import Random

from p2psub.model.ids import ClusterId
from p2psub.model.instants import SECOND_US
from p2psub.model.status import LifeStage
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.stage import SOON_US, Stage

LOOK_US = 10_000
LEAVE_US = 10 * SECOND_US
"""A driver waits as long for a peer to leave (p2psub/runtime/host.py)."""


def black_out(stage: Stage, rng: Random) -> None:
    """Every member of a cluster down at once, and back with its disk."""
    for n in range(2):
        cluster = cluster_named(rng.randrange(stage.scenario.clusters))
        delay_us = rng.randrange(2 * SECOND_US, 6 * SECOND_US) + n * 25 * SECOND_US
        stage.world.agenda.after(delay_us, stage.saboteur.black_out, cluster, rng.randrange(SECOND_US, 4 * SECOND_US))


def all_down(stage: Stage, rng: Random) -> None:
    """Every peer of the overlay down at once, the bootstrap for good; each peer comes back with its disk."""
    _all_down(stage, rng, 0.0)


def all_down_some_for_good(stage: Stage, rng: Random) -> None:
    """The same, but some peers of every cluster never come back, its super-node among them."""
    _all_down(stage, rng, 0.3)


def _all_down(stage: Stage, rng: Random, lost: float) -> None:
    def strike() -> None:
        peers = stage.saboteur.peers()
        staying = [host for host in peers if not stage.saboteur.acts(host) or not lost]
        gone: dict[ClusterId | None, int] = {}
        for host in list(staying):
            most = (len(stage.saboteur.peers(host.cluster)) - 1) // 2 - 1
            if rng.random() < lost and gone.get(host.cluster, 0) < most:
                gone[host.cluster] = gone.get(host.cluster, 0) + 1
                staying.remove(host)
        assert stage.bootstrap is not None
        stage.world.crash(stage.bootstrap)
        for host in peers:
            stage.world.agenda.after(rng.randrange(SOON_US), stage.saboteur.down, host)
        for host in staying:
            stage.world.agenda.after(rng.randrange(SECOND_US, 6 * SECOND_US), _back, stage, host)

    stage.world.agenda.after(rng.randrange(2 * SECOND_US, 6 * SECOND_US), strike)


def _back(stage: Stage, host: Host) -> None:
    assert stage.bootstrap is not None
    stage.saboteur.back(host, (stage.bootstrap.contact,))


def cluster_loss(stage: Stage, rng: Random) -> None:
    """Lose a whole cluster for good, one whose sibling half is deeper if there is one."""

    def strike() -> None:
        prefixes: dict[ClusterId, str] = {}
        for said in stage.statuses():
            prefixes.update({cluster: str(prefix) for cluster, prefix in said.clusters})
        if len(prefixes) < 3:
            return
        deepest = max(len(prefix) for prefix in prefixes.values())
        shallow = [cluster for cluster, prefix in sorted(prefixes.items()) if len(prefix) < deepest]
        stage.saboteur.lose_cluster(rng.choice(shallow or sorted(prefixes)))

    stage.world.agenda.after(rng.randrange(2 * SECOND_US, 10 * SECOND_US), strike)


def departures(stage: Stage, rng: Random) -> None:
    """Peers leave gracefully and are wiped as soon as they say that they have left; they are ended if they cannot."""

    def ask() -> None:
        hosts = [host for host in stage.saboteur.peers() if stage.saboteur.may_strike([host])]
        if hosts:
            _leave(stage, rng.choice(hosts))
        if stage.world.now + LEAVE_US < stage.saboteur.ends_us:
            stage.world.agenda.after(rng.randrange(2 * SECOND_US, 6 * SECOND_US), ask)

    stage.world.agenda.after(rng.randrange(SECOND_US, 4 * SECOND_US), ask)


def all_but_one_leave(stage: Stage, rng: Random) -> None:
    """All members of a ring but one leave at once, and that one falls meanwhile."""

    def ask() -> None:
        ring = stage.saboteur.peers(cluster_named(rng.randrange(stage.scenario.clusters)))
        if ring and stage.saboteur.may_strike(ring[:1]):
            staying = rng.choice(ring)
            for host in ring:
                if host is not staying:
                    _leave(stage, host)
            stage.strike_soon(rng, staying.id, wipe="wipe" in stage.scenario.faults, within_us=2 * SECOND_US)
        if stage.world.now + LEAVE_US < stage.saboteur.ends_us:
            stage.world.agenda.after(rng.randrange(6 * SECOND_US, 12 * SECOND_US), ask)

    stage.world.agenda.after(rng.randrange(SECOND_US, 4 * SECOND_US), ask)


def _leave(stage: Stage, host: Host) -> None:
    """Ask a peer to leave, wipe it as soon as it has left, and end it if it cannot leave in time."""
    departure, incarnation = stage.saboteur.ask_to_leave(host), host.incarnation

    def wait() -> None:
        said = status_of(host)
        if said is None or host.incarnation != incarnation:
            departure.ended_us = stage.world.now
        elif said.stage is LifeStage.LEFT:
            stage.saboteur.retire(host, departure)
        elif stage.world.now < departure.asked_us + LEAVE_US or not stage.saboteur.strike(host):
            stage.world.agenda.after(LOOK_US, wait)

    stage.world.agenda.after(LOOK_US, wait)
