"""Nobody is connected before each side has said, under its own certificate's id, that it wants the same overlay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from p2psub.errors import FrameError, MalformedMessage, OversizedFrame, UnknownVersion
from p2psub.model.ids import Contact
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.hello import Hello, Welcome
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.runtime.handshake import (
    HANDSHAKE_S_MAX,
    HELLO_BYTES_MAX,
    Greeted,
    HandshakeRefused,
    greet,
    welcome,
)
from p2psub.runtime.transport import Session
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import MAGIC, PAYLOAD_BYTES_MAX, frame
from p2psub.wire.version import VERSION
from tests.runtime.memory import OVERLAY, passport_of, self_at
from tests.unit.bench import at, node_at

ME, PEER = self_at(1), self_at(2)
HELLO = Hello(OVERLAY, PEER.contact, 1, VERSION)
WELCOME = Welcome(PEER.contact, 1, VERSION)

Side = Callable[[Session], Awaitable[Greeted]]


def dialled(session: Session) -> Awaitable[Greeted]:
    """We were dialled."""
    return welcome(session, ME)


def dialling(session: Session) -> Awaitable[Greeted]:
    """We dial."""
    return greet(session, ME, PEER.contact)


def framed(*messages: Message) -> bytes:
    """Messages in one frame."""
    return frame(encode_batch(messages, Stamp(0, 0)))


async def after(side: Side, said: bytes, *, hangs_up: bool = False) -> Greeted:
    """How a handshake with a peer that says just this ends."""
    mine, theirs = trio.testing.memory_stream_pair()
    await theirs.send_all(said)
    if hangs_up:
        await theirs.send_eof()
    return await side(Session(mine, passport_of(PEER.contact.id)))


async def test_both_sides_know_each_other() -> None:
    """By what the other said; the dialled side answers, and nothing that follows the welcome is lost."""
    mine, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def answer() -> None:
            greeted = await welcome(Session(theirs, passport_of(ME.contact.id)), PEER)
            assert (greeted.contact, greeted.payloads) == (ME.contact, [])
            await theirs.send_all(greeted.answer + framed(Ping()) + framed(Pong())[:3])

        greeted = await greet(Session(mine, passport_of(PEER.contact.id)), ME, PEER.contact)
    assert greeted.contact == PEER.contact
    assert not greeted.answer
    assert [decode_batch(payload)[0] for payload in greeted.payloads] == [[Ping()]]
    assert greeted.reader.pending_bytes == 3


async def test_what_the_other_side_says_of_its_address_is_taken() -> None:
    """It knows best where it is; only its id is proved."""
    moved = Contact(PEER.contact.id, "elsewhere:1")
    assert (await after(dialled, framed(Hello(OVERLAY, moved, 1, VERSION)))).contact == moved
    assert (await after(dialling, framed(Welcome(moved, 1, VERSION)))).contact == moved


async def test_another_overlay_is_refused() -> None:
    """Certificates say so too; a peer that is told apart only here has a wrong configuration."""
    with pytest.raises(HandshakeRefused, match="belongs to the overlay 'other'"):
        await after(dialled, framed(Hello("other", PEER.contact, 1, VERSION)))


async def test_an_id_that_is_not_the_certificates_is_refused() -> None:
    """On either side."""
    with pytest.raises(HandshakeRefused, match="another node's id"):
        await after(dialled, framed(Hello(OVERLAY, at(3), 1, VERSION)))
    with pytest.raises(HandshakeRefused, match="another node's id"):
        await after(dialling, framed(Welcome(at(3), 1, VERSION)))


async def test_another_node_at_the_address_is_not_even_greeted() -> None:
    """It has a certificate, but it is not whom we dialled; it learns nothing of us."""
    mine, theirs = trio.testing.memory_stream_pair()
    with pytest.raises(HandshakeRefused, match="another node answers at 'host2:1'"):
        await greet(Session(mine, passport_of(node_at(3))), ME, PEER.contact)
    await mine.aclose()
    assert await theirs.receive_some() == b""


async def test_we_do_not_talk_to_ourselves() -> None:
    """Whoever gave us our own address as a contact hears so."""
    mine, theirs = trio.testing.memory_stream_pair()
    await theirs.send_all(framed(Hello(OVERLAY, ME.contact, 1, VERSION)))
    with pytest.raises(HandshakeRefused, match="we dialled ourselves"):
        await welcome(Session(mine, passport_of(ME.contact.id)), ME)


@pytest.mark.parametrize("theirs", [VERSION - 1, VERSION + 1])
async def test_another_version_is_refused_with_advice(theirs: int) -> None:
    """In a hello and in a welcome."""
    with pytest.raises(UnknownVersion, match="upgrade the older side"):
        await after(dialled, framed(Hello(OVERLAY, PEER.contact, 1, theirs)))
    with pytest.raises(UnknownVersion, match="upgrade the older side"):
        await after(dialling, framed(Welcome(PEER.contact, 1, theirs)))


async def test_a_dialler_of_another_version_is_told_ours() -> None:
    """The dialled side answers before it refuses, so both sides can give the advice."""
    mine, theirs = trio.testing.memory_stream_pair()
    await theirs.send_all(framed(Hello(OVERLAY, PEER.contact, 1, VERSION + 1)))
    with pytest.raises(UnknownVersion):
        await welcome(Session(mine, passport_of(PEER.contact.id)), ME)
    assert await theirs.receive_some() == framed(Welcome(ME.contact, ME.incarnation, VERSION))


@pytest.mark.parametrize(
    "said", [framed(Ping()), framed(), framed(HELLO, HELLO), framed(HELLO, Ping()), frame(b"\xc0")]
)
async def test_only_a_hello_begins_a_session(said: bytes) -> None:
    """Whatever else comes first is no message of a peer of ours."""
    with pytest.raises(MalformedMessage):
        await after(dialled, said)


@pytest.mark.parametrize("said", [framed(Ping()), framed(HELLO), framed(WELCOME, Ping())])
async def test_only_a_welcome_answers_a_hello(said: bytes) -> None:
    """Nothing is taken from a peer that has not said it."""
    with pytest.raises(MalformedMessage):
        await after(dialling, said)


@pytest.mark.parametrize("side", [dialled, dialling])
async def test_bytes_that_are_no_frame_are_refused(side: Side) -> None:
    """Somebody speaks another protocol."""
    with pytest.raises(FrameError):
        await after(side, b"GET / HTTP/1.1\r\n\r\n")


@pytest.mark.parametrize("side", [dialled, dialling])
@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_first_frame_is_small(side: Side, is_whole: bool) -> None:
    """We hold a few kilobytes for somebody who has said nothing yet, however he sends them."""
    long = framed(Hello("x" * (HELLO_BYTES_MAX + 1), PEER.contact, 1, VERSION))
    with pytest.raises(HandshakeRefused, match="first frame of more than"):
        await after(side, long if is_whole else long[: HELLO_BYTES_MAX + 1])


async def test_a_frame_that_no_link_takes_is_refused_by_its_header() -> None:
    """Before its bytes have arrived."""
    with pytest.raises(OversizedFrame):
        await after(dialled, MAGIC + (PAYLOAD_BYTES_MAX + 1).to_bytes(4, "big") + b"\0\0\0\0")


@pytest.mark.parametrize("side", [dialled, dialling])
@pytest.mark.parametrize("said", [b"", framed(HELLO)[:7]])
async def test_silence_is_not_waited_for(side: Side, said: bytes, autojump_clock: trio.testing.MockClock) -> None:
    """Nor is half a frame: after the deadline it is over."""
    with pytest.raises(trio.TooSlowError):
        await after(side, said)
    assert trio.current_time() == pytest.approx(HANDSHAKE_S_MAX)


@pytest.mark.parametrize("side", [dialled, dialling])
@pytest.mark.parametrize("said", [b"", framed(HELLO)[:7]])
async def test_a_peer_that_hangs_up_is_given_up_at_once(side: Side, said: bytes) -> None:
    """In TLS 1.3 that is how a refused certificate looks."""
    with pytest.raises(HandshakeRefused, match="hung up during the handshake"):
        await after(side, said, hangs_up=True)
