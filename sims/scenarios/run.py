"""One scenario with one seed, from formation to judgement."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from time import process_time

from p2psub.model.ids import NodeId
from p2psub.model.instants import SECOND_US
from p2psub.model.records import Record
from sims.checkers.bounds import OUTBOX_HEARTBEATS
from sims.checkers.evidence import Evidence, Finding, Phases, Site
from sims.checkers.judge import Judgement, judge
from sims.checkers.rings import RING_IDEAL_HEARTBEATS
from sims.engine.carried import Carried
from sims.engine.faults import FaultSchedule
from sims.engine.host import CoreFault
from sims.engine.trace import Entry
from sims.scenarios.scenario import Scenario
from sims.scenarios.schedules import SCHEDULES, draw_schedules
from sims.scenarios.stage import Stage
from sims.workloads.applications import Applications


@dataclass(slots=True)
class SeedReport:
    """What one seed showed."""

    seed: int
    scenario: Scenario
    nodes: int
    digest: str
    judgement: Judgement
    crashes: int
    wipes: int
    partitions: int
    messages: int
    wire_duplicates: int
    carried: Carried
    cpu_seconds: float
    virtual_seconds: float
    schedules: tuple[str, ...] = ()
    entries: list[Entry] = field(default_factory=list)
    running: frozenset[tuple[NodeId, int]] = frozenset()
    """The processes that ran at the end, by node and incarnation."""

    @property
    def findings(self) -> list[Finding]:
        return self.judgement.findings


def run(
    scenario: Scenario,
    seed: int,
    *,
    codec_share: int = 0,
    clock_seed: int | None = None,
    keep_entries: bool = False,
) -> SeedReport:
    """Run one seed to its end and judge it; a core that raises is a finding, like any other."""
    began = process_time()
    stage = Stage(scenario, seed, codec_share=codec_share, clock_seed=clock_seed)
    play = Play(stage)
    fault: Finding | None = None
    with _without_collector():
        try:
            play.perform()
        except CoreFault as error:
            fault = Finding("exception", f"{error} {_where(error)}", _last_record(stage, error), error.now)
        judgement = judge(play.evidence())
    if fault is not None:
        judgement.findings.insert(0, fault)
    world = stage.world
    return SeedReport(
        seed=seed,
        scenario=scenario,
        nodes=sum(host.cluster is not None for host in world.hosts),
        digest=world.trace.digest(),
        judgement=judgement,
        crashes=len(stage.saboteur.log.crashes),
        wipes=sum(crash.wiped for crash in stage.saboteur.log.crashes),
        partitions=len(stage.saboteur.log.cuts),
        messages=world.network.traffic.received,
        wire_duplicates=world.network.traffic.duplicated,
        carried=world.network.carriage.carried,
        cpu_seconds=process_time() - began,
        virtual_seconds=world.now / SECOND_US,
        schedules=play.schedules,
        entries=world.trace.entries if keep_entries else [],
        running=frozenset((host.id, host.incarnation) for host in world.hosts if host.is_up),
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Nearly all that a run and its judges allocate they keep; scanning it over and over costs a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Play:
    """The phases of one run: formation, calm, faults, quiet."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._formed = False
        end_us = int(stage.scenario.seconds * SECOND_US)
        self._phases = Phases(end_us, end_us, end_us, end_us)
        self._at_ring_bound = self._at_outbox_bound = stage.statuses()
        self.schedules: tuple[str, ...] = ()

    def perform(self) -> None:
        """Play all phases; a world that does not form is played no further."""
        stage, world, scenario = self._stage, self._stage.world, self._stage.scenario
        self._formed = stage.form()
        if not self._formed:
            return
        end_us = int(scenario.seconds * SECOND_US)
        load_us = world.now
        faults_us = load_us + int(scenario.calm_seconds * SECOND_US)
        quiet_us = max(faults_us, end_us - int(scenario.quiet_seconds * SECOND_US))
        self._phases = Phases(load_us, faults_us, quiet_us, end_us)
        world.network.carriage.begin(load_us)
        Applications(world, scenario.load, stage.seed).start(quiet_us)
        world.run_until(faults_us)
        self._open_faults(quiet_us)
        world.run_until(quiet_us)
        heartbeat_us = stage.config.heartbeat_us
        world.run_until(min(end_us, quiet_us + RING_IDEAL_HEARTBEATS * heartbeat_us))
        self._at_ring_bound = stage.statuses()
        world.run_until(min(end_us, quiet_us + OUTBOX_HEARTBEATS * heartbeat_us))
        self._at_outbox_bound = stage.statuses()
        world.run_until(end_us)

    def _open_faults(self, quiet_us: int) -> None:
        stage, scenario = self._stage, self._stage.scenario
        FaultSchedule(stage.saboteur, frozenset(scenario.faults), stage.seed).open(quiet_us)
        names = scenario.schedules
        if "mixed" in names:
            names = draw_schedules(Random(f"{stage.seed}/schedules"), frozenset(scenario.faults))
        self.schedules = names
        for name in names:
            SCHEDULES[name](stage, Random(f"{stage.seed}/schedules/{name}"))

    def evidence(self) -> Evidence:
        """Everything the checkers may look at."""
        stage = self._stage
        world, scenario = stage.world, stage.scenario
        sites = [
            Site(host.index, host.id, host.cluster, host.incarnation if host.is_up else None, host.started_us)
            for host in world.hosts
            if host.cluster is not None
        ]
        evidence = Evidence(
            config=stage.config,
            phases=self._phases,
            entries=world.trace.entries,
            sites=sites,
            faults=stage.saboteur.log,
            fault_kinds=frozenset(scenario.faults),
            formed=self._formed,
            obligations_min=scenario.obligations_min,
            votes=stage.votes,
        )
        if world.now >= self._phases.end_us:
            evidence.at_ring_bound = self._at_ring_bound
            evidence.at_outbox_bound = self._at_outbox_bound
            evidence.at_end = stage.statuses()
        return evidence


def _where(error: CoreFault) -> str:
    """File and line of the raise inside the core."""
    frame = error.__cause__.__traceback__ if error.__cause__ is not None else None
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return "" if frame is None else f"({frame.tb_frame.f_code.co_filename}:{frame.tb_lineno})"


def _last_record(stage: Stage, error: CoreFault) -> Record | None:
    for _, record in reversed(stage.world.trace.entries):
        if record.node == error.host.id:
            return record
    return None
