"""`p2psub bench store`: how fast a peer's store is, beside a bare SQLite loop, and what a full one costs.

First packs become durable, in the store and in the loop in turn. Then a large store is filled, opened by a process of
its own, read and erased, while a task that stands for the node's steps looks how long it is kept from running.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import trio

from p2psub.bench.pack_load import CODEC, PackLoad, events_per_pack
from p2psub.bench.pauses import PauseMeter
from p2psub.bench.plan import StorePlan
from p2psub.bench.store_opener import StoreOpening
from p2psub.bench.store_rates import StoreRun, bare_append, open_run, store_append
from p2psub.bench.store_report import StoreRate, StoreReport, store_settings_of
from p2psub.demo.stages import ProgressReporter, Stages
from p2psub.runtime.store import Store

PACKS_AT_ONCE: Final = 64
"""That a step asks for, or erases."""
FILLED_AT_ONCE: Final = 1 << 12
"""Events in a step that fills the store."""
IDLE_S_MAX: Final = 2.0


async def bench_store(plan: StorePlan, directory: Path, reporter: ProgressReporter) -> StoreReport:
    """Measure, with all files in this directory."""
    stages, settings = Stages(reporter), store_settings_of(plan)
    rates = {}
    for publishers in plan.publishers:
        with stages.stage(f"publishers: {publishers}", plan.rounds):
            rates[publishers] = await _rate(plan, publishers, directory, reporter)
    trial = FullStore(plan, directory / "full.sqlite", stages)
    await trial.run()
    return StoreReport(
        publishers=rates,
        open_s=trial.opening.seconds,
        open_rss_mb=trial.opening.rss_mb,
        read_us_per_event=trial.us_per_event("reading"),
        erase_us_per_event=trial.us_per_event("erasing"),
        pause_ms_max=round(trial.pauses.ms_max, 1),
        idle_pause_ms_max=round(trial.idle_pauses.ms_max, 1),
        size_mb=trial.sizes_mb[0],
        erased_size_mb=trial.sizes_mb[1],
        settings=settings,
    )


async def _rate(plan: StorePlan, publishers: int, directory: Path, reporter: ProgressReporter) -> StoreRate:
    load = PackLoad(plan.events, events_per_pack(publishers, plan.at_once), plan.at_once, plan.body_bytes)
    seconds, bare_seconds, commits = list[float](), list[float](), 1
    for turn in range(plan.rounds):
        ours, bare = (directory / f"{name}-{publishers}-{turn}.sqlite" for name in ("store", "bare"))
        took_s, commits = await store_append(ours, load)
        seconds.append(took_s)
        bare_seconds.append(bare_append(bare, load, commits))
        for path in (ours, bare):
            path.unlink()
        reporter.progress(turn + 1)
    took_s, bare_s = median(seconds), median(bare_seconds)
    return StoreRate(
        events_per_pack=load.events_per_pack,
        events_per_commit=round(plan.events / commits),
        events_per_s=round(plan.events / took_s, 1),
        bare_events_per_s=round(plan.events / bare_s, 1),
        ratio=round(bare_s / took_s, 3),
    )


class FullStore:
    """A store with very many events: filled, opened, read, erased."""

    def __init__(self, plan: StorePlan, path: Path, stages: Stages) -> None:
        self._plan = plan
        self._path = path
        self._stages = stages
        self._seconds: dict[str, float] = {}
        self._packs = -(-plan.open_events // plan.events_per_pack)
        self.pauses = PauseMeter()
        self.idle_pauses = PauseMeter()
        self.sizes_mb: list[float] = []
        self.opening: StoreOpening

    def us_per_event(self, stage: str) -> float:
        """What a stage took."""
        return round(self._seconds[stage] * 1e6 / self._plan.open_events, 3)

    async def run(self) -> None:
        """Everything, in order."""
        plan, numbers = self._plan, list(range(1, self._packs + 1))
        load = PackLoad(plan.open_events, plan.events_per_pack, FILLED_AT_ONCE, plan.body_bytes)
        await self._stage("filling", lambda run: run.append(load.steps()))
        with self._stages.stage("opening"):
            self.opening = await _opened(self._path)
        await self._stage("reading", lambda run: run.read(numbers, PACKS_AT_ONCE))
        await self._stage("erasing", lambda run: run.erase(numbers, PACKS_AT_ONCE))
        with self._stages.stage("doing nothing"):
            async with self.idle_pauses.watching():
                await trio.sleep_until(trio.current_time() + min(IDLE_S_MAX, sum(self._seconds.values())))

    async def _stage(self, name: str, work: Callable[[StoreRun], Awaitable[None]]) -> None:
        """One life of the store, in which this is done."""
        with self._stages.stage(name, self._packs), closing(Store.open(self._path, codec=CODEC)) as store:
            async with open_run(store, self._stages.reporter.progress) as run, self.pauses.watching():
                began_s = time.perf_counter()
                await work(run)
                self._seconds[name] = time.perf_counter() - began_s
                await store.tidy()
            self.sizes_mb = [*self.sizes_mb[:1], round(store.size_bytes / 1e6, 1)]


async def _opened(path: Path) -> StoreOpening:
    command = [sys.executable, "-m", "p2psub.bench.store_opener", str(path)]
    done = await trio.run_process(command, capture_stdout=True, stderr=subprocess.DEVNULL)
    return msgspec.json.decode(done.stdout, type=StoreOpening)
