"""A peer of `p2psub bench earning`: `python -m p2psub.bench.bidder`. It bids, publishes and takes notes."""

from __future__ import annotations

import logging
import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import trio

from p2psub.api.items import Notification
from p2psub.api.status import PeerStatus
from p2psub.api.values import id_to_text
from p2psub.bench.bid_load import TOPIC, PlannedEvent
from p2psub.bench.link_tap import LinkTap
from p2psub.bench.orders import (
    AnyWorkerOrder,
    BidderNotes,
    BidOrder,
    Bids,
    CubeOrder,
    Done,
    HandOver,
    NoteOrder,
    NotesOrder,
    Offered,
    OfferOrder,
    WorkerAnswer,
)
from p2psub.bench.peer import PeerWorker
from p2psub.bench.worker_loop import run_worker
from p2psub.errors import P2psubError
from p2psub.model.bids import PRICE_ONE
from p2psub.model.instants import SECOND_US
from p2psub.runtime.driver import steady_us
from p2psub.runtime.subscription_stream import SubscriptionStream

SAMPLE_S: Final = 0.02
UNKNOWN_S: Final = 1.0
"""For so long queues do not know their lines, once there is more than these carry."""
NUMBER: Final = "number"
"""The attribute that says which event of the load it is."""
_WINDOW: Final = 1 << 16


class Bidder(PeerWorker):
    """Carries out orders; consumes what comes to its subscriptions from their beginning."""

    def __init__(self, stack: AsyncExitStack, nursery: trio.Nursery) -> None:
        self._tap = LinkTap()
        super().__init__(stack, self._tap)
        self._nursery = nursery
        self._hand_overs: list[HandOver] = []

    async def carry_out(self, order: AnyWorkerOrder) -> WorkerAnswer:
        """Carry out one order."""
        match order:
            case CubeOrder(clusters):
                await self._peer.wait_status(partial(_is_in_cube, clusters))
                return Done()
            case BidOrder():
                return await self._bid(order)
            case OfferOrder():
                return await self._offer(order)
            case NoteOrder():
                self._hand_overs.clear()
                self._tap.is_on = True
                self._nursery.start_soon(self._sample)
                return Done()
            case NotesOrder():
                self._tap.is_on = False
                off_us = time.monotonic_ns() // 1000 - steady_us()
                return BidderNotes(tuple(self._hand_overs), self._tap.notes(), off_us)
            case _:
                return await super().carry_out(order)

    async def _bid(self, order: BidOrder) -> Bids:
        names: dict[int, str] = {}

        async def subscribe(number: int) -> None:
            wanted, bid = order.load.wanted[number]
            stream = await self._stack.enter_async_context(
                self._peer.subscribe(
                    wanted,
                    window=_WINDOW,
                    deadline=bid.deadline_us / SECOND_US,
                    price=bid.price / PRICE_ONE,
                    penalty=bid.penalty / PRICE_ONE,
                )
            )
            self._nursery.start_soon(self._consume, number, stream)
            await stream.wait_stable()
            names[number] = id_to_text(stream.id)

        async with trio.open_nursery() as nursery:
            for number in order.numbers:
                nursery.start_soon(subscribe, number)
        return Bids(names)

    async def _consume(self, number: int, stream: SubscriptionStream) -> None:
        async for items in stream.batches():
            now_ns = time.monotonic_ns()
            for item in items:
                if isinstance(item, Notification):
                    event = item.event.attributes[NUMBER]
                    assert isinstance(event, int)
                    self._hand_overs.append(HandOver(number, event, now_ns))

    async def _offer(self, order: OfferOrder) -> Offered:
        load, began_s = order.load, trio.current_time()
        published_ns = [0] * len(load.events)
        sequences = [0] * len(load.events)

        async def publish(number: int, event: PlannedEvent) -> None:
            published_ns[number] = time.monotonic_ns()
            attributes = {**event.attributes, NUMBER: number}
            try:
                outcome = await self._peer.publish(attributes, topic=TOPIC, body=bytes(load.body_bytes))
            except P2psubError:
                return
            sequences[number] = outcome.event.sequence

        async with trio.open_nursery() as nursery:
            for number, event in enumerate(load.events):
                await trio.sleep_until(began_s + event.at_s)
                nursery.start_soon(publish, number, event)
        return Offered(tuple(published_ns), tuple(sequences))

    async def _sample(self) -> None:
        """Look at the links while they are noted, but not before their queues know them."""
        due_s = trio.current_time() + UNKNOWN_S
        await trio.sleep_until(due_s)
        while self._tap.is_on:
            self._tap.sample(self._peer.status().links)
            due_s += SAMPLE_S
            await trio.sleep_until(due_s)


def _is_in_cube(clusters: int, status: PeerStatus) -> bool:
    return status.ready and status.node.prefix is not None and len(status.node.clusters) == clusters


async def main() -> None:
    """Carry out orders until stdin ends."""
    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        await run_worker(Bidder(stack, nursery).carry_out)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    trio.run(main)
