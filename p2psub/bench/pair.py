"""A publisher and a subscriber, and the two ends of a bare stream: what they do in one round, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import trio

from p2psub.bench.bursts import Burst, Drill, p50_us, p99_us
from p2psub.bench.content import EventLoad
from p2psub.bench.orders import (
    Consumed,
    ConsumeOrder,
    EchoOrder,
    Pinged,
    PingOrder,
    PrepareOrder,
    Published,
    PublishOrder,
)
from p2psub.bench.plan import LinkPlan
from p2psub.bench.report import LinkRound
from p2psub.bench.workers import Worker

ONE_BY_ONE_SHARE = 4
"""What is done one by one is slow: a quarter of the events is enough."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The processes of `bench link`."""

    plan: LinkPlan
    topics: tuple[str, ...]
    publisher: Worker
    subscriber: Worker
    sender: Worker
    receiver: Worker
    lost: list[int] = field(default_factory=list)
    """Events that did not come, by burst."""

    async def round(self) -> LinkRound:
        """Product and bare stream take turns, so that a busy machine slows both."""
        plan = self.plan
        product = await self._product(self._load(plan.events), plan.at_once)
        bare = await self._bare(self._load(plan.events * plan.bare_times))
        ages_ns, round_trips_ns = await self._ages_ns(), await self._round_trips_ns()
        few = self._load(max(1, plan.events // ONE_BY_ONE_SHARE))
        published_one_by_one = await self._product(few, 1)
        taken_one_by_one = await self._product(few, plan.at_once, one_by_one=True)
        return LinkRound(
            events_per_s=product.events_per_s,
            bare_events_per_s=bare.events_per_s,
            latency_p50_us=p50_us(ages_ns),
            latency_p99_us=p99_us(ages_ns),
            bare_latency_p50_us=p50_us(round_trips_ns),
            publish_one_by_one_events_per_s=published_one_by_one.events_per_s,
            take_one_by_one_events_per_s=taken_one_by_one.events_per_s,
            publisher_cpu_us_per_event=product.cpu_us_per_event(self.publisher.name),
            subscriber_cpu_us_per_event=product.cpu_us_per_event(self.subscriber.name),
            bare_sender_cpu_us_per_event=bare.cpu_us_per_event(self.sender.name),
            bare_receiver_cpu_us_per_event=bare.cpu_us_per_event(self.receiver.name),
            bytes_per_event=product.bytes_per_event,
        )

    def _load(self, count: int) -> EventLoad:
        return EventLoad(count, self.topics, self.plan.body_bytes)

    async def _product(self, load: EventLoad, at_once: int, one_by_one: bool = False) -> Burst:
        is_profiled = self.plan.profile is not None and at_once > 1 and not one_by_one
        burst = await self._drill(self.publisher, self.subscriber, load, is_profiled).run(
            load, PublishOrder(at_once), one_by_one
        )
        self.lost.append(burst.lost)
        return burst

    async def _bare(self, load: EventLoad) -> Burst:
        return await self._drill(self.sender, self.receiver, load).run(load, PublishOrder(load.count))

    def _drill(self, publisher: Worker, consumer: Worker, load: EventLoad, is_profiled: bool = False) -> Drill:
        return Drill(publisher, ((consumer, load.count),), self.plan.silence_s, is_profiled=is_profiled)

    async def _ages_ns(self) -> list[int]:
        """How old events were when the application had them, published one by one at a low rate."""
        count, consumed = self.plan.timed_events, Consumed(0, 0, 0)
        await self.publisher.tell(PrepareOrder(self._load(count)))

        async def consume() -> None:
            nonlocal consumed
            consumed = await self.subscriber.ask(
                ConsumeOrder(count, self.plan.silence_s, one_by_one=True, is_timed=True), Consumed
            )

        async with trio.open_nursery() as nursery:
            nursery.start_soon(consume)
            await self.publisher.ask(PublishOrder(1, self.plan.rate_per_s), Published)
        self.lost.append(count - consumed.count)
        return consumed.ages_ns

    async def _round_trips_ns(self) -> list[int]:
        """How long the bare stream needs there and back, at the same rate."""
        count = self.plan.timed_events
        await self.sender.tell(PrepareOrder(self._load(1)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.receiver.tell, EchoOrder(count))
            pinged = await self.sender.ask(PingOrder(count, self.plan.rate_per_s), Pinged)
        return pinged.round_trips_ns
