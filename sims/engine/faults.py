"""Breaking things inside the budget, and the random schedule of it.

`Saboteur` does single actions and keeps the log the checkers read; `FaultSchedule` draws actions at random. Adversarial
schedules (sims/scenarios/schedules.py) use the same saboteur, so the budget holds for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from p2psub.model.effects import LeaveCommand
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import SECOND_US
from p2psub.model.status import NodeStatus, Role
from sims.engine.budget import Budget
from sims.engine.host import Host
from sims.engine.successions import Succession, Successions
from sims.engine.world import World, status_of

CRASH_EVERY_US: Final = 2_500_000
CUT_EVERY_US: Final = 12_000_000
PAUSE_EVERY_US: Final = 15_000_000
FLAP_EVERY_US: Final = 20_000_000
OUTAGE_EVERY_US: Final = 60_000_000
DOWN_US: Final = (500_000, 15 * SECOND_US)
CUT_US: Final = (2 * SECOND_US, 25 * SECOND_US)
LONG_CUT_US: Final = (10 * SECOND_US, 20 * SECOND_US)
PAUSE_US: Final = (500_000, 6 * SECOND_US)
FLAPS: Final = (5, 20)
FLAP_US: Final = (100_000, SECOND_US)
"""How often a link that flaps is cut in a row, and for how long it is down, and up, each time."""
OUTAGE_US: Final = (60 * SECOND_US, 240 * SECOND_US)
LOSS_MAX: Final = 0.10
DUPLICATE_MAX: Final = 0.10
REORDER_MAX: Final = 0.05

KINDS: Final = (
    "crash",
    "wipe",
    "partition",
    "loss",
    "duplicate",
    "reorder",
    "pause",
    "disk",
    "drift",
    "flap",
    "outage",
)
"""Faults that may be switched on."""


@dataclass(frozen=True, slots=True)
class Crash:
    """One process that ended, as the checkers need it."""

    at_us: int
    host: int
    incarnation: int
    cluster: ClusterId | None
    super_node: bool
    silent: bool
    wiped: bool


@dataclass(slots=True)
class Cut:
    """One partition; `until_us` is when it healed."""

    at_us: int
    name: str
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """One process that stood still for a while."""

    at_us: int
    until_us: int
    cluster: ClusterId


@dataclass(slots=True)
class FullDisk:
    """A disk that took nothing for a while; `until_us` is when it was freed."""

    at_us: int
    node: NodeId
    until_us: int | None = None


@dataclass(slots=True)
class Departure:
    """One process that was asked to leave; `left_us` is when it said that it had, None if it never did."""

    asked_us: int
    node: NodeId
    cluster: ClusterId
    ended_us: int | None = None
    left_us: int | None = None


@dataclass(slots=True)
class FaultLog:
    """What was broken and when."""

    crashes: list[Crash] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    pauses: list[Pause] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)
    full_disks: list[FullDisk] = field(default_factory=list)
    lost_clusters: set[ClusterId] = field(default_factory=set)
    successions: list[Succession] = field(default_factory=list)
    loss: float = 0.0
    """The share of messages that the weather took."""


class Saboteur:
    """Breaks things, never beyond the budget, and mends them by the end of the fault window."""

    def __init__(
        self, world: World, budget: Budget, rng: Random, contacts_for: Callable[[Host], tuple[Contact, ...]]
    ) -> None:
        self.world = world
        self.rng = rng
        self.log = FaultLog()
        self.ends_us = 0
        """The window's end; set when it opens. Nothing is broken outside the window."""
        self._budget = budget
        self._contacts_for = contacts_for
        self._successions = Successions(world)

    @property
    def is_open(self) -> bool:
        """Whether the fault window is on."""
        return self.world.now < self.ends_us

    def peers(self, cluster: ClusterId | None = None) -> list[Host]:
        """Running peers, of one cluster or of all; the bootstrap is none."""
        return [
            host
            for host in self.world.hosts
            if host.core is not None and host.cluster is not None and cluster in (None, host.cluster)
        ]

    def fill_disk(self, host: Host) -> None:
        """From now on nothing becomes durable there."""
        if not host.disk.full:
            self.world.fill_disk(host)
            self.log.full_disks.append(FullDisk(self.world.now, host.id))

    def free_disk(self, host: Host) -> None:
        """The disk takes writes again."""
        if host.disk.full:
            self.world.free_disk(host)
            filled = next(full for full in reversed(self.log.full_disks) if full.node == host.id)
            filled.until_us = self.world.now

    def super_node(self, cluster: ClusterId) -> Host | None:
        """The peer that acts as super-node under the highest epoch."""
        acting = [(said.epoch, host) for host, said in self._statuses(cluster) if said.role is Role.SUPER_NODE]
        return max(acting, key=lambda pair: pair[0] or (0, b""))[1] if acting else None

    def may_strike(self, hosts: list[Host], *, wipe: bool = False) -> bool:
        """Whether the budget allows that all of these fail now, with their disks if `wipe`."""
        by_cluster: dict[ClusterId, list[Host]] = {}
        for host in hosts:
            if host.core is None or host.cluster is None:
                return False
            by_cluster.setdefault(host.cluster, []).append(host)
        return self.is_open and all(
            self._budget.allows(
                cluster,
                [host.index for host in some],
                self.world.now,
                super_node=any(self.acts(host) for host in some),
                wipe=wipe,
            )
            for cluster, some in sorted(by_cluster.items())
        )

    def acts(self, host: Host) -> bool:
        """Whether the host is super-node now, in its own eyes."""
        said = status_of(host)
        return said is not None and said.role is Role.SUPER_NODE

    def strike(self, host: Host, *, silent: bool = False, wipe: bool = False, down_us: int | None = None) -> bool:
        """Crash a peer and plan its restart; False if the budget forbids it."""
        if not self.may_strike([host], wipe=wipe):
            return False
        self._fell(host, silent=silent, wipe=wipe)
        span = self.rng.randint(*DOWN_US) if down_us is None else down_us
        self.world.agenda.at(min(self.world.now + span, self.ends_us), self.restart, host)
        return True

    def strike_together(self, hosts: list[Host], *, silent: bool = False, wipe: bool = False) -> bool:
        """Crash several peers at one instant, or none of them."""
        if not self.may_strike(hosts, wipe=wipe):
            return False
        for host in hosts:
            self._fell(host, silent=silent, wipe=wipe)
            self.world.agenda.at(min(self.world.now + self.rng.randint(*DOWN_US), self.ends_us), self.restart, host)
        return True

    def lose_cluster(self, cluster: ClusterId) -> None:
        """Every member gone at once and for good: outside the budget, for the schedules that ask for it."""
        self.log.lost_clusters.add(cluster)
        for host in self.peers(cluster):
            self._fell(host, silent=True, wipe=False)

    def black_out(self, cluster: ClusterId, span_us: int) -> None:
        """Every member down within milliseconds and back with its disk: outside the budget, but no disk is lost by it.

        Not at one instant: members that fall together are judged by the bounds of a single fall.
        """
        if self.is_open:
            for n, host in enumerate(self.peers(cluster)):
                self.world.agenda.after(n * 1000, self.down, host)
                self.world.agenda.at(min(self.world.now + span_us, self.ends_us), self.restart, host)

    def down(self, host: Host) -> None:
        """End a peer, whatever the budget says; whether it comes back, and when, is up to the caller."""
        if host.core is not None:
            self._fell(host, silent=False, wipe=False)

    def back(self, host: Host, contacts: tuple[Contact, ...]) -> None:
        """Start a peer as its operator would after everything was down: with its disk and these contacts alone."""
        if host.core is None and host.cluster is not None:
            self._budget.back(host.cluster, host.index, self.world.now)
            self.world.start(host, contacts)

    def ask_to_leave(self, host: Host) -> Departure:
        """Ask a peer to leave gracefully."""
        assert host.cluster is not None
        departure = Departure(self.world.now, host.id, host.cluster)
        self.log.departures.append(departure)
        self.world.command(host, LeaveCommand())
        return departure

    def retire(self, host: Host, departure: Departure) -> None:
        """End a peer that has left gracefully, with its disk; it comes back as a newcomer."""
        assert host.cluster is not None
        now = self.world.now
        self._budget.dismiss(host.cluster, host.index, now)
        departure.left_us = departure.ended_us = now
        self.log.crashes.append(Crash(now, host.index, host.incarnation, host.cluster, False, False, True))
        self.world.crash(host, wipe=True)
        self.free_disk(host)
        self.world.agenda.at(max(now, min(now + self.rng.randint(*DOWN_US), self.ends_us)), self.restart, host)

    def restart(self, host: Host) -> None:
        """Start a crashed peer again."""
        if host.core is None:
            assert host.cluster is not None
            self._budget.back(host.cluster, host.index, self.world.now)
            self.world.start(host, self._contacts_for(host))

    def cut(self, name: str, pairs: Iterable[tuple[Host, Host]], span_us: int, *, both_ways: bool = True) -> None:
        """Partition these pairs for a while."""
        if not self.is_open:
            return
        pairs = list(pairs)
        number = self.world.cut(pairs, both_ways=both_ways)
        cut = Cut(self.world.now, name)
        self.log.cuts.append(cut)
        parted = {one.cluster for one, other in pairs if one.cluster is not None and one.cluster == other.cluster}
        for cluster in parted:
            self._budget.part(cluster, self.world.now)
        self.world.agenda.at(min(self.world.now + span_us, self.ends_us), self._heal, number, cut, parted)

    def pause(self, host: Host, span_us: int) -> bool:
        """Freeze a peer: to the others it is down."""
        if not self.may_strike([host]):
            return False
        assert host.cluster is not None
        self._budget.fail(host.cluster, host.index, self.world.now, super_node=self.acts(host))
        span_us = min(span_us, self.ends_us - self.world.now)
        self.log.pauses.append(Pause(self.world.now, self.world.now + span_us, host.cluster))
        self.world.pause(host, span_us)
        self.world.agenda.after(span_us, self._paused_back, host, host.incarnation)
        return True

    def _paused_back(self, host: Host, incarnation: int) -> None:
        if host.core is not None and host.incarnation == incarnation and host.cluster is not None:
            self._budget.back(host.cluster, host.index, self.world.now)

    def _heal(self, number: int, cut: Cut, parted: set[ClusterId]) -> None:
        self.world.heal(number)
        cut.until_us = self.world.now
        for cluster in parted:
            self._budget.reunite(cluster, self.world.now)

    def _fell(self, host: Host, *, silent: bool, wipe: bool) -> None:
        assert host.cluster is not None
        acted = self.acts(host)
        now = self.world.now
        self.log.crashes.append(Crash(now, host.index, host.incarnation, host.cluster, acted, silent, wipe))
        self._budget.fail(host.cluster, host.index, now, super_node=acted, wipe=wipe)
        succession = self._successions.fell(host, status_of(host), super_node=acted)
        if succession is not None:
            self.log.successions.append(succession)
        self.world.crash(host, silent=silent, wipe=wipe)
        self.free_disk(host)

    def _statuses(self, cluster: ClusterId) -> list[tuple[Host, NodeStatus]]:
        pairs = [(host, status_of(host)) for host in self.peers(cluster)]
        return [(host, said) for host, said in pairs if said is not None]


class FaultSchedule:
    """Faults at random times between `open` and the window's end. Each kind draws from its own generator."""

    def __init__(self, saboteur: Saboteur, kinds: frozenset[str], seed: int) -> None:
        self._saboteur = saboteur
        self._kinds = kinds
        self._rngs = {kind: Random(f"{seed}/faults/{kind}") for kind in KINDS}

    def open(self, ends_us: int) -> None:
        """Begin to break things; stops by itself at `ends_us`."""
        world = self._saboteur.world
        self._saboteur.ends_us = ends_us
        weather = world.network.weather
        if "loss" in self._kinds:
            weather.loss = self._saboteur.log.loss = self._rngs["loss"].uniform(0.0, LOSS_MAX)
        if "duplicate" in self._kinds:
            weather.duplicate = self._rngs["duplicate"].uniform(0.0, DUPLICATE_MAX)
        if "reorder" in self._kinds:
            weather.reorder = self._rngs["reorder"].uniform(0.0, REORDER_MAX)
        if "partition" in self._kinds:
            # One cut is longer than any failure detection, else a seed might test none.
            span = self._rngs["partition"].randint(*LONG_CUT_US)
            latest = max(0, ends_us - world.now - span)
            world.agenda.after(self._rngs["partition"].randint(0, latest), self._cut, span)
        for kind, every_us, action in (
            ("crash", CRASH_EVERY_US, self._crash),
            ("partition", CUT_EVERY_US, self._cut),
            ("pause", PAUSE_EVERY_US, self._pause),
            ("disk", PAUSE_EVERY_US, self._fill_disk),
            ("flap", FLAP_EVERY_US, self._flap),
            ("outage", OUTAGE_EVERY_US, self._outage),
        ):
            if kind in self._kinds:
                self._repeat(self._rngs[kind], every_us, action)
        world.agenda.at(ends_us, self._close)

    def _repeat(self, rng: Random, every_us: int, action: Callable[[], None]) -> None:
        if self._saboteur.is_open:
            self._saboteur.world.agenda.after(int(rng.expovariate(1 / every_us)), self._again, rng, every_us, action)

    def _again(self, rng: Random, every_us: int, action: Callable[[], None]) -> None:
        if self._saboteur.is_open:
            action()
            self._repeat(rng, every_us, action)

    def _close(self) -> None:
        world = self._saboteur.world
        world.network.weather.loss = world.network.weather.duplicate = world.network.weather.reorder = 0.0
        for host in world.hosts:
            self._saboteur.free_disk(host)

    def _crash(self) -> None:
        rng, saboteur = self._rngs["crash"], self._saboteur
        peers = saboteur.peers()
        if not peers:
            return
        host = rng.choice(peers)
        if rng.random() < 0.3 and host.cluster is not None:
            host = saboteur.super_node(host.cluster) or host
        wipe = rng.random() < 0.35 and "wipe" in self._kinds and saboteur.may_strike([host], wipe=True)
        saboteur.strike(host, silent=rng.random() < 0.5, wipe=wipe, down_us=rng.randint(*DOWN_US))

    def _outage(self) -> None:
        rng, saboteur = self._rngs["outage"], self._saboteur
        peers = saboteur.peers()
        if peers:
            saboteur.strike(rng.choice(peers), silent=rng.random() < 0.5, down_us=rng.randint(*OUTAGE_US))

    def _flap(self) -> None:
        """One link goes down and up again, many times: each time what waits on it is lost."""
        rng, saboteur = self._rngs["flap"], self._saboteur
        peers = saboteur.peers()
        if len(peers) > 1:
            pair, after_us = rng.sample(peers, 2), 0
            for _ in range(rng.randint(*FLAPS)):
                down_us = rng.randint(*FLAP_US)
                saboteur.world.agenda.after(after_us, saboteur.cut, "flap", [(pair[0], pair[1])], down_us)
                after_us += down_us + rng.randint(*FLAP_US)

    def _pause(self) -> None:
        rng = self._rngs["pause"]
        peers = self._saboteur.peers()
        if peers:
            self._saboteur.pause(rng.choice(peers), rng.randint(*PAUSE_US))

    def _fill_disk(self) -> None:
        rng, saboteur = self._rngs["disk"], self._saboteur
        peers = saboteur.peers()
        if peers:
            host = rng.choice(peers)
            saboteur.fill_disk(host)
            saboteur.world.agenda.after(rng.randint(*PAUSE_US), saboteur.free_disk, host)

    def _cut(self, span_us: int | None = None) -> None:
        rng, saboteur = self._rngs["partition"], self._saboteur
        peers = [host for host in saboteur.world.hosts if host.cluster is not None]
        span = rng.randint(*CUT_US) if span_us is None else span_us
        clusters = sorted({host.cluster for host in peers if host.cluster is not None})
        one = rng.choice(clusters)
        ring = [host for host in peers if host.cluster == one]
        shape = rng.choice(("sides", "cluster", "halves", "halves", "node", "pairs", "one_way"))
        if shape == "sides":
            side = set(rng.sample(clusters, rng.randint(1, max(1, len(clusters) // 2))))
            saboteur.cut(shape, _across(peers, [host for host in peers if host.cluster in side]), span)
        elif shape == "cluster":
            saboteur.cut(shape, _across(peers, ring), span)
        elif shape == "halves":
            saboteur.cut(shape, _across(ring, rng.sample(ring, len(ring) // 2)), span)
        elif shape == "node":
            saboteur.cut(shape, _across(peers, [rng.choice(peers)]), span)
        elif shape == "pairs":
            pairs = [(host, other) for host in peers for other in peers if host is not other]
            saboteur.cut(shape, rng.sample(pairs, min(8, len(pairs))), span)
        else:
            mute = rng.sample(peers, min(3, len(peers)))
            saboteur.cut(shape, _across(peers, mute), span, both_ways=False)


def _across(all_hosts: list[Host], side: list[Host]) -> list[tuple[Host, Host]]:
    """Every pair with one host inside `side` and one outside, the inside one first."""
    inside = {host.index for host in side}
    return [(host, other) for host in side for other in all_hosts if other.index not in inside]
