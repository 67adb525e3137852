"""`p2psub bench link`: one publisher and one subscriber, beside a bare TLS stream between two other processes."""

from __future__ import annotations

from pathlib import Path

from p2psub.bench.bursts import Burst, Drill, middle
from p2psub.bench.content import EventLoad, filter_for, topics_of
from p2psub.bench.orders import DialOrder, Listening, ListenOrder, PublishOrder, SubscribeOrder
from p2psub.bench.overlay import BenchOverlay, open_overlay
from p2psub.bench.pair import Pair
from p2psub.bench.plan import LinkPlan
from p2psub.bench.report import BurstSettings, LinkReport, LinkRound, medians, settings_of
from p2psub.bench.workers import Crew, Worker, dump_profiles, open_crew
from p2psub.demo.stages import ProgressReporter, Stages, patient
from p2psub.model.content import Guarantee


async def bench_link(plan: LinkPlan, directory: Path, reporter: ProgressReporter) -> LinkReport:
    """Measure, with all files in this directory."""
    settings, stages = settings_of(plan, Guarantee.AT_MOST_ONCE), Stages(reporter)
    async with open_crew(directory) as crew, open_overlay(directory, crew, plan.traces) as overlay:
        with stages.stage("forming a ring of 2"), patient(plan.patience_s, lambda: "no ring of 2 has formed"):
            publisher, subscriber = await overlay.add("publisher", "subscriber")
            topics = await _subscribe(overlay, plan.owner.choose(publisher, [subscriber]))
        pair = Pair(plan, topics, publisher, subscriber, *await _connect_bare(crew, overlay))
        with stages.stage("warming up"):
            await pair.round()
        with stages.stage("measuring", plan.rounds):
            rounds = [await _round(pair, number, reporter) for number in range(plan.rounds)]
        await dump_profiles(plan.profile, "link", overlay.peers)
        with stages.stage("forming a ring of 4"), patient(plan.patience_s, lambda: "no ring of 4 has formed"):
            await overlay.add("third", "fourth")
            topics = await _subscribe(overlay, overlay.peers)
        with stages.stage("effectively once", plan.rounds):
            promised = await _effectively_once(plan, overlay, topics, reporter)
        await dump_profiles(plan.profile, "effectively-once", overlay.peers)
    return _report(rounds, promised, sum(pair.lost), settings)


async def _subscribe(overlay: BenchOverlay, owners: list[Worker]) -> tuple[str, ...]:
    """Have the subscriber want topics that these peers own."""
    topics = topics_of(overlay.ids_of(owners), overlay.ids_of(overlay.peers))
    await overlay.peers[1].tell(SubscribeOrder((filter_for(topics),)))
    return topics


async def _connect_bare(crew: Crew, overlay: BenchOverlay) -> tuple[Worker, Worker]:
    """Sender and receiver, with the certificates of publisher and subscriber."""
    sender, receiver = [await crew.hire(name, "p2psub.bench.bare") for name in ("sender", "receiver")]
    publisher_data, subscriber_data = [str(overlay.data_of(peer)) for peer in overlay.peers]
    listening = await receiver.ask(ListenOrder(subscriber_data), Listening)
    await sender.tell(DialOrder(publisher_data, listening.address))
    return sender, receiver


async def _round(pair: Pair, number: int, reporter: ProgressReporter) -> LinkRound:
    figures = await pair.round()
    reporter.progress(number + 1)
    return figures


async def _effectively_once(
    plan: LinkPlan, overlay: BenchOverlay, topics: tuple[str, ...], reporter: ProgressReporter
) -> list[Burst]:
    """Bursts with a promise, after one to warm up. One call: it must not wait for its own acknowledgements."""
    publisher, subscriber, *others = overlay.peers
    count = plan.effectively_once_events
    load = EventLoad(count, topics, plan.body_bytes, Guarantee.EFFECTIVELY_ONCE)
    drill = Drill(publisher, ((subscriber, count),), plan.silence_s, tuple(others), plan.profile is not None)
    bursts = []
    for number in range(plan.rounds + 1):
        bursts.append(await drill.run(load, PublishOrder(count)))
        reporter.progress(number)
    return bursts[1:]


def _report(rounds: list[LinkRound], promised: list[Burst], lost: int, settings: BurstSettings) -> LinkReport:
    figures = medians(rounds)
    rates = [burst.events_per_s for burst in promised]
    return LinkReport(
        **figures,
        ratio=round(figures["events_per_s"] / figures["bare_events_per_s"], 4),
        latency_ratio=round(figures["latency_p50_us"] / figures["bare_latency_p50_us"], 2),
        effectively_once_events_per_s=middle(rates),
        effectively_once_cpu_us_per_event=middle([burst.cpu_us_per_event() for burst in promised]),
        lost=lost + sum(burst.lost for burst in promised),
        settings=settings,
        rounds=tuple(rounds),
        effectively_once_rounds=tuple(rates),
    )
