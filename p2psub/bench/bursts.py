"""One burst: a peer publishes as fast as it goes, others consume; how long and how much that took."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import trio

from p2psub.bench.content import EventLoad
from p2psub.bench.orders import (
    Consumed,
    ConsumeOrder,
    PrepareOrder,
    ProfileOrder,
    Published,
    PublishOrder,
    WorkerStatus,
)
from p2psub.bench.workers import Worker


class Burst(NamedTuple):
    """What came of a burst. `cpu_us` and `bytes_out` are by the names of the processes."""

    events: int
    delivered: int
    lost: int
    span_s: float
    """From the first publish call until all is consumed and every call has returned."""
    cpu_us: dict[str, int]
    bytes_out: dict[str, int]

    @property
    def events_per_s(self) -> float:
        """Published, and consumed by their subscribers."""
        return round(self.events / self.span_s, 1)

    @property
    def bytes_per_event(self) -> float:
        """On all links together."""
        return round(sum(self.bytes_out.values()) / self.events, 1)

    def cpu_us_per_event(self, *names: str) -> float:
        """Of these processes, or of all."""
        return round(sum(self.cpu_us[name] for name in names or self.cpu_us) / self.events, 2)


@dataclass(frozen=True, slots=True)
class Drill:
    """Who publishes, and who takes how many of the events."""

    publisher: Worker
    consumers: tuple[tuple[Worker, int], ...]
    silence_s: float
    bystanders: tuple[Worker, ...] = ()
    """Others whose work counts."""
    is_profiled: bool = False

    @property
    def workers(self) -> list[Worker]:
        """Every peer that has a part in it."""
        return [self.publisher, *(consumer for consumer, _ in self.consumers), *self.bystanders]

    async def run(self, load: EventLoad, publish: PublishOrder, one_by_one: bool = False) -> Burst:
        """Do it once."""
        await self.publisher.tell(PrepareOrder(load))
        before = await self._look()
        await self._switch_profiles(True)
        published, consumed = await self._work(publish, one_by_one)
        await self._switch_profiles(False)
        after = await self._look()
        return make_burst(load.count, sum(count for _, count in self.consumers), published, consumed, before, after)

    async def _look(self) -> dict[str, WorkerStatus]:
        return {worker.name: await worker.look() for worker in self.workers}

    async def _switch_profiles(self, is_on: bool) -> None:
        if self.is_profiled:
            for worker in self.workers:
                await worker.tell(ProfileOrder(is_on))

    async def _work(self, publish: PublishOrder, one_by_one: bool) -> tuple[Published, list[Consumed]]:
        consumed: list[Consumed] = []

        async def consume(consumer: Worker, count: int) -> None:
            consumed.append(await consumer.ask(ConsumeOrder(count, self.silence_s, one_by_one), Consumed))

        async with trio.open_nursery() as nursery:
            for consumer, count in self.consumers:
                nursery.start_soon(consume, consumer, count)
            published = await self.publisher.ask(publish, Published)
        return published, consumed


def make_burst(
    events: int,
    wanted: int,
    published: Published,
    consumed: list[Consumed],
    before: dict[str, WorkerStatus],
    after: dict[str, WorkerStatus],
) -> Burst:
    """Put together what the processes said."""
    ended_ns = max(published.ended_ns, *(each.last_ns for each in consumed))
    delivered = sum(each.count for each in consumed)
    return Burst(
        events,
        delivered,
        wanted - delivered,
        (ended_ns - published.began_ns) / 1e9,
        {name: after[name].cpu_us - before[name].cpu_us for name in after},
        {name: after[name].bytes_out - before[name].bytes_out for name in after},
    )


def middle(values: list[float]) -> float:
    """Their median, as it is printed."""
    return round(median(values), 2)


def p50_us(spans_ns: list[int]) -> float:
    """The median of spans."""
    return round(median(spans_ns) / 1000, 1)


def p99_us(spans_ns: list[int]) -> float:
    """The span that 99 of 100 do not exceed."""
    return round(sorted(spans_ns)[(len(spans_ns) - 1) * 99 // 100] / 1000, 1)
