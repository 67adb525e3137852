"""What happens in a soak, from the first process to the audit of the traces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, NamedTuple

import trio

from p2psub.demo.analysis import analyse
from p2psub.demo.controls import Controls
from p2psub.demo.directories import RunDirectories, trace_bytes_below
from p2psub.demo.fleet import Fleet
from p2psub.demo.formation import form, start_all
from p2psub.demo.leash import leashed
from p2psub.demo.overview import wait_settled
from p2psub.demo.stages import ProgressReporter, Stages, TooSlow, patient
from p2psub.soak.books import BookFigures
from p2psub.soak.memory_watch import MemoryWatch
from p2psub.soak.plan import MEMBERS, SPARED, SoakPlan
from p2psub.soak.report import SoakReport, soak_settings_of
from p2psub.soak.rounds import SoakRounds
from p2psub.soak.traffic import SoakTraffic

AUDIT_S_MAX: Final = 6 * 3600.0
"""Far above what the traces of hours take; only a hang is ended by it."""


class _Soaked(NamedTuple):
    """What is known when the traffic has settled."""

    figures: BookFigures
    kills: dict[str, int]
    rss_mb_max: float
    is_settled: bool


async def run_soak(plan: SoakPlan, directories: RunDirectories, reporter: ProgressReporter) -> SoakReport:
    """Run it, with its files in these directories. However it ends, no process of it is left."""
    stages, settings = Stages(reporter), soak_settings_of(plan)
    with leashed() as group:
        fleet = Fleet(directories, group)
        async with trio.open_nursery() as processes:
            bootstrap = await start_all(plan.seats, fleet, stages, processes, plan.patience_s)
            settled = await _soak(plan, directories, fleet, stages, processes)
            with stages.stage("ending"):
                await fleet.end(bootstrap)
            processes.cancel_scope.cancel()
    if not settled.figures.acknowledged:
        raise TooSlow("no event was acknowledged; try again when the machine is less busy, or with a lower --rate")
    audit = await analyse(directories, stages, AUDIT_S_MAX)
    return SoakReport(
        rounds=plan.rounds,
        kills=settled.kills,
        **settled.figures._asdict(),
        is_settled=settled.is_settled,
        rss_mb_max=round(settled.rss_mb_max, 1),
        trace_bytes=trace_bytes_below(directories.peers),
        audit_violations=None if audit is None else audit["violated"],
        audit_undecided=None if audit is None else audit["undecided"],
        audit_seconds=None if audit is None else stages.seconds["analysing"],
        settings=settings,
    )


async def _soak(
    plan: SoakPlan, directories: RunDirectories, fleet: Fleet, stages: Stages, processes: trio.Nursery
) -> _Soaked:
    """What happens while all processes run."""
    async with _controls_of(fleet.peers, directories) as controls:
        await form(len(MEMBERS), fleet, controls, stages, plan.patience_s)
        names = {(await controls[name].status()).ring.id: name for name in controls}
    async with _controls_of(SPARED, directories) as controls, trio.open_nursery() as background:
        traffic, memory = SoakTraffic(plan, controls, stages.reporter), MemoryWatch(fleet)
        background.start_soon(memory.run)
        with (
            stages.stage("subscribing"),
            patient(plan.patience_s, lambda: "not every cluster knows of every subscription"),
        ):
            await traffic.subscribe(background)
        rounds = SoakRounds(plan, fleet, controls, names, traffic.books, memory, stages)
        async with trio.open_nursery() as publishing:
            publishing.start_soon(traffic.publish)
            await rounds.run(processes)
            traffic.stop()
        is_settled = await _settle(plan, directories, fleet, stages, traffic)
        background.cancel_scope.cancel()
    return _Soaked(
        traffic.books.figures(),
        {role.value: count for role, count in sorted(rounds.kills.items())},
        memory.mb_max,
        is_settled,
    )


async def _settle(
    plan: SoakPlan, directories: RunDirectories, fleet: Fleet, stages: Stages, traffic: SoakTraffic
) -> bool:
    """Wait until everything has arrived and no peer owes anything; whether the overlay came to that."""
    with stages.stage("settling"):
        async with _controls_of(fleet.peers, directories) as controls:
            overview = await wait_settled(controls, len(MEMBERS), lambda: traffic.books.missing == 0, plan.patience_s)
    return overview.is_settled(len(MEMBERS))


@asynccontextmanager
async def _controls_of(names: Iterable[str], directories: RunDirectories) -> AsyncIterator[dict[str, Controls]]:
    """The controls of peers as they run now: a peer that was started again listens elsewhere."""
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(Controls(name, directories.peers / name)) for name in sorted(names)
        }
