"""What happens in a run, from the first process to the last: an overlay forms, works, loses peers, and is counted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import NamedTuple

import trio

from p2psub.demo.analysis import analyse
from p2psub.demo.controls import Controls
from p2psub.demo.directories import RunDirectories
from p2psub.demo.fleet import Fleet
from p2psub.demo.formation import form, start_all
from p2psub.demo.leash import leashed
from p2psub.demo.overview import Overview
from p2psub.demo.parts import assign_parts
from p2psub.demo.plan import DemoPlan
from p2psub.demo.report import DemoReport, make_report
from p2psub.demo.stages import ProgressReporter, Stages
from p2psub.demo.trace_counts import TraceCounts, WallSpan, count_records
from p2psub.demo.traffic import DemoTraffic
from p2psub.model.ids import ClusterId
from p2psub.runtime.driver import steady_us, wall_offset_us
from p2psub.traces.segments import read_segments


class _Settled(NamedTuple):
    """What is known when the traffic has settled."""

    traffic: DemoTraffic
    overview: Overview
    leaders: dict[ClusterId, str]
    """Who led before a peer was killed."""
    span: WallSpan


async def run_demo(plan: DemoPlan, directories: RunDirectories, reporter: ProgressReporter) -> DemoReport:
    """Run the whole story, with its files in these directories. However it ends, no process of it is left."""
    stages = Stages(reporter)
    with leashed() as group:
        fleet = Fleet(directories, group)
        async with trio.open_nursery() as processes:
            bootstrap = await start_all(plan.seats, fleet, stages, processes, plan.patience_s)
            settled = await _play(plan, directories, fleet, stages)
            with stages.stage("ending"):
                await fleet.end(bootstrap)
            processes.cancel_scope.cancel()
    with stages.stage("counting"):
        traced = await trio.to_thread.run_sync(_read_traces, directories.peers, settled.leaders, settled.span)
    analysis = await analyse(directories, stages)
    traffic = settled.traffic
    figures = traffic.tally.figures()
    return make_report(
        plan, settled.overview, figures, traced, traffic.killed, stages.seconds, str(directories.peers), analysis
    )


async def _play(plan: DemoPlan, directories: RunDirectories, fleet: Fleet, stages: Stages) -> _Settled:
    """What happens while all processes run."""
    rng = Random(plan.seed)
    controls: dict[str, Controls] = {}
    async with AsyncExitStack() as stack:
        for name in fleet.peers:
            controls[name] = await stack.enter_async_context(Controls(name, directories.peers / name))
        formed = await form(plan.clusters, fleet, controls, stages, plan.patience_s)
        first_us = _wall_us()
        traffic = DemoTraffic(plan, fleet, controls, stages, rng)
        parts = assign_parts(formed.standings, plan, rng)
        async with trio.open_nursery() as listening:
            await traffic.subscribe(parts, listening)
            await traffic.publish(parts)
            overview = await traffic.settle()
            listening.cancel_scope.cancel()
    return _Settled(traffic, overview, formed.leaders, WallSpan(first_us, _wall_us()))


def _wall_us() -> int:
    return steady_us() + wall_offset_us()


def _read_traces(directory: Path, leaders: Mapping[ClusterId, str], span: WallSpan) -> TraceCounts:
    return count_records(read_segments(directory), leaders, span)
