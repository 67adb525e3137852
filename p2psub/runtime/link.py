"""One link: a reader and a writer over one session.

The writer takes everything that is queued and puts it on the wire in one piece, so under load many messages share a
write and an idle link sends at once. What waits, waits in the egress, where its order can still change: it gives a link
no more than may be under way, and says at what level it wants to hear that the link has drained. What a kernel has
taken, and the peer has not acknowledged, is under way.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable

import trio

from p2psub.model.effects import LinkDrained, LinkUp, Received, Transmit
from p2psub.model.instants import SECOND_US
from p2psub.model.messages import Message
from p2psub.runtime.buckets import TokenBucket
from p2psub.runtime.handshake import Greeted
from p2psub.runtime.tcp_figures import TcpFigures, acknowledged_bytes, figures_of, unacknowledged_bytes
from p2psub.runtime.transport import Session
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MAX, frame, frames

FIRST_WINDOW_BYTES = 16 * 1024
"""What may be under way while nothing is known of the line: about what TCP sends before the first word comes back."""
POLL_S_MIN = 0.0005
POLL_S_MAX = 0.01
"""A full link is looked at this often: no kernel tells when the peer has acknowledged what it had."""
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
        self._unwritten = 0
        """Bytes that the kernel has not taken, by weight."""
        self._taken = 0
        """All that was put on the link, by weight."""
        self._drained_to: int | None = None
        self._full_since: tuple[float, int] | None = None
        """When the link became full, and what had been acknowledged until then."""
        self._full = trio.lowlevel.ParkingLot()
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
    def up(self) -> LinkUp:
        """What the core is told of it."""
        figures = self.figures
        return LinkUp(self.peer, FIRST_WINDOW_BYTES, self.rights, figures.rtt_min_us if figures else 0)

    @property
    def queued(self) -> int:
        """Transmissions that have not left yet."""
        return len(self._queued) + self._leaving

    def transmit(self, effect: Transmit) -> None:
        """Put messages into the writer's queue; the egress has made sure that there is room."""
        self._queued.append(effect)
        self._unwritten += effect.weight
        self._taken += effect.weight
        if effect.drained_to is not None:
            self._drained_to = effect.drained_to
            if self._full_since is None and self.under_way > effect.drained_to:
                self._full_since = trio.current_time(), self._acknowledged
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

    async def write(self, drained: Callable[[LinkDrained], None]) -> None:
        """Send what is queued, for ever; say when a full link has drained."""
        with self._sending:
            await self._send(self._greeted.answer)
            while True:
                await self._send_queued(drained)
        raise trio.TooSlowError

    async def _send_queued(self, drained: Callable[[LinkDrained], None]) -> None:
        while not self._queued:
            await self._idle.park()
        batch, self._queued = self._queued, []
        self._leaving = len(batch)
        await self._send(b"".join([part for effect in batch for part in self._frames(effect.messages, effect)]))
        self._leaving = 0
        self._unwritten -= sum([effect.weight for effect in batch])
        self._sent.unpark_all()
        if self._drained_to is not None and not self._tell_drained(drained):
            self._full.unpark_all()

    async def watch(self, drained: Callable[[LinkDrained], None]) -> None:
        """Look at the link while it is full, for ever; one that takes nothing for long is over."""
        while True:
            await self._full.park()
            poll_s, least, since_s = POLL_S_MIN, self.under_way, trio.current_time()
            while self._drained_to is not None and not self._tell_drained(drained):
                await trio.sleep(poll_s)
                poll_s = min(POLL_S_MAX, 2 * poll_s)
                if self.under_way < least:
                    least, since_s = self.under_way, trio.current_time()
                elif trio.current_time() - since_s > FRAME_S_MAX:
                    raise trio.TooSlowError

    @property
    def under_way(self) -> int:
        """Bytes that the peer has not acknowledged."""
        return self._unwritten + unacknowledged_bytes(self._stream)

    @property
    def committed(self) -> int:
        """Bytes that nothing can overtake any more; what is being handed to the kernel counts as the kernel's."""
        return sum([effect.weight for effect in self._queued]) + unacknowledged_bytes(self._stream)

    @property
    def _acknowledged(self) -> int:
        """Bytes as the kernel counts them: what messages weigh may be more than they are."""
        said = acknowledged_bytes(self._stream)
        return self._taken - self.under_way if said is None else said

    def _tell_drained(self, drained: Callable[[LinkDrained], None]) -> bool:
        """Say that the link has drained as far as the egress asked for, if it has."""
        under_way = self.under_way
        if self._drained_to is None or under_way > self._drained_to:
            return False
        arrived, busy_us, busy_bytes = self._taken - under_way, 0, 0
        if self._full_since is not None:
            since_s, acknowledged_then = self._full_since
            busy_us = max(1, int((trio.current_time() - since_s) * SECOND_US))
            busy_bytes = self._acknowledged - acknowledged_then
        self._drained_to = self._full_since = None
        drained(LinkDrained(self.peer.id, arrived, busy_us, busy_bytes))
        return True

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
                messages, stamp, sent_us = decode_batch(payload)
                await hear(Received(self.peer, messages, stamp, sent_us))
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

    def _frames(self, messages: list[Message], of: Transmit) -> list[bytes]:
        """Messages as frames: one, or as many as the cap on a payload makes of them."""
        payload = encode_batch(messages, of.stamp, of.sent_us)
        if len(payload) <= PAYLOAD_BYTES_MAX:
            return [frame(payload)]
        if len(messages) > 1:
            half = len(messages) // 2
            return self._frames(messages[:half], of) + self._frames(messages[half:], of)
        if len(payload) <= MESSAGE_BYTES_MAX:
            return frames(payload)
        # Better without this message than without the link: all others would be lost with it, again and again.
        self.counters["messages_too_large"] += 1
        kind = type(messages[0]).__name__
        logger.error("a %s of %d bytes is not sent: every peer would refuse it", kind, len(payload))
        return []
