"""What the kernel knows of a connection from the traffic that is there anyway: round trip and goodput. Linux only."""

from __future__ import annotations

import socket
import struct
import sys
from typing import NamedTuple

import trio

_INFO_BYTES = 168
_RTT_US = struct.Struct("=68xI")
_DELIVERY_RATE = struct.Struct("=160xQ")
"""Places of tcpi_rtt and tcpi_delivery_rate in struct tcp_info, which only ever grows at its end."""


class TcpFigures(NamedTuple):
    """Smoothed round trip, and bytes per second that arrived of what was sent last; the line may be able to do more."""

    rtt_us: int
    bytes_per_s: int


def figures_of(stream: trio.abc.Stream) -> TcpFigures | None:
    """The figures of the connection below; None where there is none, or none that says."""
    below = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
    if sys.platform != "linux" or not isinstance(below, trio.SocketStream):
        return None
    try:
        info = below.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        # It has just been closed.
        return None
    if len(info) < _INFO_BYTES:
        return None
    return TcpFigures(_RTT_US.unpack_from(info)[0], _DELIVERY_RATE.unpack_from(info)[0])
