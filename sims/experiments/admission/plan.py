"""All runs that docs/experiments/admission.md shows, by the table that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from p2psub.admission.criteria import read_criterion
from sims.experiments.admission.brokers import Topology
from sims.experiments.admission.gate import DemandChoice, ShareOf
from sims.experiments.admission.trial import AdmissionReading, AdmissionTrial
from sims.experiments.admission.workload import AdvertisementLife, Says

CRITERIA: Final = ("none", "percent:40", "percent:20", "full")
READINGS: Final = {
    "as above": AdmissionReading(),
    "advertisements stand (`--advertisements fixed`)": AdmissionReading(advertisements=AdvertisementLife.FIXED),
    "advertisements are voted on (`--votes-on-advertisements`)": AdmissionReading(is_voting_on_advertisements=True),
    "one spanning tree (`--topology spanning`)": AdmissionReading(topology=Topology.SPANNING),
    "subscriptions take a tenth (`--selectivity 0.1`)": AdmissionReading(selectivity=0.1),
    "subscriptions take a fortieth (`--selectivity 0.025`)": AdmissionReading(selectivity=0.025),
    "advertisements say all values (`--says event`)": AdmissionReading(says=Says.EVENT),
    "percentage of all brokers (`--share-of all`)": AdmissionReading(share_of=ShareOf.ALL),
}
"""What the paper leaves open, and what other readings are called."""


@dataclass(frozen=True, slots=True)
class AdmissionPlan:
    """How long, on how many networks, and with how many subscribers."""

    seconds: float
    seeds: tuple[int, ...]
    subscribers: tuple[int, ...]

    def figures(self, demand: DemandChoice) -> list[AdmissionTrial]:
        """Figures 9 and 10, where subscriptions demand so."""
        return trials_of(CRITERIA, [demand], self.subscribers, self.seeds, self.seconds, AdmissionReading())

    def reading(self, reading: AdmissionReading, demand: DemandChoice) -> list[AdmissionTrial]:
        """All criteria with the most subscribers, read otherwise."""
        return trials_of(CRITERIA, [demand], [max(self.subscribers)], self.seeds, self.seconds, reading)

    def all_figures(self) -> list[AdmissionTrial]:
        """Those of every demand."""
        return list(dict.fromkeys(trial for demand in DemandChoice for trial in self.figures(demand)))

    def trials(self) -> list[AdmissionTrial]:
        """Everything, each once."""
        others = [trial for one in READINGS.values() for demand in DemandChoice for trial in self.reading(one, demand)]
        return list(dict.fromkeys([*self.all_figures(), *others]))


def trials_of(
    criteria: Sequence[str],
    demands: Sequence[DemandChoice],
    subscribers: Sequence[int],
    seeds: Sequence[int],
    seconds: float,
    reading: AdmissionReading,
) -> list[AdmissionTrial]:
    """Every combination; where nobody is asked no demand matters, so that is run once."""
    return [
        AdmissionTrial(criterion, demand, count, seed, seconds, reading)
        for criterion in criteria
        for demand in (demands if read_criterion(criterion).is_asking else [None])
        for count in subscribers
        for seed in seeds
    ]
