"""One link: a reader and a writer over one session.

The writer takes everything that is queued and puts it on the wire in one piece, so under load many messages share a
write and an idle link sends at once. It asks the egress for more only when half of its credit has left: what waits,
waits in the egress, where its order can still change.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable

import trio

from p2psub.model.effects import LinkReady, Received, Transmit
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from p2psub.runtime.buckets import TokenBucket
from p2psub.runtime.handshake import Greeted
from p2psub.runtime.tcp_figures import TcpFigures, figures_of
from p2psub.runtime.transport import Session
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MAX, frame, frames

CREDIT_BYTES = 256 * 1024
"""What a link takes before it must drain: a few round trips' worth of a fast network."""
RECEIVE_BYTES = 256 * 1024
FRAME_S_MAX = 30.0
"""A frame that began must end within this time, in either direction."""
MESSAGES_PER_S_MAX = 200_000.0
"""A guess: more than a node takes in from all its peers together, so no honest peer is slowed."""
BYTES_PER_S_MAX = 256.0 * 1024 * 1024
"""What one peer may send for long; for a second it may send as much at once."""

logger = logging.getLogger(__name__)

_Hear = Callable[[Received], Awaitable[None]]


class Link:
    """Messages to and from one connected peer."""

    def __init__(self, greeted: Greeted, session: Session, counters: Counter[str] | None = None) -> None:
        self.peer = greeted.contact
        self.counters = Counter() if counters is None else counters
        self.rights = session.passport.rights
        self._greeted = greeted
        self._stream = session.stream
        self._queued: list[Transmit] = []
        self._leaving = 0
        self._weight = 0
        self._idle = trio.lowlevel.ParkingLot()
        self._sent = trio.lowlevel.ParkingLot()
        self._is_over = False
        self._sending = trio.CancelScope()
        now_s = trio.current_time()
        self._messages = TokenBucket(MESSAGES_PER_S_MAX, MESSAGES_PER_S_MAX, now_s)
        self._bytes = TokenBucket(BYTES_PER_S_MAX, BYTES_PER_S_MAX, now_s)
        self.scope = trio.CancelScope()
        """Cancel it to end the link."""
        self.reason = "closed"
        """Why it ended."""
        self.bytes_in = 0
        self.bytes_out = 0

    @property
    def figures(self) -> TcpFigures | None:
        """Round trip and goodput, where the system tells."""
        return figures_of(self._stream)

    @property
    def queued(self) -> int:
        """Transmissions that have not left yet."""
        return len(self._queued) + self._leaving

    def transmit(self, effect: Transmit) -> None:
        """Put messages into the writer's queue; the egress has made sure that there is room."""
        self._queued.append(effect)
        self._idle.unpark_all()

    async def wait_sent(self) -> None:
        """Return when everything queued has left, or the link is over."""
        await trio.lowlevel.checkpoint()
        while self.queued and not self._is_over:
            await self._sent.park()

    def end(self) -> None:
        """The link is over: what is queued never leaves."""
        self._is_over = True
        self._sent.unpark_all()

    async def write(self, ready: Callable[[LinkReady], None]) -> None:
        """Send what is queued, for ever."""
        with self._sending:
            await self._send(self._greeted.answer)
            while True:
                await self._send_queued(ready)
        raise trio.TooSlowError

    async def _send_queued(self, ready: Callable[[LinkReady], None]) -> None:
        while not self._queued:
            await self._idle.park()
        batch, self._queued = self._queued, []
        self._leaving = len(batch)
        await self._send(b"".join([part for effect in batch for part in self._frames(effect.messages, effect.stamp)]))
        self._leaving = 0
        self._sent.unpark_all()
        self._weight += sum([effect.weight for effect in batch])
        if self._weight >= CREDIT_BYTES // 2:
            self._weight = 0
            ready(LinkReady(self.peer.id, CREDIT_BYTES))

    async def _send(self, frames: bytes) -> None:
        # One scope for all that is ever sent: a deadline that is moved is cheaper than a scope for each.
        self._sending.deadline = trio.current_time() + FRAME_S_MAX
        # Counted first: the peer may have answered before this task runs again.
        self.bytes_out += len(frames)
        await self._stream.send_all(frames)
        self._sending.deadline = math.inf

    async def read(self, hear: _Hear) -> None:
        """Hear what the peer says until it hangs up; a PeerFault if it breaks the rules."""
        reader, payloads = self._greeted.reader, self._greeted.payloads
        frame_ends_s, begun_bytes = trio.current_time() + FRAME_S_MAX, 0
        while True:
            for payload in payloads:
                messages, stamp = decode_batch(payload)
                await hear(Received(self.peer, messages, stamp))
                await self._rest(max(1, len(messages)), len(payload))
            if not reader.pending_bytes:
                # An idle link may be silent for as long as it likes.
                piece = await self._stream.receive_some(RECEIVE_BYTES)
                frame_ends_s = trio.current_time() + FRAME_S_MAX
            else:
                if payloads or reader.begun_bytes != begun_bytes:
                    frame_ends_s = trio.current_time() + FRAME_S_MAX
                begun_bytes = reader.begun_bytes
                with trio.fail_at(frame_ends_s):
                    piece = await self._stream.receive_some(RECEIVE_BYTES)
            if not piece:
                self.reason = "the peer hung up"
                return
            self.bytes_in += len(piece)
            payloads = reader.feed(bytes(piece))

    async def _rest(self, messages: int, size_bytes: int) -> None:
        """Read on no sooner than the peer's buckets allow."""
        now_s = trio.current_time()
        wait_s = max(self._messages.take(messages, now_s), self._bytes.take(size_bytes, now_s))
        if wait_s > 0:
            await trio.sleep(wait_s)

    def _frames(self, messages: list[Message], stamp: Stamp) -> list[bytes]:
        """Messages as frames: one, or as many as the cap on a payload makes of them."""
        payload = encode_batch(messages, stamp)
        if len(payload) <= PAYLOAD_BYTES_MAX:
            return [frame(payload)]
        if len(messages) > 1:
            half = len(messages) // 2
            return self._frames(messages[:half], stamp) + self._frames(messages[half:], stamp)
        if len(payload) <= MESSAGE_BYTES_MAX:
            return frames(payload)
        # Better without this message than without the link: all others would be lost with it, again and again.
        self.counters["messages_too_large"] += 1
        kind = type(messages[0]).__name__
        logger.error("a %s of %d bytes is not sent: every peer would refuse it", kind, len(payload))
        return []
