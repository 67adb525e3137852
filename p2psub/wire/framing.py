"""Frames: how payloads lie in a stream of bytes.

    frame = magic (2 bytes) · payload length (4) · CRC32 of magic, length and payload (4) · payload

A payload above the cap travels in several frames: full ones with a magic of their own, and a last one.
Numbers are big-endian. TLS guards the link against an attacker; the checksum guards it against our own mistakes and
against bytes that are not a frame at all. A stream that broke once cannot be trusted again: close the link.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from p2psub.errors import FrameError, OversizedFrame

MAGIC: Final = b"\xc1p"
"""0xC1 is the one byte that MessagePack never uses, so a stream that lost its place is noticed."""

MAGIC_MORE: Final = b"\xc1+"
"""Begins a full frame that the next one goes on with."""

PAYLOAD_BYTES_MAX: Final = 1 << 20
"""Sixteen times what the egress gathers into one transmission; room for the largest event and a batch of changes."""
MESSAGE_BYTES_MAX: Final = 4 << 20
"""What one message may take, in several frames: directory, vector or matches of tens of thousands. A guess."""

_START: Final = struct.Struct(">2sI")
_HEADER: Final = struct.Struct(">2sII")
HEADER_BYTES: Final = _HEADER.size


def frame(payload: bytes, payload_bytes_max: int = PAYLOAD_BYTES_MAX) -> bytes:
    """Wrap a payload for the wire; one above the cap is our own bug, for no peer would take it."""
    assert len(payload) <= payload_bytes_max, f"payload of {len(payload)} bytes exceeds the cap of {payload_bytes_max}"
    return _wrap(MAGIC, payload)


def frames(payload: bytes, payload_bytes_max: int = PAYLOAD_BYTES_MAX) -> list[bytes]:
    """The same for a payload of any size: as many frames as it takes. Readers take up to MESSAGE_BYTES_MAX so."""
    *full, last = range(0, max(1, len(payload)), payload_bytes_max)
    begun = [_wrap(MAGIC_MORE, payload[i : i + payload_bytes_max]) for i in full]
    return [*begun, _wrap(MAGIC, payload[last:])]


class FrameReader:
    """Takes a stream in whatever pieces it arrives, and gives back whole payloads.

    Holds at most one unfinished payload. After an error it takes nothing more. `whole_bytes_max` is what a payload in
    several frames may have; by default there are none such.
    """

    __slots__ = ("_begun", "_broken", "_buffer", "_payload_bytes_max", "_whole_bytes_max")

    def __init__(self, payload_bytes_max: int = PAYLOAD_BYTES_MAX, whole_bytes_max: int = 0) -> None:
        self._payload_bytes_max = payload_bytes_max
        self._whole_bytes_max = whole_bytes_max
        self._buffer = bytearray()
        self._begun = bytearray()
        self._broken = False

    @property
    def pending_bytes(self) -> int:
        """Bytes of what is unfinished; a stream that ends while there are any was cut."""
        return len(self._begun) + len(self._buffer)

    @property
    def begun_bytes(self) -> int:
        """Bytes in the frames so far of a payload that goes on."""
        return len(self._begun)

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
            self._buffer, self._begun = bytearray(), bytearray()
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
                payload = _open(view[start : start + size])
                if view[start + 1] == MAGIC_MORE[1]:
                    self._begun += payload
                elif self._begun:
                    payloads.append(bytes(self._begun + payload))
                    self._begun = bytearray()
                else:
                    payloads.append(payload)
                start += size
        if stream is buffer:
            del buffer[:start]
        else:
            buffer += piece[start:]
        return payloads

    def _frame_bytes(self, header: memoryview) -> int:
        """Size of the frame that begins so; 0 while its header is incomplete."""
        magic = bytes(header[: len(MAGIC)])
        goes_on = magic == MAGIC_MORE
        if magic != MAGIC[: len(header)] and not goes_on:
            raise FrameError("no frame begins so")
        if len(header) < HEADER_BYTES:
            return 0
        length: int = _HEADER.unpack(header)[1]
        if length > self._payload_bytes_max:
            raise OversizedFrame(f"a payload of {length} bytes; at most {self._payload_bytes_max} are taken")
        if goes_on and length < self._payload_bytes_max:
            raise FrameError("only a full frame goes on")
        if (goes_on or self._begun) and len(self._begun) + length > self._whole_bytes_max:
            raise OversizedFrame(f"a payload in frames of more than {self._whole_bytes_max} bytes")
        return HEADER_BYTES + length


def _wrap(magic: bytes, payload: bytes) -> bytes:
    return _HEADER.pack(magic, len(payload), _checksum(magic, payload)) + payload


def _open(whole: memoryview) -> bytes:
    payload = bytes(whole[HEADER_BYTES:])
    magic, _, checksum = _HEADER.unpack(whole[:HEADER_BYTES])
    if checksum != _checksum(magic, payload):
        raise FrameError("checksum differs")
    return payload


def _checksum(magic: bytes, payload: bytes) -> int:
    # The length is under the checksum too: a flipped bit there must not pass for a shorter frame.
    return zlib.crc32(payload, zlib.crc32(_START.pack(magic, len(payload))))
