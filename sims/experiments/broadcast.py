"""The experiment of Hyper 4: how far a broadcast comes, and how often it is heard again.

Coverage (formula 1) is the share of the live super-nodes that have the message, its root among them. The duplicate rate
(formula 2) is how often any node received it again, over how often it was received as new. With one seed and one
size all algorithms start at the same place and miss the same dead nodes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from p2psub.config import CubeConfig
from sims.baselines.blind import Blind, Spread, broadcast
from sims.baselines.flooding import DEGREE, flooding
from sims.baselines.gossip import FANOUT, gossip_among_all, gossip_over_links
from sims.baselines.links import Links, joined_links
from sims.experiments.simulated_broadcast import simulated_blind, simulated_cast
from sims.experiments.wide_cube import cast, cube_links, grown_cube

SIMULATED_MAX: Final = 64
"""Up to this size nodes are simulated one by one; a cube of 64 takes some 4 CPU seconds, one of 128 more than 20."""


class Algorithm(enum.StrEnum):
    """Who passes on what to whom."""

    FLOODING = "flooding"
    GOSSIP = "gossip"
    HYPERCUBE = "hypercube"


class BroadcastEngine(enum.StrEnum):
    """Node by node in the simulator, or all at once on arrays."""

    SIMULATED = "simulated"
    VECTORISED = "vectorised"


class Overlay(enum.StrEnum):
    """The links of the baselines: of brokers that joined one after the other, or those of the cube."""

    JOINED = "joined"
    CUBE = "cube"


class Choice(enum.StrEnum):
    """Among whom gossip chooses: all, or a node's own links."""

    ALL = "all"
    LINKS = "links"


@dataclass(frozen=True, slots=True)
class BroadcastReading:
    """How to read what the paper leaves open of its baselines; defaults meet the duplicates of its figure 6."""

    overlay: Overlay = Overlay.JOINED
    degree: float = DEGREE
    """Links per node of a `joined` overlay, on average."""
    fanout: float = FANOUT
    rounds: int | None = None
    """After so many hops gossip is not passed on; None for ever."""
    choice: Choice = Choice.ALL


@dataclass(frozen=True, slots=True)
class Trial:
    """One broadcast to run."""

    algorithm: Algorithm
    nodes: int
    seed: int
    failed: float = 0.0
    """Share of the nodes that are dead."""
    reading: BroadcastReading = field(default_factory=BroadcastReading)
    simulated_max: int = SIMULATED_MAX

    @property
    def engine(self) -> BroadcastEngine:
        return BroadcastEngine.SIMULATED if self.nodes <= self.simulated_max else BroadcastEngine.VECTORISED


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one broadcast."""

    algorithm: Algorithm
    nodes: int
    seed: int
    failed: float
    coverage: float
    duplicate_rate: float
    messages: int
    hops: int
    engine: BroadcastEngine


def perform(trial: Trial) -> Result:
    """Run one broadcast, in whatever process."""
    root, live = scene_of(trial)
    spread = _spread(trial, root, live)
    return Result(
        algorithm=trial.algorithm,
        nodes=trial.nodes,
        seed=trial.seed,
        failed=trial.failed,
        coverage=spread.reached / int(live.sum()),
        duplicate_rate=spread.duplicates / max(spread.reached - 1, 1),
        messages=spread.messages,
        hops=spread.hops,
        engine=trial.engine,
    )


def scene_of(trial: Trial) -> tuple[int, NDArray[np.bool_]]:
    """Where the broadcast starts, and who is live; the root always is."""
    rng = _rng(trial, "scene")
    root = int(rng.integers(trial.nodes))
    live = np.ones(trial.nodes, bool)
    dead = min(round(trial.failed * trial.nodes), trial.nodes - 1)
    chosen = rng.choice(trial.nodes - 1, dead, replace=False)
    live[chosen + (chosen >= root)] = False
    return root, live


def baseline_of(trial: Trial) -> Blind:
    """Flooding or gossip as the trial reads it."""
    reading = trial.reading
    if trial.algorithm is Algorithm.FLOODING:
        return flooding(_links(trial))
    rng = _rng(trial, "choices")
    if reading.choice is Choice.ALL:
        return gossip_among_all(trial.nodes, reading.fanout, reading.rounds, rng)
    return gossip_over_links(_links(trial), reading.fanout, reading.rounds, rng)


def _spread(trial: Trial, root: int, live: NDArray[np.bool_]) -> Spread:
    is_simulated = trial.engine is BroadcastEngine.SIMULATED
    if trial.algorithm is not Algorithm.HYPERCUBE:
        blind = baseline_of(trial)
        return simulated_blind(blind, trial.seed, root, live) if is_simulated else broadcast(blind, root, live)
    if is_simulated:
        return simulated_cast(trial.seed, root, live)
    return cast(grown_cube(trial.nodes, _rng(trial, "cube")), root, live, CubeConfig())


def _links(trial: Trial) -> Links:
    if trial.reading.overlay is Overlay.CUBE:
        return cube_links(grown_cube(trial.nodes, _rng(trial, "cube")))
    return joined_links(trial.nodes, trial.reading.degree, _rng(trial, "links"))


def _rng(trial: Trial, purpose: str) -> Generator:
    """Its own chance for each purpose, the same for all algorithms."""
    return np.random.default_rng([trial.seed, trial.nodes, *purpose.encode()])
