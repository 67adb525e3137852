"""Slow lines to one peer: whoever dials it does so through a relay that carries so many bytes a second, each way.

The relay reads no faster than the line carries, and its sockets hold next to nothing. So TCP pushes back on the sender
as a slow line does: what the line has not carried stands in the sender's kernel, unacknowledged, or above it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

from p2psub.api.addresses import join_address

_SEGMENT_BYTES: Final = 536
"""Of loopback a segment may have 64 KiB: more than a slow line carries in half a second."""
_RECEIVE_BUFFER_BYTES: Final = 2304
"""The least that Linux gives, which doubles it: two or three segments are acknowledged before they are carried."""
_TURN_S: Final = 0.001
"""A sender that is told of room needs so long to use it: the line is not idle meanwhile."""
_IDLE_S: Final = 0.01
"""When nothing has come for so long, the line was idle, and has nothing to catch up on."""
_LATE_S_MAX: Final = 0.25
"""On a busy machine the relay is late, and catches up on so much: else the line were slower than it is called."""
_FAULTS: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)


class SlowLine:
    """One direction of one connection."""

    def __init__(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._free_s = 0.0
        """When all that came so far is carried."""
        self.carried = 0
        """Bytes so far."""

    async def carry(self, source: trio.SocketStream, sink: trio.SocketStream) -> None:
        """Carry what comes until there is no more."""
        asked_s = self._free_s = trio.current_time()
        while piece := await source.receive_some(_SEGMENT_BYTES):
            self._begin(asked_s, trio.current_time())
            self._free_s += len(piece) / self._bytes_per_s
            await trio.sleep_until(self._free_s)
            self.carried += len(piece)
            await sink.send_all(piece)
            asked_s = trio.current_time()
        await sink.send_eof()

    def _begin(self, asked_s: float, came_s: float) -> None:
        """A piece has come: the line begins with it when it is free, and not while there was none."""
        idle_s = came_s - asked_s
        if idle_s > _IDLE_S:
            self._free_s = max(self._free_s, came_s)
        else:
            self._free_s = max(self._free_s + (idle_s if idle_s > _TURN_S else 0.0), came_s - _LATE_S_MAX)


class SlowAccess:
    """An address at which a peer is reached over slow lines, while it listens at another one."""

    def __init__(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._listener = _socket()
        self._listener.bind(("127.0.0.1", 0))
        self.address = _address_of(self._listener)
        """What others are told."""
        with _socket() as free:
            free.bind(("127.0.0.1", 0))
            self.inner = _address_of(free)
        """Where the peer shall listen."""
        self.lines: list[SlowLine] = []
        """Two for each connection there ever was."""

    async def run(self) -> None:
        """Take connections until cancelled."""
        sock = trio.socket.from_stdlib_socket(self._listener)
        sock.listen()
        await trio.serve_listeners(self._take, [trio.SocketListener(sock)])

    async def _take(self, outer: trio.SocketStream) -> None:
        host, _, port = self.inner.rpartition(":")
        with _ending_alone(), trio.socket.from_stdlib_socket(_socket()) as sock:
            await sock.connect((host, int(port)))
            there, back = SlowLine(self._bytes_per_s), SlowLine(self._bytes_per_s)
            self.lines += [there, back]
            inner = trio.SocketStream(sock)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(there.carry, outer, inner)
                nursery.start_soon(back.carry, inner, outer)


@contextmanager
def _ending_alone() -> Iterator[None]:
    """One end of a connection is gone: so is the connection, and nothing else."""
    try:
        yield
    except* _FAULTS:
        pass


def _socket() -> socket.socket:
    """One of small segments that buffers little; those that it accepts are alike."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT_BYTES)
    return sock


def _address_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()
    return join_address(host, port)
