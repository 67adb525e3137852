"""Sessions: authenticated streams between two nodes, and the two things a transport can do: dial and serve.

A session proves who is at the other end, and nothing more. Whether that node is spoken to is for the handshake.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import trio

from p2psub.identity.certificates import Passport


class Session(NamedTuple):
    """An open stream and who is at its other end."""

    stream: trio.abc.Stream
    passport: Passport


Accept = Callable[[Session], Awaitable[None]]
"""Takes over one incoming session; the session ends when it returns."""


class Transport(Protocol):
    """How sessions come about."""

    async def dial(self, address: str) -> Session:
        """Open a session; OSError if no peer answers, PeerFault if what answers cannot prove to be of our overlay."""
        ...

    async def bind(self) -> str:
        """Take the address to listen on; returns the one that others dial, with its real port."""
        ...

    async def serve(self, accept: Accept) -> None:
        """Listen until cancelled; each incoming session is a task of its own."""
        ...
