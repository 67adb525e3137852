"""What the kernel knows of a connection: round trip, goodput, and what has not arrived yet. Linux only."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
import termios
from typing import NamedTuple

import trio

_INFO_BYTES = 168
_INT = struct.Struct("=i")
_RTT_US = struct.Struct("=68xI")
_RTT_MIN_US = struct.Struct("=148xI")
_BYTES_ACKED = struct.Struct("=120xQ")
_DELIVERY_RATE = struct.Struct("=160xQ")
"""Places of tcpi_rtt and so on in struct tcp_info, which only ever grows at its end."""


class TcpFigures(NamedTuple):
    """Smoothed and least round trip, and bytes per second that arrived of what was sent last."""

    rtt_us: int
    rtt_min_us: int
    bytes_per_s: int
    """The line may be able to do more."""


def figures_of(stream: trio.abc.Stream) -> TcpFigures | None:
    """The figures of the connection below; None where there is none, or none that says."""
    info = _info_of(stream)
    if info is None:
        return None
    return TcpFigures(
        _RTT_US.unpack_from(info)[0], _RTT_MIN_US.unpack_from(info)[0], _DELIVERY_RATE.unpack_from(info)[0]
    )


def acknowledged_bytes(stream: trio.abc.Stream) -> int | None:
    """All that the other side has acknowledged so far; None where nothing says."""
    info = _info_of(stream)
    return None if info is None else int(_BYTES_ACKED.unpack_from(info)[0])


def _info_of(stream: trio.abc.Stream) -> bytes | None:
    below = _socket_below(stream)
    if below is None:
        return None
    try:
        info = below.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        # It has just been closed.
        return None
    return info if len(info) == _INFO_BYTES else None


def unacknowledged_bytes(stream: trio.abc.Stream) -> int:
    """What the kernel has taken and the other side has not acknowledged; 0 where nothing says."""
    below = _socket_below(stream)
    if below is None:
        return 0
    try:
        (unacknowledged,) = _INT.unpack(fcntl.ioctl(below.fileno(), termios.TIOCOUTQ, _INT.pack(0)))
    except (OSError, ValueError):
        # It has just been closed.
        return 0
    return int(unacknowledged)


def _socket_below(stream: trio.abc.Stream) -> trio.socket.SocketType | None:
    below = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
    return below.socket if sys.platform == "linux" and isinstance(below, trio.SocketStream) else None
