"""A control API in a thread, for clients that block."""

from __future__ import annotations

import queue
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio

from p2psub.runtime.control.server import serve_control
from tests.unit.runtime.control.fakes import FakePeer, FakeSubscription

Result = TypeVar("Result")


class Served:
    """A fake peer behind a real server, and the way into its thread."""

    def __init__(self, peer: FakePeer, data: Path, token: trio.lowlevel.TrioToken, scope: trio.CancelScope) -> None:
        self.peer = peer
        self.data = data
        self._token = token
        self._scope = scope

    def call(self, function: Callable[..., Result], *args: object) -> Result:
        """Call a function where the peer lives."""
        return trio.from_thread.run_sync(function, *args, trio_token=self._token)

    def wait(self, function: Callable[..., Awaitable[Result]], *args: object) -> Result:
        """Wait for something where the peer lives."""
        return trio.from_thread.run(function, *args, trio_token=self._token)

    def subscription(self, number: int) -> FakeSubscription:
        """The subscription of this number, from 0, as soon as there is one."""
        return self.wait(self._subscription, number)

    async def _subscription(self, number: int) -> FakeSubscription:
        while len(self.peer.subscriptions) <= number:
            await self.peer.subscribed.park()
        return self.peer.subscriptions[number]

    def stop(self) -> None:
        """End the server, as a peer that stops does."""
        self.call(self._scope.cancel)


@contextmanager
def served(data: Path) -> Iterator[Served]:
    """A fake peer with this data directory, until the block ends."""
    started: queue.Queue[Served] = queue.Queue()

    async def main() -> None:
        peer = FakePeer()
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(serve_control, peer, data))
            started.put(Served(peer, data, trio.lowlevel.current_trio_token(), nursery.cancel_scope))

    thread = threading.Thread(target=trio.run, args=(main,))
    thread.start()
    serving = started.get()
    try:
        yield serving
    finally:
        with suppress(trio.RunFinishedError):  # The test may have stopped it.
            serving.stop()
        thread.join()
