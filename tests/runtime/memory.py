"""Sessions in memory: a network inside one process, for virtual time. Everybody is who he says he is."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio
import trio.testing

from p2psub.errors import PeerFault
from p2psub.identity.certificates import Passport
from p2psub.model.ids import Contact, NodeId
from p2psub.model.rights import Rights
from p2psub.runtime.handshake import Self
from p2psub.runtime.transport import Accept, Session
from tests.unit.bench import at

OVERLAY = "demo"


def passport_of(node: NodeId) -> Passport:
    """What a certificate of this node would say."""
    return Passport(node, OVERLAY, b"\0" * 32, Rights(), 2_000_000_000, 1)


def self_at(place: int) -> Self:
    """The node at a place of the circle, as it speaks of itself."""
    return Self(OVERLAY, at(place), 1)


class MemoryNetwork:
    """Who listens, and on which addresses connections hang for ever, as behind a firewall."""

    def __init__(self) -> None:
        self.listening: dict[str, MemoryTransport] = {}
        self.hanging: set[str] = set()
        self.delay_s: Callable[[], float] = lambda: 0.0
        """How long the next dial takes."""

    def transport(self, contact: Contact) -> MemoryTransport:
        """How the node of this contact dials and is dialled."""
        return MemoryTransport(self, contact)


class MemoryTransport:
    """One node's access to the network."""

    def __init__(self, network: MemoryNetwork, contact: Contact) -> None:
        self._network = network
        self._contact = contact
        self.passport = passport_of(contact.id)
        self._incoming, self._to_accept = trio.open_memory_channel[Session](math.inf)
        self.dialled = 0

    async def dial(self, address: str) -> Session:
        """Open a session, as long as somebody listens there."""
        await trio.sleep(self._network.delay_s())
        self.dialled += 1
        if address in self._network.hanging:
            await trio.sleep_forever()
        if not address.startswith("host"):
            raise PeerFault(f"{address!r} is no address")
        listener = self._network.listening.get(address)
        if listener is None:
            raise ConnectionRefusedError(address)
        mine, theirs = trio.testing.memory_stream_pair()
        listener.arrive(Session(theirs, self.passport))
        return Session(mine, listener.passport)

    def arrive(self, session: Session) -> None:
        """Somebody has dialled us."""
        self._incoming.send_nowait(session)

    async def bind(self) -> str:
        """Listen."""
        self._network.listening[self._contact.address] = self
        return self._contact.address

    async def serve(self, accept: Accept) -> None:
        """Accept until cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                async for session in self._to_accept:
                    nursery.start_soon(accept, session)
        finally:
            if self._network.listening.get(self._contact.address) is self:
                del self._network.listening[self._contact.address]
