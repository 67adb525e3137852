"""`p2psub bench filtered`: one publisher, and subscribers, each a process, that each want 1 % of the events."""

from __future__ import annotations

from pathlib import Path

import trio

from p2psub.bench.bursts import Burst, Drill
from p2psub.bench.content import EventLoad, filter_for, prices_of, topics_of
from p2psub.bench.orders import PublishOrder, SubscribeOrder
from p2psub.bench.overlay import BenchOverlay, open_overlay
from p2psub.bench.plan import FilteredPlan
from p2psub.bench.report import BurstSettings, FilteredReport, FilteredRound, medians, settings_of
from p2psub.bench.workers import dump_profiles, open_crew
from p2psub.demo.stages import ProgressReporter, Stages, patient


async def bench_filtered(plan: FilteredPlan, directory: Path, reporter: ProgressReporter) -> FilteredReport:
    """Measure, with all files in this directory."""
    settings, stages, peers = settings_of(plan, plan.guarantee), Stages(reporter), plan.subscribers + 1
    async with open_crew(directory) as crew, open_overlay(directory, crew, plan.traces) as overlay:
        with (
            stages.stage(f"forming a ring of {peers}"),
            patient(plan.patience_s, lambda: f"no ring of {peers} has formed"),
        ):
            await overlay.add("publisher", *(f"subscriber-{number}" for number in range(plan.subscribers)))
            load = await _subscribe_all(plan, overlay)
        drill = _drill(plan, overlay, load)
        with stages.stage("warming up"):
            await drill.run(load, PublishOrder(plan.at_once))
        bursts: list[Burst] = []
        with stages.stage("measuring", plan.rounds):
            for number in range(plan.rounds):
                bursts.append(await drill.run(load, PublishOrder(plan.at_once)))
                reporter.progress(number + 1)
        await dump_profiles(plan.profile, "filtered", overlay.peers)
    return _report(plan, load, bursts, settings)


async def _subscribe_all(plan: FilteredPlan, overlay: BenchOverlay) -> EventLoad:
    """Have every subscriber want its price; what is to be published."""
    publisher, *subscribers = overlay.peers
    owners = plan.owner.choose(publisher, subscribers)
    topics = topics_of(overlay.ids_of(owners), overlay.ids_of(overlay.peers))
    async with trio.open_nursery() as nursery:
        for subscriber, price in zip(subscribers, prices_of(len(subscribers)), strict=True):
            nursery.start_soon(subscriber.tell, SubscribeOrder((_filter(plan, topics, price),)))
    return EventLoad(plan.events, topics, plan.body_bytes, plan.guarantee)


def _filter(plan: FilteredPlan, topics: tuple[str, ...], price: int) -> str:
    return filter_for(() if plan.any_topic else topics, price)


def _drill(plan: FilteredPlan, overlay: BenchOverlay, load: EventLoad) -> Drill:
    publisher, *subscribers = overlay.peers
    wanted = [load.wanted(price) for price in prices_of(len(subscribers))]
    consumers = tuple(zip(subscribers, wanted, strict=True))
    return Drill(publisher, consumers, plan.silence_s, is_profiled=plan.profile is not None)


def _report(plan: FilteredPlan, load: EventLoad, bursts: list[Burst], settings: BurstSettings) -> FilteredReport:
    rounds = [
        FilteredRound(
            events_per_s=burst.events_per_s,
            cpu_us_per_event=burst.cpu_us_per_event(),
            publisher_cpu_us_per_event=burst.cpu_us_per_event("publisher"),
            bytes_per_event=burst.bytes_per_event,
        )
        for burst in bursts
    ]
    return FilteredReport(
        **medians(rounds),
        subscribers=plan.subscribers,
        filter=_filter(plan, load.topics, prices_of(plan.subscribers)[0]),
        published=sum(burst.events for burst in bursts),
        delivered=sum(burst.delivered for burst in bursts),
        lost=sum(burst.lost for burst in bursts),
        settings=settings,
        rounds=tuple(rounds),
    )
