"""A peer that is measured: `python -m p2psub.bench.peer`. It does what an application does, by the public API."""

from __future__ import annotations

import logging
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import trio

from p2psub.api.settings import PeerConfig
from p2psub.api.status import PeerStatus
from p2psub.bench.content import AT_NS
from p2psub.bench.obeying import obey_all
from p2psub.bench.orders import (
    Answer,
    AnyOrder,
    Done,
    DumpProfile,
    Enter,
    Gather,
    Look,
    Picture,
    Prepare,
    Profile,
    Publish,
    Published,
    Subscribe,
    Take,
)
from p2psub.bench.profiles import Notes
from p2psub.bench.taking import take
from p2psub.model.content import Draft
from p2psub.runtime.garbage import spare_the_collector
from p2psub.runtime.host import open_peer
from p2psub.runtime.peer import Peer
from p2psub.runtime.subscription import Subscription


class ObedientPeer:
    """Carries out orders; the peer and its subscription live on the stack."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._subscribing = AsyncExitStack()
        self._notes = Notes()
        self._drafts: list[Draft] = []
        self._peer: Peer
        self._subscription: Subscription

    async def obey(self, order: AnyOrder) -> Answer:
        """Carry out one order."""
        match order:
            case Enter():
                await self._enter(order)
            case Gather(ids):
                await self._peer.wait_status(partial(_is_gathered, set(ids)))
            case Subscribe():
                await self._subscribe(order)
            case Prepare(load):
                self._drafts = load.drafts(time.monotonic_ns())
            case Publish():
                return await self._publish(order)
            case Take():
                return await take(self._subscription, order)
            case Look():
                return self._picture()
            case Profile(is_on):
                self._notes.switch(is_on)
            case DumpProfile(path):
                self._notes.dump(Path(path))
            case _:
                raise AssertionError(f"a peer does not {order}")
        return Done()

    async def _enter(self, order: Enter) -> None:
        config = PeerConfig(
            Path(order.data),
            order.bootstrap,
            order.token,
            name=order.name,
            cluster=order.cluster,
            traces=order.traces,
            leaves=False,
        )
        self._peer = await self._stack.enter_async_context(open_peer(config))
        await self._stack.enter_async_context(self._subscribing)
        await self._peer.wait_ready()
        spare_the_collector()

    async def _subscribe(self, order: Subscribe) -> None:
        await self._subscribing.aclose()
        subscribing = self._peer.subscribe(order.filter, window=order.window)
        self._subscription = await self._subscribing.enter_async_context(subscribing)
        await self._subscription.wait_stable()

    async def _publish(self, order: Publish) -> Published:
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

    def _picture(self) -> Picture:
        status = self._peer.status()
        return Picture(
            time.process_time_ns() // 1000,
            status.node.id.hex(),
            sum(link.bytes_out for link in status.links),
        )


def _is_gathered(ids: set[str], status: PeerStatus) -> bool:
    return status.ready and {owner.hex() for owner in status.node.owners} == ids


async def main() -> None:
    """Obey until stdin ends."""
    async with AsyncExitStack() as stack:
        await obey_all(ObedientPeer(stack).obey)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    trio.run(main)
