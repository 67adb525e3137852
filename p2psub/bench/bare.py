"""One end of a bare TLS stream: `python -m p2psub.bench.bare`. The least that carries the same events.

Certificates, TLS settings and frames are the product's. Events are encoded as many as fill a write, and decoded at the
other end; no peer matches, routes, traces or remembers them.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Final

import msgspec
import trio

from p2psub.bench.content import AT_NS
from p2psub.bench.event_stream import EventStream, writes_of
from p2psub.bench.orders import (
    AnyWorkerOrder,
    Consumed,
    ConsumeOrder,
    DialOrder,
    Done,
    EchoOrder,
    Listening,
    ListenOrder,
    LookOrder,
    Pinged,
    PingOrder,
    PrepareOrder,
    Published,
    PublishOrder,
    WorkerAnswer,
    WorkerStatus,
)
from p2psub.bench.worker_loop import run_worker
from p2psub.model.content import Event
from p2psub.model.ids import ID_BYTES, NodeId, Place
from p2psub.runtime.state import State
from p2psub.runtime.tls import Credentials, TlsTransport
from p2psub.runtime.transport import Session

EVENTS_KEPT: Final = 4096
"""Different events; a longer run sends them again and again, so that memory is not part of the measurement."""

_PUBLISHER: Final = NodeId(Place(bytes(range(ID_BYTES))))


class StreamWorker:
    """Carries out orders."""

    def __init__(self) -> None:
        self._bound = trio.Event()
        self._arrived = trio.Event()
        self._transport: TlsTransport
        self._stream: EventStream
        self._events: list[Event] = []
        self._count = 0

    async def carry_out(self, order: AnyWorkerOrder) -> WorkerAnswer:
        """Carry out one order."""
        match order:
            case ListenOrder(data):
                return await self._listen(data)
            case DialOrder(data, address):
                session = await TlsTransport("127.0.0.1:0", _credentials(data)).dial(address)
                self._stream = EventStream(session.stream)
            case PrepareOrder(load):
                kept = msgspec.structs.replace(load, count=min(load.count, EVENTS_KEPT))
                self._events, self._count = kept.events(_PUBLISHER, time.monotonic_ns()), load.count
            case PublishOrder():
                return await self._send()
            case ConsumeOrder(count):
                return await self._receive(count)
            case PingOrder(count, rate_per_s):
                return await self._ping(count, rate_per_s)
            case EchoOrder(count):
                await self._echo(count)
            case LookOrder():
                return WorkerStatus(time.process_time_ns() // 1000)
            case _:
                raise AssertionError(f"a bare stream does not {order}")
        return Done()

    async def _listen(self, data: str) -> Listening:
        self._transport = TlsTransport("127.0.0.1:0", _credentials(data))
        address = await self._transport.bind()
        self._bound.set()
        return Listening(address)

    async def serve(self) -> None:
        """Accept the stream, once there was an order to listen."""
        await self._bound.wait()
        await self._transport.serve(self._accept)

    async def _accept(self, session: Session) -> None:
        self._stream = EventStream(session.stream)
        self._arrived.set()
        await trio.sleep_forever()

    async def _send(self) -> Published:
        writes, left = itertools.cycle(writes_of(self._events)), self._count
        began_ns = time.monotonic_ns()
        while left:
            write = next(writes)[:left]
            await self._stream.send(write)
            left -= len(write)
        return Published(began_ns, time.monotonic_ns())

    async def _receive(self, count: int) -> Consumed:
        await self._arrived.wait()
        consumed = 0
        while consumed < count:
            events = await self._stream.receive()
            if not events:
                break
            consumed += len(events)
        return Consumed(consumed, 0, time.monotonic_ns())

    async def _ping(self, count: int, rate_per_s: float) -> Pinged:
        event, began_s, round_trips_ns = self._events[0], trio.current_time(), []
        for number in range(count):
            await trio.sleep_until(began_s + number / rate_per_s)
            sent_ns = time.monotonic_ns()
            attributes = {**event.attributes, AT_NS: sent_ns}
            await self._stream.send([msgspec.structs.replace(event, attributes=attributes)])
            await self._stream.receive()
            round_trips_ns.append(time.monotonic_ns() - sent_ns)
        return Pinged(round_trips_ns)

    async def _echo(self, count: int) -> None:
        await self._arrived.wait()
        for _ in range(count):
            await self._stream.send(await self._stream.receive())


def _credentials(data: str) -> Credentials:
    """Of the peer that has enrolled with this directory."""
    state = State(Path(data))
    enrolment = state.enrolment()
    assert enrolment is not None, f"no peer has enrolled in {data}"
    return state.credentials(enrolment)


async def main() -> None:
    """Carry out orders until stdin ends."""
    end = StreamWorker()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(end.serve)
        await run_worker(end.carry_out)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
