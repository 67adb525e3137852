"""A peer that is measured: `python -m p2psub.bench.peer`. It does what an application does, by the public API."""

from __future__ import annotations

import logging
import os
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from p2psub.api.settings import NODE, PeerConfig
from p2psub.api.status import PeerStatus
from p2psub.bench.consumer import consume
from p2psub.bench.content import AT_NS
from p2psub.bench.orders import (
    AnyWorkerOrder,
    ConsumeOrder,
    Done,
    DumpProfileOrder,
    EnterOrder,
    EventRoll,
    FollowOrder,
    GatherOrder,
    LookOrder,
    PrepareOrder,
    ProfileOrder,
    Published,
    PublishForOrder,
    PublishOrder,
    RollOrder,
    SubscribeOrder,
    WorkerAnswer,
    WorkerStatus,
)
from p2psub.bench.profiles import Notes
from p2psub.bench.publication import Publication
from p2psub.bench.roll import Roll
from p2psub.bench.worker_loop import run_worker
from p2psub.demo.memory import rss_bytes_of
from p2psub.model.content import Draft
from p2psub.runtime.gc_tuning import tune_gc
from p2psub.runtime.host import open_peer
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.peer import Peer
from p2psub.runtime.subscription_stream import SubscriptionStream


class PeerWorker:
    """Carries out orders; the peer and its subscriptions live on the stack."""

    def __init__(self, stack: AsyncExitStack, inbox: Inbox | None = None) -> None:
        self._stack = stack
        self._inbox = inbox
        self._subscribing = AsyncExitStack()
        self._notes = Notes()
        self._drafts: list[Draft] = []
        self._followed = trio.Event()
        self._roll = Roll()
        self._publication: Publication | None = None
        self._peer: Peer
        self._subscriptions: list[SubscriptionStream] = []

    async def carry_out(self, order: AnyWorkerOrder) -> WorkerAnswer:
        """Carry out one order."""
        match order:
            case EnterOrder():
                await self._enter(order)
            case GatherOrder(ids):
                await self._peer.wait_status(partial(_is_gathered, set(ids)))
            case SubscribeOrder():
                await self._subscribe(order)
            case PrepareOrder(load):
                self._drafts = load.drafts(time.monotonic_ns())
            case PublishOrder():
                return await self._publish(order)
            case ConsumeOrder():
                (subscription,) = self._subscriptions
                return await consume(subscription, order)
            case FollowOrder():
                self._roll = Roll()
                self._followed.set()
            case PublishForOrder():
                self._publication = Publication(self._peer.publish_many, order)
                return await self._publication.run()
            case RollOrder():
                return self._event_roll()
            case LookOrder():
                return self._status()
            case ProfileOrder() | DumpProfileOrder():
                self._profile(order)
            case _:
                raise AssertionError(f"a peer does not {order}")
        return Done()

    def _profile(self, order: ProfileOrder | DumpProfileOrder) -> None:
        if isinstance(order, ProfileOrder):
            self._notes.switch(order.is_on)
        else:
            self._notes.dump(Path(order.path))

    async def _enter(self, order: EnterOrder) -> None:
        config = PeerConfig(
            Path(order.data),
            order.bootstrap,
            order.token,
            order.listen,
            order.public_address,
            name=order.name,
            cluster=order.cluster,
            traces=order.traces,
            leaves=False,
            node=replace(NODE, egress=replace(NODE.egress, discipline=order.discipline)),
        )
        self._peer = await self._stack.enter_async_context(open_peer(config, self._inbox))
        await self._stack.enter_async_context(self._subscribing)
        await self._peer.wait_ready()
        tune_gc()

    async def _subscribe(self, order: SubscribeOrder) -> None:
        await self._subscribing.aclose()
        self._subscriptions = [
            await self._subscribing.enter_async_context(self._peer.subscribe(filter_, window=order.window))
            for filter_ in order.filters
        ]
        for subscription in self._subscriptions:
            await subscription.wait_stable()

    async def follow(self) -> None:
        """Consume what comes to every subscription there is, once there was an order to follow them."""
        await self._followed.wait()
        async with trio.open_nursery() as nursery:
            for subscription in self._subscriptions:
                nursery.start_soon(self._follow, subscription)

    async def _follow(self, subscription: SubscriptionStream) -> None:
        async for items in subscription.batches():
            self._roll.note(items, time.monotonic_ns())

    def _event_roll(self) -> EventRoll:
        acknowledged = {} if self._publication is None else self._publication.acknowledged
        return EventRoll(
            {topic: numbers.serialize() for topic, numbers in acknowledged.items()},
            {publisher: numbers.serialize() for publisher, numbers in self._roll.consumed.items()},
            self._roll.duplicates,
            self._roll.ages_ns,
        )

    async def _publish(self, order: PublishOrder) -> Published:
        drafts, began_ns = self._drafts, time.monotonic_ns()
        if order.at_once > 1:
            for first in range(0, len(drafts), order.at_once):
                await self._peer.publish_many(drafts[first : first + order.at_once])
        else:
            await self._publish_one_by_one(order.rate_per_s)
        return Published(began_ns, time.monotonic_ns())

    async def _publish_one_by_one(self, rate_per_s: float) -> None:
        began_s = trio.current_time()
        for number, draft in enumerate(self._drafts):
            attributes = draft.attributes
            if rate_per_s:
                await trio.sleep_until(began_s + number / rate_per_s)
                attributes = {**attributes, AT_NS: time.monotonic_ns()}
            await self._peer.publish(attributes, topic=draft.topic, body=draft.body, guarantee=draft.guarantee)

    def _status(self) -> WorkerStatus:
        status = self._peer.status()
        return WorkerStatus(
            time.process_time_ns() // 1000,
            status.node.id.hex(),
            sum(link.bytes_out for link in status.links),
            status.counters.get("messages_sent", 0),
            status.counters.get("store_rows", 0),
            status.counters.get("store_commits", 0),
            rss_bytes_of(os.getpid()),
            self._roll.events,
            self._roll.last_ns,
            status.node.outbox + status.node.undischarged,
        )


def _is_gathered(ids: set[str], status: PeerStatus) -> bool:
    return status.ready and {owner.hex() for owner in status.node.owners} == ids


async def main() -> None:
    """Carry out orders until stdin ends."""
    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        worker = PeerWorker(stack)
        nursery.start_soon(worker.follow)
        await run_worker(worker.carry_out)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    trio.run(main)
