"""One run of RacsCBPS 5 as asked for: its reading, and what came of it.

With one seed, number of subscribers and reading, all criteria and demands meet the same network, publishers and wishes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from time import process_time
from typing import Final, NamedTuple

from p2psub.admission.criteria import read_criterion
from p2psub.model.instants import SECOND_US
from sims.experiments.admission.brokers import BROKERS, BrokerNet, Topology, drawn_net
from sims.experiments.admission.gate import DemandChoice, ShareOf, gate_of
from sims.experiments.admission.run import AdmissionRun, AdmissionTally
from sims.experiments.admission.workload import (
    AdmissionWorkload,
    AdvertisementLife,
    Says,
    WorkloadPlan,
    drawn_workload,
)
from sims.experiments.archive import Experiment
from sims.experiments.chance import rng_of


@dataclass(frozen=True, slots=True)
class AdmissionReading:
    """How to read what the paper leaves open."""

    topology: Topology = Topology.ROOTED
    selectivity: float = 0.05
    says: Says = Says.NAME
    advertisements: AdvertisementLife = AdvertisementLife.CHANGING
    is_voting_on_advertisements: bool = False
    share_of: ShareOf = ShareOf.ASKED


@dataclass(frozen=True, slots=True)
class AdmissionTrial:
    """One run to do."""

    criterion: str
    demand: DemandChoice | None
    """None where nobody is asked."""
    subscribers: int
    seed: int
    seconds: float = 60.0
    reading: AdmissionReading = field(default_factory=AdmissionReading)


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """What came of a run."""

    criterion: str
    demand: DemandChoice | None
    subscribers: int
    seed: int
    asked: int
    """Subscriptions."""
    admitted: int
    reject_rate: float
    advertisements_asked: int
    advertisements_reject_rate: float
    published: int
    discarded_per_s: float
    """At one broker, in the mean."""
    discarded_per_s_total: float
    cpu_utilisation: float
    """The share of its time that a broker processes, in the mean."""
    link_utilisation: float
    """The same of the links, each direction for itself."""
    workload_digest: str
    cpu_seconds: float
    """Of this run; the first of a workload also pays for drawing it."""


class AdmissionScene(NamedTuple):
    """A network, and what happens in it."""

    net: BrokerNet
    workload: AdmissionWorkload
    digest: str


def perform(trial: AdmissionTrial) -> AdmissionResult:
    """Run one trial, in whatever process."""
    began = process_time()
    reading = trial.reading
    scene = scene_of(trial.seed, trial.subscribers, trial.seconds, reading)
    gate = gate_of(
        read_criterion(trial.criterion),
        trial.demand or DemandChoice.SHARED,
        reading.share_of,
        scene.net,
        scene.workload,
        is_voting_on_advertisements=reading.is_voting_on_advertisements,
    )
    tally = AdmissionRun(scene.net, scene.workload, gate, trial.seconds, reading.says, reading.advertisements).run()
    discarded_per_s = tally.discarded / trial.seconds
    return AdmissionResult(
        criterion=trial.criterion,
        demand=trial.demand,
        subscribers=trial.subscribers,
        seed=trial.seed,
        asked=gate.subscriptions.asked,
        admitted=gate.subscriptions.admitted,
        reject_rate=gate.subscriptions.reject_rate,
        advertisements_asked=gate.advertisements.asked,
        advertisements_reject_rate=gate.advertisements.reject_rate,
        published=tally.published,
        discarded_per_s=discarded_per_s / BROKERS,
        discarded_per_s_total=discarded_per_s,
        cpu_utilisation=_utilisation(tally, trial.seconds, is_work=True),
        link_utilisation=_utilisation(tally, trial.seconds, is_work=False),
        workload_digest=scene.digest,
        cpu_seconds=round(process_time() - began, 3),
    )


@lru_cache(maxsize=1)
def scene_of(seed: int, subscribers: int, seconds: float, reading: AdmissionReading) -> AdmissionScene:
    """What all criteria and demands meet: everything that chance decides."""
    net = drawn_net(rng_of(seed, "net"), reading.topology)
    plan = WorkloadPlan(subscribers, seconds, reading.selectivity, reading.says, reading.advertisements)
    workload = drawn_workload(seed, BROKERS, plan)
    digest = hashlib.blake2b(repr((net, workload)).encode(), digest_size=16).hexdigest()
    return AdmissionScene(net, workload, digest)


def _utilisation(tally: AdmissionTally, seconds: float, *, is_work: bool) -> float:
    busy_us = [
        busy_us for resource, busy_us in tally.busy_us.items() if (resource.broker == resource.towards) is is_work
    ]
    return fmean(busy_us) / (seconds * SECOND_US)


ADMISSION_RUNS: Final = Experiment(
    perform,
    AdmissionTrial,
    AdmissionResult,
    (
        "sims.experiments.chance",
        *(f"sims.experiments.admission.{name}" for name in ("brokers", "gate", "run", "trial", "workload")),
        "p2psub.admission",
        "p2psub.matching.covering",
        "p2psub.matching.extents",
        "p2psub.model.charges",
        "p2psub.model.rates",
    ),
)
"""For the archive of finished runs."""
