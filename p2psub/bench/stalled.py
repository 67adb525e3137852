"""`p2psub bench stalled`: a subscriber whose application takes nothing, while others want the same events.

Publisher, owner and two subscribers are the four peers of a ring. One subscriber consumes what comes; the other one
stops, and what it is owed waits at the owner. What that costs the owner and the other subscriber is measured beside the
time before; then the application wakes, and must get everything once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import trio
from pyroaring import BitMap

from p2psub.bench.ages import percentile_ms
from p2psub.bench.arrival import wait_for_arrival
from p2psub.bench.content import PRICES, EventLoad, filter_for, topics_of
from p2psub.bench.orders import EventRoll, FollowOrder, Published, PublishForOrder, RollOrder, SubscribeOrder
from p2psub.bench.overlay import BenchOverlay, open_overlay
from p2psub.bench.plan import CALLS, RING_PEERS, StalledPlan
from p2psub.bench.report import BenchSettings, bench_settings_of
from p2psub.bench.workers import open_crew
from p2psub.demo.stages import ProgressReporter, Stages, TooSlow, patient
from p2psub.model.content import Guarantee

_PUBLISHER, _OWNER, _AWAKE, _STALLED = range(RING_PEERS)
_BURST_S: Final = 1.0
"""What is to be owed is published in bursts of this length, until there is enough of it."""


class StalledSettings(BenchSettings, frozen=True, kw_only=True):
    """Under which conditions a stalled subscriber was measured."""

    idle_s: float
    timed_s: float
    rate_per_s: float
    window: int


class StalledReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one stalled subscriber costs, and whether it got everything in the end."""

    owed: int
    """Events that waited for it."""
    owner_cpu_percent: float
    """Of one core, while nothing is published and the subscriber takes nothing."""
    owner_cpu_percent_before: float
    """The same before there was such a subscriber."""
    owner_rss_mb: float
    latency_p50_ms: float
    """Of the other subscriber, while the first takes nothing."""
    latency_p99_ms: float
    latency_p50_ms_before: float
    latency_p99_ms_before: float
    latency_p99_ratio: float
    drain_s: float
    """From its first look until it had everything, or nothing came any more."""
    drain_events_per_s: float
    lost: int
    """Acknowledged events that either subscriber did not get."""
    duplicates: int
    settings: StalledSettings


@dataclass(frozen=True, slots=True)
class _Latency:
    """How long events took to the subscriber that consumes."""

    p50_ms: float
    p99_ms: float


async def bench_stalled(plan: StalledPlan, directory: Path, reporter: ProgressReporter) -> StalledReport:
    """Measure, with all files in this directory."""
    stages, settings = Stages(reporter), _settings_of(plan)
    async with open_crew(directory) as crew, open_overlay(directory, crew, plan.traces) as overlay:
        ring = f"ring of {RING_PEERS}"
        with stages.stage(f"forming a {ring}"), patient(plan.patience_s, lambda: f"no {ring} has formed"):
            await overlay.add(*(f"peer-{number}" for number in range(1, RING_PEERS + 1)))
        trial = _StalledTrial(plan, overlay)
        with stages.stage("measuring without it"):
            await trial.subscribe(_AWAKE)
            before = await trial.time()
            cpu_before = await trial.idle(plan.timed_s)
        with stages.stage("publishing what it will be owed"):
            await trial.subscribe(_STALLED)
            await trial.owe()
        with stages.stage("measuring while it takes nothing"):
            stalled = await trial.time()
            cpu = await trial.idle(plan.idle_s)
            owner = await overlay.peers[_OWNER].look()
        with stages.stage("letting it take everything"):
            drain_s = await trial.drain()
        return StalledReport(
            owed=trial.owed,
            owner_cpu_percent=cpu,
            owner_cpu_percent_before=cpu_before,
            owner_rss_mb=round(owner.rss_bytes / 1e6, 1),
            latency_p50_ms=stalled.p50_ms,
            latency_p99_ms=stalled.p99_ms,
            latency_p50_ms_before=before.p50_ms,
            latency_p99_ms_before=before.p99_ms,
            latency_p99_ratio=round(stalled.p99_ms / before.p99_ms, 2),
            drain_s=round(drain_s, 2),
            drain_events_per_s=round(trial.owed / drain_s, 1),
            lost=trial.lost,
            duplicates=trial.duplicates,
            settings=settings,
        )


def _settings_of(plan: StalledPlan) -> StalledSettings:
    general = bench_settings_of(plan, Guarantee.EFFECTIVELY_ONCE, 1 << 16)
    return StalledSettings(
        **msgspec.structs.asdict(general),
        idle_s=plan.idle_s,
        timed_s=plan.timed_s,
        rate_per_s=plan.rate_per_s,
        window=plan.window,
    )


class _StalledTrial:
    """The four peers, and the count of what either subscriber must get."""

    def __init__(self, plan: StalledPlan, overlay: BenchOverlay) -> None:
        self._plan = plan
        self._peers = overlay.peers
        ids = overlay.ids_of(overlay.peers)
        topics = topics_of([ids[_OWNER]], ids)
        self._filter = filter_for(topics)
        self._load = EventLoad(PRICES, topics, plan.body_bytes, Guarantee.EFFECTIVELY_ONCE)
        self.owed = 0
        """Acknowledged since the second subscriber was there."""
        self.lost = 0
        self.duplicates = 0

    async def subscribe(self, peer: int) -> None:
        """Want everything that is published from now on."""
        await self._peers[peer].tell(SubscribeOrder((self._filter,), self._plan.window))
        self.owed = 0

    async def time(self) -> _Latency:
        """How long events take to the subscriber that consumes, published at leisure."""
        roll = await self._publish(self._plan.timed_s, self._plan.rate_per_s)
        if not roll.ages_ns:
            raise TooSlow("no event came; try again when the machine is less busy")
        return _Latency(percentile_ms(roll.ages_ns, 50), percentile_ms(roll.ages_ns, 99))

    async def owe(self) -> None:
        """Publish as fast as it goes until enough waits for the second subscriber."""
        while self.owed < self._plan.owed:
            owed = self.owed
            await self._publish(_BURST_S, 0.0)
            if self.owed == owed:
                raise TooSlow("no event was acknowledged; try again when the machine is less busy")

    async def _publish(self, seconds: float, rate_per_s: float) -> EventRoll:
        """Publish for so long, and wait until the subscriber that consumes has all of it; what it then has."""
        plan, awake = self._plan, self._peers[_AWAKE]
        await awake.tell(FollowOrder())
        order = PublishForOrder(self._load, seconds, plan.silence_s, CALLS, plan.at_once, rate_per_s)
        published = await self._peers[_PUBLISHER].ask(order, Published)
        self.owed += published.acknowledged
        await wait_for_arrival([awake], published.acknowledged, plan.silence_s)
        roll = await awake.ask(RollOrder(), EventRoll)
        self._count(roll, published.acknowledged)
        return roll

    def _count(self, roll: EventRoll, wanted: int) -> None:
        came = sum(len(BitMap.deserialize(numbers)) for numbers in roll.consumed.values())
        self.lost += max(0, wanted - came)
        self.duplicates += roll.duplicates

    async def idle(self, seconds: float) -> float:
        """How much of a core the owner takes while nothing is published, in percent."""
        owner = self._peers[_OWNER]
        began_us, began_s = (await owner.look()).cpu_us, trio.current_time()
        await trio.sleep(seconds)
        spent_us = (await owner.look()).cpu_us - began_us
        return round(spent_us / (trio.current_time() - began_s) / 1e4, 2)

    async def drain(self) -> float:
        """Let the second subscriber consume; how long it took."""
        stalled = self._peers[_STALLED]
        await stalled.tell(FollowOrder())
        drain_s = await wait_for_arrival([stalled], self.owed, self._plan.silence_s)
        self._count(await stalled.ask(RollOrder(), EventRoll), self.owed)
        return drain_s
