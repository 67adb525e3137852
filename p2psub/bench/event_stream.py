"""Events over a bare stream, as fast as it goes: many in one frame, one frame in one write."""

from __future__ import annotations

from typing import Final

import msgspec
import trio

from p2psub.model.content import Event
from p2psub.runtime.link import RECEIVE_BYTES
from p2psub.wire.framing import FrameReader, frame

WRITE_BYTES: Final = 64 * 1024

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(list[Event])


class EventStream:
    """Lists of events over a stream."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._reader = FrameReader()
        self._payloads: list[bytes] = []

    async def send(self, events: list[Event]) -> None:
        """In one frame."""
        await self._stream.send_all(frame(_encoder.encode(events)))

    async def receive(self) -> list[Event]:
        """The next frame; nothing if the other end hung up."""
        while not self._payloads:
            piece = await self._stream.receive_some(RECEIVE_BYTES)
            if not piece:
                return []
            self._payloads = self._reader.feed(bytes(piece))[::-1]
        return _decoder.decode(self._payloads.pop())


def event_bytes(event: Event) -> int:
    """What an event takes in a frame."""
    return len(_encoder.encode(event))


def writes_of(events: list[Event]) -> list[list[Event]]:
    """Events of one size, as many together as fill a write."""
    size = max(1, WRITE_BYTES // event_bytes(events[0]))
    return [events[first : first + size] for first in range(0, len(events), size)]
