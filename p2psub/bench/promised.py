"""`p2psub bench promised`: what `effectively_once` costs in a ring of four peers, and whether it holds.

Publishers publish for some time. Subscribers consume meanwhile, and for as long afterwards as something still comes.
Then the numbers of the events that were acknowledged are compared with the numbers of those that came.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from p2psub.api.settings import NODE
from p2psub.bench.arrival import wait_for_arrival
from p2psub.bench.content import PRICES, EventLoad
from p2psub.bench.orders import (
    EventRoll,
    FollowOrder,
    ProfileOrder,
    Published,
    PublishForOrder,
    RollOrder,
    SubscribeOrder,
)
from p2psub.bench.overlay import BenchOverlay, open_overlay
from p2psub.bench.plan import RING_PEERS, PromisedPlan
from p2psub.bench.promised_report import PromisedFigures, PromisedReport, promised_settings_of
from p2psub.bench.stretch import Look, Stretch, lost_of
from p2psub.bench.topic_roles import NOTHING, TopicRoles, filters_of, roles_of, shard_owners_of
from p2psub.bench.workers import dump_profiles, open_crew
from p2psub.demo.directories import trace_bytes_below
from p2psub.demo.stages import ProgressReporter, Stages, TooSlow, patient
from p2psub.model.content import Guarantee
from p2psub.runtime.trace_writer import TraceConfig

SETTLE_S: Final = TraceConfig().age_s_max * 1.5
"""After it traces are written, and owners have erased what they no longer owe."""


async def bench_promised(plan: PromisedPlan, directory: Path, reporter: ProgressReporter) -> PromisedReport:
    """Measure, with all files in this directory."""
    stages = Stages(reporter)
    async with open_crew(directory) as crew, open_overlay(directory, crew, plan.traces) as overlay:
        ring = f"ring of {RING_PEERS}"
        with stages.stage(f"forming a {ring}"), patient(plan.patience_s, lambda: f"no {ring} has formed"):
            await overlay.add(*(f"peer-{number}" for number in range(1, RING_PEERS + 1)))
        ids = overlay.ids_of(overlay.peers)
        roles = roles_of(plan.topics, plan.publishers, ids)
        filters = [filters_of(number, roles, plan.wildcards) for number in range(RING_PEERS)]
        wanted = sum(filter_ != NOTHING for each in filters for filter_ in each)
        settings = promised_settings_of(plan, wanted, shard_owners_of(NODE.pubsub.shards, ids))
        with (
            stages.stage("subscribing"),
            patient(plan.patience_s, lambda: "not every cluster knows of every subscription"),
        ):
            async with trio.open_nursery() as nursery:
                for peer, wishes in zip(overlay.peers, filters, strict=True):
                    nursery.start_soon(peer.tell, SubscribeOrder(wishes))
        trial = PromisedTrial(plan, overlay, roles)
        with stages.stage("warming up"):
            await trial.run(plan.warm_up_s)
        with stages.stage("measuring", round(plan.duration_s)):
            stretch = await trial.measure(reporter)
        await dump_profiles(plan.profile, "promised", overlay.peers)
        with stages.stage("comparing what was promised with what came"):
            rolls = [await peer.ask(RollOrder(), EventRoll) for peer in overlay.peers]
    if not stretch.acknowledged:
        raise TooSlow("no event was acknowledged; try again when the machine is less busy, or with more --seconds")
    figures = stretch.figures(sum((Counter(roll.ages_ns) for roll in rolls), Counter()))
    return PromisedReport(
        **{name: getattr(figures, name) for name in PromisedFigures.__struct_fields__},
        acknowledged=stretch.acknowledged,
        unacknowledged=sum(each.unacknowledged for each in stretch.published),
        lost=lost_of(roles, [peer.id for peer in stretch.after.peers], rolls),
        duplicates=sum(roll.duplicates for roll in rolls),
        settings=settings,
        rss_mb_by_minute=stretch.rss_mb_by_minute,
    )


@dataclass(frozen=True, slots=True)
class PromisedTrial:
    """Peers that have subscribed, and what they publish."""

    plan: PromisedPlan
    overlay: BenchOverlay
    roles: list[TopicRoles]

    async def measure(self, reporter: ProgressReporter) -> Stretch:
        """Publish, and look before and after; at the memory meanwhile, too."""
        before = await self._look()
        rss_bytes_by_minute: list[tuple[int, ...]] = []
        await self._switch_profiles(True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_count_seconds, reporter, round(self.plan.duration_s))
            nursery.start_soon(self._note_memory, rss_bytes_by_minute)
            published = await self.run(self.plan.duration_s)
            nursery.cancel_scope.cancel()
        await self._switch_profiles(False)
        return Stretch(tuple(published), before, await self._look(), tuple(rss_bytes_by_minute))

    async def run(self, seconds: float) -> list[Published]:
        """Publish for so long; returns when all of it was consumed, or nothing has come for long, and all is quiet."""
        for peer in self.overlay.peers:
            await peer.tell(FollowOrder())
        published: list[Published] = []

        async def publish(number: int) -> None:
            published.append(await self.overlay.peers[number].ask(self._order(number, seconds), Published))

        async with trio.open_nursery() as nursery:
            for number in range(self.plan.publishers):
                nursery.start_soon(publish, number)
        wanted = sum(each.acknowledged + each.unacknowledged for each in published)
        await wait_for_arrival(self.overlay.peers, wanted, self.plan.silence_s)
        await trio.sleep(SETTLE_S)
        return published

    def _order(self, publisher: int, seconds: float) -> PublishForOrder:
        plan = self.plan
        topics = tuple(role.topic for role in self.roles if role.publisher == publisher)
        load = EventLoad(len(topics) * PRICES, topics, plan.body_bytes, Guarantee.EFFECTIVELY_ONCE)
        rate_per_s = plan.rate_per_s / plan.publishers
        return PublishForOrder(load, seconds, plan.silence_s, plan.calls, plan.at_once, rate_per_s)

    async def _look(self) -> Look:
        peers = tuple([await peer.look() for peer in self.overlay.peers])
        return Look(peers, sum(trace_bytes_below(self.overlay.data_of(peer)) for peer in self.overlay.peers))

    async def _note_memory(self, rss_bytes_by_minute: list[tuple[int, ...]]) -> None:
        began_s = trio.current_time()
        for minute in range(int(self.plan.duration_s // 60) + 1):
            await trio.sleep_until(began_s + minute * 60)
            rss_bytes_by_minute.append(tuple(peer.rss_bytes for peer in self.overlay.peers))

    async def _switch_profiles(self, is_on: bool) -> None:
        if self.plan.profile is not None:
            for peer in self.overlay.peers:
                await peer.tell(ProfileOrder(is_on))


async def _count_seconds(reporter: ProgressReporter, seconds: int) -> None:
    began_s = trio.current_time()
    for second in range(1, seconds + 1):
        await trio.sleep_until(began_s + second)
        reporter.progress(second)
