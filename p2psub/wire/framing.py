"""Frames: how payloads lie in a stream of bytes.

    frame = magic (2 bytes) · payload length (4) · CRC32 of magic, length and payload (4) · payload

Numbers are big-endian. TLS guards the link against an attacker; the checksum guards it against our own mistakes and
against bytes that are no frame at all. A stream that broke once cannot be trusted again: close the link.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from p2psub.errors import FrameError, OversizedFrame

MAGIC: Final = b"\xc1p"
"""0xC1 is the one byte that MessagePack never uses, so a stream that lost its place is noticed."""

PAYLOAD_BYTES_MAX: Final = 1 << 20
"""Sixteen times what the egress gathers into one transmission; room for the largest event and a batch of changes."""

_START: Final = struct.Struct(">2sI")
_HEADER: Final = struct.Struct(">2sII")
HEADER_BYTES: Final = _HEADER.size


def frame(payload: bytes, payload_bytes_max: int = PAYLOAD_BYTES_MAX) -> bytes:
    """Wrap a payload for the wire; one above the cap is our own bug, for nobody would take it."""
    assert len(payload) <= payload_bytes_max, f"payload of {len(payload)} bytes exceeds the cap of {payload_bytes_max}"
    return _HEADER.pack(MAGIC, len(payload), _checksum(payload)) + payload


class FrameReader:
    """Takes a stream in whatever pieces it arrives, and gives back whole payloads.

    Holds at most one unfinished frame. After an error it takes nothing more.
    """

    __slots__ = ("_broken", "_buffer", "_payload_bytes_max")

    def __init__(self, payload_bytes_max: int = PAYLOAD_BYTES_MAX) -> None:
        self._payload_bytes_max = payload_bytes_max
        self._buffer = bytearray()
        self._broken = False

    @property
    def pending_bytes(self) -> int:
        """Bytes of the unfinished frame; a stream that ends while there are any was cut."""
        return len(self._buffer)

    def feed(self, piece: bytes) -> list[bytes]:
        """Add the next bytes of the stream; the payloads they completed, in order.

        A bad frame raises FrameError, and the good ones before it in the same piece are lost: the link ends anyway.
        """
        if self._broken:
            raise FrameError("the stream was given up")
        try:
            return self._split(piece)
        except FrameError:
            self._broken = True
            self._buffer = bytearray()
            raise

    def _split(self, piece: bytes) -> list[bytes]:
        buffer = self._buffer
        # Between two frames the piece is read where it lies; only what is left over is copied.
        stream: bytes | bytearray = piece
        if buffer:
            buffer += piece
            stream = buffer
        payloads = []
        start = 0
        with memoryview(stream) as view:
            while (size := self._frame_bytes(view[start : start + HEADER_BYTES])) and start + size <= len(view):
                payloads.append(_open(view[start : start + size]))
                start += size
        if stream is buffer:
            del buffer[:start]
        else:
            buffer += piece[start:]
        return payloads

    def _frame_bytes(self, header: memoryview) -> int:
        """Size of the frame that begins so; 0 while its header is incomplete."""
        if header[: len(MAGIC)] != MAGIC[: len(header)]:
            raise FrameError("no frame begins so")
        if len(header) < HEADER_BYTES:
            return 0
        length: int = _HEADER.unpack(header)[1]
        if length > self._payload_bytes_max:
            raise OversizedFrame(f"a payload of {length} bytes; at most {self._payload_bytes_max} are taken")
        return HEADER_BYTES + length


def _open(whole: memoryview) -> bytes:
    payload = bytes(whole[HEADER_BYTES:])
    if _HEADER.unpack(whole[:HEADER_BYTES])[2] != _checksum(payload):
        raise FrameError("checksum differs")
    return payload


def _checksum(payload: bytes) -> int:
    # The length is under the checksum too: a flipped bit there must not pass for a shorter frame.
    return zlib.crc32(payload, zlib.crc32(_START.pack(MAGIC, len(payload))))
