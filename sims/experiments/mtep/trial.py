"""One run of MTEP 3 as asked for: its readings, and what came of it.

With one seed, rate and length all policies meet the same mesh, subscriptions, events and delays.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import process_time
from typing import Final

import numpy as np

from p2psub.model.bids import PRICE_ONE
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.link_queue import EPSILON, WEIGHT, LinkQueue
from sims.experiments.archive import Experiment
from sims.experiments.chance import rng_of
from sims.experiments.mtep.load_ways import ways_by_load
from sims.experiments.mtep.mesh import Mesh, MeshLink, drawn_mesh
from sims.experiments.mtep.paths import Ways, climbing_ways, shortest_ways
from sims.experiments.mtep.run import MeshRun, Passing
from sims.experiments.mtep.workload import (
    MeshDemand,
    MeshTraffic,
    drawn_demand,
    drawn_traffic,
    even_instants,
    random_instants,
)

MTEP: Final = "mtep"


class Drops(enum.StrEnum):
    """Which policies drop what has no chance any more, by formula 14."""

    ALL = "all"
    MTEP = "mtep"
    NEVER = "never"


class PathChoice(enum.StrEnum):
    """How the way from a publisher to an edge broker is chosen, and whether brokers tell what waits there."""

    PAPER = "paper"
    CLIMB = "climb"
    PAPER_TOLD = "paper-told"
    LOAD_UNTOLD = "load-untold"
    LOAD = "load"

    @property
    def untold(self) -> PathChoice:
        """The same ways, with no broker telling what waits."""
        return {PathChoice.LOAD: PathChoice.LOAD_UNTOLD, PathChoice.PAPER_TOLD: PathChoice.PAPER}.get(self, self)

    @property
    def is_waiting_told(self) -> bool:
        return self is not self.untold


class Arrivals(enum.StrEnum):
    """When publishers publish: at random or at even intervals."""

    RANDOM = "random"
    EVEN = "even"


class Transfers(enum.StrEnum):
    """How long a transmission takes: as drawn for it, or the link's mean."""

    DRAWN = "drawn"
    MEAN = "mean"


class Occupies(enum.StrEnum):
    """What a transmission takes the time of: its link, or the whole broker that sends."""

    LINK = "link"
    BROKER = "broker"


@dataclass(frozen=True, slots=True)
class MeshReading:
    """How to read what the paper leaves open."""

    drops: Drops = Drops.ALL
    paths: PathChoice = PathChoice.PAPER
    arrivals: Arrivals = Arrivals.RANDOM
    transfers: Transfers = Transfers.DRAWN
    occupies: Occupies = Occupies.LINK


@dataclass(frozen=True, slots=True)
class MeshTrial:
    """One run to do."""

    policy: str
    rate: float
    """Events per minute and publisher."""
    seed: int
    minutes: float = 120.0
    weight: float | None = None
    """Of MTEP alone: that of the expected earning (13)."""
    reading: MeshReading = field(default_factory=MeshReading)


@dataclass(frozen=True, slots=True)
class MeshResult:
    """What came of a run; `matched` is the sum of `on_time`, `late` and `dropped`."""

    policy: str
    rate: float
    weight: float | None
    seed: int
    minutes: float
    drops: Drops
    paths: PathChoice
    earning: float
    success_rate: float
    matched: int
    on_time: int
    late: int
    dropped: int
    transmissions: int
    copies_max: int
    workload_digest: str
    cpu_seconds: float
    """Of this run; the first of a workload also pays for drawing it and for finding the ways."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What all policies meet."""

    mesh: Mesh
    demand: MeshDemand
    traffic: MeshTraffic
    digest: str


def perform(trial: MeshTrial) -> MeshResult:
    """Run one trial, in whatever process."""
    began = process_time()
    reading = trial.reading
    scene = scene_of(trial.seed, trial.rate, trial.minutes, reading.arrivals)
    traffic = scene.traffic
    if reading.transfers is Transfers.MEAN:
        traffic = replace(traffic, luck=np.zeros_like(traffic.luck))
    ways = ways_of(trial.seed, trial.rate, reading.paths.untold)
    tally = MeshRun(
        scene.mesh,
        scene.demand,
        traffic,
        ways,
        queues_of(trial),
        is_waiting_told=reading.paths.is_waiting_told,
        is_one_link_at_a_time=reading.occupies is Occupies.BROKER,
    ).run()
    return MeshResult(
        policy=trial.policy,
        rate=trial.rate,
        weight=trial.weight,
        seed=trial.seed,
        minutes=trial.minutes,
        drops=reading.drops,
        paths=reading.paths,
        earning=tally.earning / PRICE_ONE,
        success_rate=tally.on_time / traffic.matched if traffic.matched else 1.0,
        matched=traffic.matched,
        on_time=tally.on_time,
        late=tally.late,
        dropped=tally.dropped,
        transmissions=tally.transmissions,
        copies_max=tally.copies_max,
        workload_digest=scene.digest,
        cpu_seconds=round(process_time() - began, 3),
    )


def queues_of(trial: MeshTrial) -> Callable[[MeshLink], LinkQueue[Passing]]:
    """Makes each link's queue: the one that peers have, told the link's true figures."""
    is_dropping = trial.reading.drops is Drops.ALL or (trial.reading.drops is Drops.MTEP and trial.policy == MTEP)
    weight = WEIGHT if trial.weight is None else trial.weight

    def queue_of(link: MeshLink) -> LinkQueue[Passing]:
        estimate = LinkEstimate(link.mean_us_per_kb, link.deviation_us_per_kb)
        return LinkQueue(trial.policy, estimate, weight=weight, epsilon=EPSILON, is_dropping=is_dropping)

    return queue_of


@lru_cache(maxsize=1)
def scene_of(seed: int, rate: float, minutes: float, arrivals: Arrivals) -> Scene:
    """Everything that chance decides."""
    mesh, demand = drawn(seed)
    rng = rng_of(seed, f"traffic {float(rate)} {float(minutes)} {arrivals}")
    instants_of = random_instants if arrivals is Arrivals.RANDOM else even_instants
    instants = instants_of(rng, mesh.publishers, rate, minutes)
    traffic = drawn_traffic(instants, demand, len(mesh.links), rng)
    return Scene(mesh, demand, traffic, _digest(mesh, demand, traffic))


@lru_cache(maxsize=1)
def drawn(seed: int) -> tuple[Mesh, MeshDemand]:
    """Mesh and subscriptions are the seed's, whatever is published."""
    mesh = drawn_mesh(rng_of(seed, "mesh"))
    return mesh, drawn_demand(rng_of(seed, "demand"), mesh.layers[-1])


@lru_cache(maxsize=1)
def ways_of(seed: int, rate: float, paths: PathChoice) -> Ways:
    """The ways that are chosen so: from mesh, subscriptions and rate, before anything is published."""
    mesh, demand = drawn(seed)
    if paths is PathChoice.LOAD_UNTOLD:
        return ways_by_load(mesh, demand, rate, rng_of(seed, "search"))
    return climbing_ways(mesh) if paths is PathChoice.CLIMB else shortest_ways(mesh)


def _digest(mesh: Mesh, demand: MeshDemand, traffic: MeshTraffic) -> str:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((mesh, demand.subscriptions, traffic.events)).encode())
    digest.update(demand.bounds.tobytes())
    digest.update(traffic.luck.tobytes())
    return digest.hexdigest()


MESH_RUNS: Final = Experiment(
    perform,
    MeshTrial,
    MeshResult,
    (
        "sims.experiments.chance",
        *(
            f"sims.experiments.mtep.{name}"
            for name in ("load_ways", "mesh", "outlook", "paths", "run", "trees", "trial", "workload")
        ),
        "p2psub.queueing",
        "p2psub.model.stakes",
    ),
)
"""For the archive of finished runs."""
