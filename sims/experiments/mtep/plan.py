"""All runs that docs/experiments/mtep.md shows, by the table that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2psub.queueing.link_queue import WEIGHT
from p2psub.queueing.policy import POLICIES
from sims.experiments.mtep.trial import MTEP, Arrivals, Drops, MeshReading, MeshTrial, Occupies, PathChoice, Transfers

RATES: Final = (0.5, 1.0, 2.0, 3.0, 5.0)
WEIGHTS: Final = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
READINGS: Final = {
    "as above": MeshReading(),
    "no policy drops (`--drops never`)": MeshReading(drops=Drops.NEVER),
    "MTEP alone drops (`--drops mtep`)": MeshReading(drops=Drops.MTEP),
    "even arrivals (`--arrivals even`)": MeshReading(arrivals=Arrivals.EVEN),
    "transmissions take the mean (`--transfers mean`)": MeshReading(transfers=Transfers.MEAN),
    "a transmission takes its whole broker (`--occupies broker`)": MeshReading(occupies=Occupies.BROKER),
    "subscriptions climb (`--paths climb`)": MeshReading(paths=PathChoice.CLIMB),
}
"""What the paper leaves open, and what other readings are called."""
LOAD_RATES: Final = (1.0, 2.0, 3.0, 5.0)
LOAD_PATHS: Final = (PathChoice.PAPER, PathChoice.PAPER_TOLD, PathChoice.LOAD_UNTOLD, PathChoice.LOAD)


@dataclass(frozen=True, slots=True)
class PagePlan:
    """How long, and on how many topologies."""

    minutes: float
    seeds: tuple[int, ...]
    judged: tuple[int, ...]
    """Seeds on which ways by load are judged: none on which they were designed."""
    judged_minutes: float

    def rates(self) -> list[MeshTrial]:
        """Figures 7 and 8: every policy at every rate."""
        return [trial for rate in RATES for trial in self._policies(rate, MeshReading())]

    def weights(self) -> list[MeshTrial]:
        """Figure 9: MTEP with every weight at rate 1."""
        return [MeshTrial(MTEP, 1.0, seed, self.minutes, weight) for weight in WEIGHTS for seed in self.seeds]

    def reading(self, reading: MeshReading) -> list[MeshTrial]:
        """Every policy at rate 1, read otherwise."""
        return self._policies(1.0, reading)

    def load(self) -> list[MeshTrial]:
        """MTEP on the paper's paths and on ours."""
        return [
            MeshTrial(MTEP, rate, seed, self.judged_minutes, WEIGHT, MeshReading(paths=paths))
            for rate in LOAD_RATES
            for paths in LOAD_PATHS
            for seed in self.judged
        ]

    def trials(self) -> list[MeshTrial]:
        """Everything, each once."""
        others = [trial for reading in READINGS.values() for trial in self.reading(reading)]
        return list(dict.fromkeys([*self.rates(), *others, *self.weights(), *self.load()]))

    def _policies(self, rate: float, reading: MeshReading) -> list[MeshTrial]:
        return [
            MeshTrial(policy, rate, seed, self.minutes, WEIGHT if policy == MTEP else None, reading)
            for policy in POLICIES
            for seed in self.seeds
        ]
