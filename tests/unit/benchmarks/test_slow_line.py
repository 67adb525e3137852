"""A slow line is slow both ways, and pushes back on whoever sends more than it carries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from p2psub.api.addresses import split_address
from p2psub.bench.slow_line import SlowAccess
from p2psub.runtime.tcp_figures import acknowledged_bytes, unacknowledged_bytes

BYTES_PER_S = 64_000.0
SENT = bytes(32_000)
HELD_MAX = 6_000
"""What stands in the line: its sockets, and the piece that it carries."""


async def receive(stream: trio.abc.ReceiveStream, count: int) -> int:
    """So many bytes; how many writes they took to come is nobody's concern."""
    came = 0
    while came < count:
        came += len(await stream.receive_some(count - came))
    return came


@asynccontextmanager
async def connected(access: SlowAccess) -> AsyncIterator[tuple[trio.SocketStream, trio.SocketStream]]:
    """One who dials the address, and who listens behind it."""
    send, accepted = trio.open_memory_channel[trio.SocketStream](1)

    async def accept(stream: trio.SocketStream) -> None:
        await send.send(stream)
        await trio.sleep_forever()

    host, port = split_address(access.inner)
    listeners = await trio.open_tcp_listeners(port, host=host)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, accept, listeners)
        nursery.start_soon(access.run)
        await trio.testing.wait_all_tasks_blocked()
        async with await trio.open_tcp_stream(*split_address(access.address)) as outer:
            yield outer, await accepted.receive()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("is_back", [False, True])
async def test_nothing_comes_sooner_than_the_line_carries_it(is_back: bool, nursery: trio.Nursery) -> None:
    """There and back. That it may take longer on a busy machine is no claim."""
    access = SlowAccess(BYTES_PER_S)
    async with connected(access) as (there, here):
        sender, receiver = (here, there) if is_back else (there, here)
        began_s = trio.current_time()
        nursery.start_soon(sender.send_all, SENT)
        await receive(receiver, len(SENT))
        assert trio.current_time() - began_s > 0.95 * len(SENT) / BYTES_PER_S
    assert sorted(line.carried for line in access.lines) == [0, len(SENT)]


async def test_what_is_not_carried_is_not_acknowledged(nursery: trio.Nursery) -> None:
    """But for the little that the line holds itself: so the sender's kernel knows what is under way."""
    access = SlowAccess(BYTES_PER_S)
    async with connected(access) as (sender, receiver):
        before = acknowledged_bytes(sender)
        assert before is not None
        nursery.start_soon(sender.send_all, SENT)
        await receive(receiver, len(SENT) // 4)
        carried, acknowledged = access.lines[0].carried, (acknowledged_bytes(sender) or 0) - before
        assert carried <= acknowledged <= carried + HELD_MAX
        assert unacknowledged_bytes(sender) > 0
        await receive(receiver, len(SENT) * 3 // 4)
        assert (acknowledged_bytes(sender) or 0) - before == len(SENT)


async def test_one_end_that_hangs_up_ends_its_connection_alone() -> None:
    """The address takes others all the same."""
    access = SlowAccess(BYTES_PER_S)
    async with connected(access) as (sender, receiver):
        await sender.aclose()
        assert await receiver.receive_some() == b""
        async with await trio.open_tcp_stream(*split_address(access.address)) as again:
            await again.send_all(b"again")
