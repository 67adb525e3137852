"""Publishing for a while, and remembering which events the overlay has acknowledged."""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Sequence

import trio
from pyroaring import BitMap

from p2psub.bench.orders import Published, PublishForOrder
from p2psub.model.content import Draft
from p2psub.model.outcomes import PublishOutcome

PublishMany = Callable[[Sequence[Draft]], Awaitable[list[PublishOutcome]]]


class Publication:
    """Carries out one order; `acknowledged` has the numbers of the events that are promised, by topic."""

    def __init__(self, publish_many: PublishMany, order: PublishForOrder) -> None:
        self._publish_many = publish_many
        self._order = order
        self._numbers = itertools.count()
        self._asked = 0
        self._last_ns = 0
        self.acknowledged = {topic: BitMap() for topic in order.load.topics}

    async def run(self) -> Published:
        """Publish, and wait for acknowledgements for as long as patience lasts."""
        order, began_ns, began_s = self._order, time.monotonic_ns(), trio.current_time()
        self._last_ns = began_ns
        with trio.move_on_at(began_s + order.seconds + order.patience_s):
            async with trio.open_nursery() as nursery:
                if order.rate_per_s:
                    for number in range(max(1, int(order.seconds * order.rate_per_s))):
                        await trio.sleep_until(began_s + number / order.rate_per_s)
                        # Not in turns: the rate must not depend on how long an acknowledgement takes.
                        nursery.start_soon(self._call, 1)
                else:
                    for _ in range(order.calls):
                        nursery.start_soon(self._call_until, began_s + order.seconds)
        acknowledged = sum(map(len, self.acknowledged.values()))
        return Published(began_ns, self._last_ns, acknowledged, self._asked - acknowledged)

    async def _call_until(self, ends_s: float) -> None:
        while trio.current_time() < ends_s:
            await self._call(self._order.at_once)

    async def _call(self, count: int) -> None:
        drafts = self._next_drafts(count)
        outcomes = await self._publish_many(drafts)
        self._last_ns = time.monotonic_ns()
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if outcome.refused is None:
                self.acknowledged[draft.topic].add(outcome.event.sequence)

    def _next_drafts(self, count: int) -> list[Draft]:
        self._asked += count
        now_ns = time.monotonic_ns()
        return [self._order.load.draft(number, now_ns) for number in itertools.islice(self._numbers, count)]
