"""All links of a node: dialled, accepted, replaced, ended.

There is one link per peer. If two nodes dial each other at once, the dial of the lower id stands. A peer that connects
again has lost the link that we still believe in: the new one takes its place. Whatever goes wrong on one link ends
that link alone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Set
from contextlib import contextmanager
from math import inf

import trio

from p2psub.errors import PeerFault
from p2psub.model.effects import Connect, Disconnect, LinkDrained, LinkLost, Received, Transmit
from p2psub.model.ids import Contact, NodeId
from p2psub.runtime.handshake import Greeted, HandshakeRefused, Self, greet, welcome
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.link import Link
from p2psub.runtime.transport import Session, Transport

DIAL_S_MAX = 5.0
CROSSED_S_MAX = 2.0
"""How long our own dial may keep the peer's waiting: it may be that we cannot reach the peer, but it can reach us."""
CLOSE_S_MAX = 1.0
FLUSH_S_MAX = 2.0

logger = logging.getLogger(__name__)

_FORESEEN = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError)


class _Dial:
    """One attempt to reach a peer, until it is connected or given up."""

    __slots__ = ("contact", "ended", "scope")

    def __init__(self, contact: Contact) -> None:
        self.contact = contact
        self.scope = trio.CancelScope()
        self.ended = trio.Event()


class LinkTable:
    """Performs Connect, Disconnect and Transmit; what it hears goes into the inbox.

    A peer has a link or a dial or neither, and every dial ends in LinkUp or LinkLost.
    """

    def __init__(self, me: Self, transport: Transport, inbox: Inbox, denied: Set[NodeId] = frozenset()) -> None:
        self._me = me
        self._transport = transport
        self._inbox = inbox
        self._denied = denied
        self._open: dict[NodeId, Link] = {}
        self._dials: dict[NodeId, _Dial] = {}
        self._arriving: dict[NodeId, trio.CancelScope] = {}
        self._dial, self._to_dial = trio.open_memory_channel[_Dial](inf)
        self.counters: Counter[str] = Counter()

    @property
    def open(self) -> list[Link]:
        """The links that are up."""
        return list(self._open.values())

    # Effects

    def connect(self, effect: Connect) -> None:
        """Dial a peer, unless that is under way or done."""
        peer = effect.contact.id
        link = self._open.get(peer)
        if link is not None:
            self._inbox.put_nowait(link.up)
        elif peer in self._denied:
            self.counters["peers_denied"] += 1
            self._inbox.put_nowait(LinkLost(peer))
        elif peer not in self._dials:
            dial = self._dials[peer] = _Dial(effect.contact)
            self._dial.send_nowait(dial)

    def disconnect(self, effect: Disconnect) -> None:
        """Hang up."""
        link = self._open.get(effect.peer)
        if link is not None:
            link.reason = effect.reason
            link.scope.cancel()

    def transmit(self, effect: Transmit) -> None:
        """Send over an open link; over one that just ended the messages are lost, as the core will know."""
        link = self._open.get(effect.peer)
        if link is not None:
            self.counters["messages_sent"] += len(effect.messages)
            link.transmit(effect)
        else:
            self.counters["messages_without_link"] += len(effect.messages)

    def deny(self, denied: Set[NodeId]) -> None:
        """Speak with these nodes no more, and with all others."""
        self._denied = denied
        for peer in denied:
            self.disconnect(Disconnect(peer, "denied"))
            if peer in self._dials:
                self._dials[peer].scope.cancel()
            if peer in self._arriving:
                self._arriving[peer].cancel()

    # Running

    async def run(self) -> None:
        """Dial what is asked for, until cancelled."""
        async with trio.open_nursery() as nursery:
            async for dial in self._to_dial:
                nursery.start_soon(self._dial_one, dial)

    async def flush(self) -> None:
        """Give what is queued a moment to leave."""
        with trio.move_on_after(FLUSH_S_MAX):
            for link in self.open:
                await link.wait_sent()

    async def accept(self, session: Session) -> None:
        """Take a session that a peer opened; ends with it."""
        peer = session.passport.id
        with self._ending_alone(peer, "sessions_failed"):
            try:
                greeted = await self._greeted(session)
                if greeted is not None:
                    await self._converse(session, greeted)
            finally:
                await _hang_up(session.stream)

    async def _greeted(self, session: Session) -> Greeted | None:
        """Who arrives, if we want it. Of two sessions that a peer begins, it means the later one."""
        peer = session.passport.id
        if peer in self._denied:
            self.counters["peers_denied"] += 1
            raise HandshakeRefused("it is on the deny list")
        earlier = self._arriving.get(peer)
        if earlier is not None:
            earlier.cancel()
        with trio.CancelScope() as scope:
            self._arriving[peer] = scope
            try:
                greeted = await welcome(session, self._me)
                return None if await self._is_crossed(peer) else greeted
            finally:
                if self._arriving.get(peer) is scope:
                    del self._arriving[peer]
        return None

    async def _is_crossed(self, peer: NodeId) -> bool:
        """Whether our own dial stands, and not this one; known when ours has ended."""
        dial = self._dials.get(peer)
        if dial is None or self._me.contact.id > peer:
            return False
        self.counters["dials_crossed"] += 1
        with trio.move_on_after(CROSSED_S_MAX):
            await dial.ended.wait()
        return peer in self._open

    async def _dial_one(self, dial: _Dial) -> None:
        peer = dial.contact.id
        try:
            with self._ending_alone(peer, "dials_failed"), dial.scope:
                with trio.fail_after(DIAL_S_MAX):
                    session = await self._transport.dial(dial.contact.address)
                try:
                    greeted = await greet(session, self._me, dial.contact)
                    if self._dials.get(peer) is dial:
                        self._end_dial(peer)
                        await self._converse(session, greeted)
                finally:
                    await _hang_up(session.stream)
        finally:
            if self._dials.get(peer) is dial:
                self._end_dial(peer)
                self._inbox.put_nowait(LinkLost(peer))

    def _end_dial(self, peer: NodeId) -> _Dial | None:
        dial = self._dials.pop(peer, None)
        if dial is not None:
            dial.ended.set()
        return dial

    async def _converse(self, session: Session, greeted: Greeted) -> None:
        """Be connected until either side ends it."""
        link = Link(greeted, session, self.counters)
        self._install(link)

        async def hear(received: Received) -> None:
            if self._is_current(link):
                await self._inbox.put(received)

        def drained(news: LinkDrained) -> None:
            if self._is_current(link):
                self._inbox.put_nowait(news)

        try:
            with link.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._until_it_ends, link, lambda: link.write(drained))
                    nursery.start_soon(self._until_it_ends, link, lambda: link.watch(drained))
                    nursery.start_soon(self._until_it_ends, link, lambda: link.read(hear))
        finally:
            logger.info("link to %s at %r ended: %s", link.peer.id.hex()[:10], link.peer.address, link.reason)
            link.end()
            if self._is_current(link):
                del self._open[link.peer.id]
                self._inbox.put_nowait(LinkLost(link.peer.id))

    def _is_current(self, link: Link) -> bool:
        return self._open.get(link.peer.id) is link

    def _install(self, link: Link) -> None:
        """The link is open from here on, and no other link or dial to the same peer."""
        peer = link.peer.id
        crossed = self._end_dial(peer)
        if crossed is not None:
            crossed.scope.cancel()
        old = self._open.get(peer)
        if old is not None:
            old.reason = "replaced by a newer link"
            old.scope.cancel()
            self._inbox.put_nowait(LinkLost(peer))
        self._open[peer] = link
        self.counters["links_opened"] += 1
        self._inbox.put_nowait(link.up)

    async def _until_it_ends(self, link: Link, work: Callable[[], Awaitable[None]]) -> None:
        """Read, or write; when that ends, by whatever, the link does."""
        with self._ending_alone(link.peer.id, "links_failed"):
            await work()
        link.scope.cancel()

    @contextmanager
    def _ending_alone(self, peer: NodeId, failure: str) -> Iterator[None]:
        """The boundary: whatever goes wrong with one peer is counted, logged, and ends here."""
        try:
            yield
        except PeerFault as error:
            self._count("peer_faults", peer, error)
        except _FORESEEN as error:
            self._count(failure, peer, error)
        except Exception:
            self.counters["link_bugs"] += 1
            logger.exception("peer %s: unforeseen", peer.hex()[:10])

    def _count(self, counter: str, peer: NodeId, error: Exception) -> None:
        self.counters[counter] += 1
        logger.info("peer %s: %s: %s", peer.hex()[:10], type(error).__name__, error)


async def _hang_up(stream: trio.abc.Stream) -> None:
    """Close gracefully, if that is quick: then the other side knows that nothing was cut off."""
    with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_S_MAX):
        await stream.aclose()
