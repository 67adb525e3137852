"""The first frames of a session: who are you, do we speak one version, welcome.

The certificate has said who the other side is; here it must say the same. In TLS 1.3 a client learns only by reading
whether its certificate was taken, so no node is connected before the welcome.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import trio

from p2psub.errors import MalformedMessage, PeerFault
from p2psub.model.ids import Contact
from p2psub.model.instants import Stamp
from p2psub.model.messages.hello import Hello, Welcome
from p2psub.runtime.transport import Session
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import MESSAGE_BYTES_MAX, FrameReader, frame
from p2psub.wire.version import VERSION, check_version

HANDSHAKE_S_MAX = 5.0
HELLO_BYTES_MAX = 4096

_NO_STAMP = Stamp(0, 0)
_M = TypeVar("_M", Hello, Welcome)


class HandshakeRefused(PeerFault):
    """The other side is not whom it must be, or wants what we cannot give."""


class Self(NamedTuple):
    """What a node says of itself."""

    overlay: str
    contact: Contact
    incarnation: int


class Greeted(NamedTuple):
    """The other side after a handshake, and the frames that arrived right behind it."""

    contact: Contact
    reader: FrameReader
    payloads: list[bytes]
    answer: bytes = b""
    """What we must say before anything else: on the dialled side, the welcome."""


async def welcome(session: Session, me: Self) -> Greeted:
    """The dialled side: hear the hello and check it. The task that takes the session up answers it."""
    with trio.fail_after(HANDSHAKE_S_MAX):
        first, reader, rest = await _first_frame(session.stream)
    hello = _only(first, Hello)
    _check_contact(session, hello.contact, me)
    if hello.overlay != me.overlay:
        raise HandshakeRefused(f"{hello.contact.address!r} belongs to the overlay {hello.overlay!r}")
    answer = _framed(Welcome(me.contact, me.incarnation, VERSION))
    if hello.version != VERSION:
        # The dialler learns from it why it is refused, and can advise its operator too.
        with trio.fail_after(HANDSHAKE_S_MAX):
            await session.stream.send_all(answer)
    check_version(hello.version)
    return Greeted(hello.contact, reader, rest, answer)


async def greet(session: Session, me: Self, expected: Contact) -> Greeted:
    """The dialling side: say hello, wait for the welcome of the very node that was dialled."""
    if session.passport.id != expected.id:
        raise HandshakeRefused(f"another node answers at {expected.address!r}")
    with trio.fail_after(HANDSHAKE_S_MAX):
        await session.stream.send_all(_framed(Hello(me.overlay, me.contact, me.incarnation, VERSION)))
        first, reader, rest = await _first_frame(session.stream)
    said = _only(first, Welcome)
    _check_contact(session, said.contact, me)
    check_version(said.version)
    return Greeted(said.contact, reader, rest)


def _check_contact(session: Session, contact: Contact, me: Self) -> None:
    if contact.id != session.passport.id:
        raise HandshakeRefused(f"{contact.address!r} claims another node's id than its certificate's")
    if contact.id == me.contact.id:
        raise HandshakeRefused("we dialled ourselves: the address we were given is our own")


def _framed(message: Hello | Welcome) -> bytes:
    return frame(encode_batch([message], _NO_STAMP))


async def _first_frame(stream: trio.abc.ReceiveStream) -> tuple[bytes, FrameReader, list[bytes]]:
    """The first payload, the reader for the others, and those that came with the first."""
    reader = FrameReader(whole_bytes_max=MESSAGE_BYTES_MAX)
    while True:
        piece = await stream.receive_some(HELLO_BYTES_MAX)
        if not piece:
            raise HandshakeRefused("the other side hung up during the handshake; its log says why")
        payloads = reader.feed(bytes(piece))
        if (len(payloads[0]) if payloads else reader.pending_bytes) > HELLO_BYTES_MAX:
            raise HandshakeRefused(f"a first frame of more than {HELLO_BYTES_MAX} bytes")
        if payloads:
            return payloads[0], reader, payloads[1:]


def _only(payload: bytes, wanted: type[_M]) -> _M:
    messages = decode_batch(payload)[0]
    if len(messages) != 1 or not isinstance(messages[0], wanted):
        raise MalformedMessage(f"a handshake begins with one {wanted.__name__}")
    return messages[0]
