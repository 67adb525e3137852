"""Sessions over TCP and TLS: who is at the other end is known, what ends leaves nothing behind, certificates change.

Over real sockets.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
import trio.testing

from p2psub.errors import ConfigError, PeerFault
from p2psub.identity.certificates import read_passport
from p2psub.model.effects import Connect, Disconnect, Input, LinkLost, LinkUp, Received, Transmit
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import Stamp
from p2psub.model.messages.cube import CubeHeartbeat
from p2psub.model.messages.liveness import Ping
from p2psub.runtime.handshake import Self
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.link import FIRST_WINDOW_BYTES
from p2psub.runtime.links import LinkTable
from p2psub.runtime.tls import TlsTransport, bind_tcp
from p2psub.runtime.transport import Session
from tests.runtime.certified_nodes import OVERLAY, CertifiedNode, ForgingAuthority

STAMP = Stamp(5, 0)


class Station:
    """A node without a core, on a socket."""

    def __init__(self, node: CertifiedNode) -> None:
        self.node = node
        self.inbox = Inbox()
        self.transport = TlsTransport("127.0.0.1:0", node.credentials)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self.contact = Contact(self.node.contact.id, await self.transport.bind())
        self.links = LinkTable(Self(OVERLAY, self.contact, 1), self.transport, self.inbox)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.links.run)
            nursery.start_soon(self.transport.serve, self.links.accept)
            task_status.started()

    async def told(self, count: int = 1) -> list[Input]:
        """The next inputs of the core, when there are so many."""
        told: list[Input] = []
        with trio.fail_after(30):
            while len(told) < count:
                await self.inbox.wait_any()
                told += self.inbox.take()
        return told


@pytest.fixture
def authority() -> ForgingAuthority:
    """The overlay's authority."""
    return ForgingAuthority()


@pytest.fixture
async def pair(authority: ForgingAuthority, tmp_path: Path) -> AsyncIterator[tuple[Station, Station]]:
    """Two stations, with a link between them."""
    one, two = Station(authority.node(tmp_path / "one")), Station(authority.node(tmp_path / "two"))
    async with trio.open_nursery() as nursery:
        await nursery.start(one.run)
        await nursery.start(two.run)
        one.links.connect(Connect(two.contact))
        for here, there in ((one, two), (two, one)):
            (news,) = await here.told()
            assert isinstance(news, LinkUp)
            assert (news.peer, news.window) == (there.contact, FIRST_WINDOW_BYTES)
        yield one, two
        nursery.cancel_scope.cancel()


def files() -> int:
    """What this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_link_ends_in_good_order(pair: tuple[Station, Station]) -> None:
    """What was said before is heard; neither side takes the end for a failure."""
    one, two = pair
    one.links.transmit(Transmit(two.contact.id, [Ping()], STAMP))
    await one.links.flush()
    one.links.disconnect(Disconnect(two.contact.id, "enough"))
    assert await two.told(2) == [Received(one.contact, [Ping()], STAMP), LinkLost(one.contact.id)]
    assert await one.told() == [LinkLost(two.contact.id)]
    assert not one.links.counters["links_failed"] + two.links.counters["links_failed"]


async def test_much_is_heard_as_it_was_said(pair: tuple[Station, Station]) -> None:
    """Megabytes in both directions at once, split, coalesced and cut wherever TLS and TCP like."""
    one, two = pair
    messages = [CubeHeartbeat(ClusterId(str(number)), bytes(50_000), b"", complete=True) for number in range(100)]
    for link_ in (one.links, two.links):
        for start in range(0, 100, 10):
            (peer,) = link_.open
            link_.transmit(Transmit(peer.peer.id, list(messages[start : start + 10]), STAMP))
    for station in pair:
        heard: list[object] = []
        while len(heard) < 100:
            heard += [m for input_ in await station.told() if isinstance(input_, Received) for m in input_.messages]
        assert heard == messages


async def test_a_new_certificate_is_shown_to_the_next_who_come(
    pair: tuple[Station, Station], authority: ForgingAuthority, tmp_path: Path
) -> None:
    """On both sides of a dial; the links that are there live on."""
    one, two = pair
    before = serial_of(one.node)
    renewed = authority.node(tmp_path / "one", serial=before + 1, nonce=one.node.nonce)
    one.transport.renew(renewed.credentials)
    shown: list[int] = []

    async def note(session: Session) -> None:
        shown.append(session.passport.serial)
        await session.stream.aclose()

    ear = TlsTransport("127.0.0.1:0", two.node.credentials)
    address = await ear.bind()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ear.serve, note)
        session = await one.transport.dial(address)
        assert await session.stream.receive_some() == b""
        await session.stream.aclose()
        nursery.cancel_scope.cancel()
    session = await ear.dial(one.contact.address)
    await session.stream.aclose()
    assert [*shown, session.passport.serial] == [before + 1, before + 1]
    two.links.transmit(Transmit(one.contact.id, [Ping()], STAMP))
    assert await one.told() == [Received(two.contact, [Ping()], STAMP)]


def serial_of(node: CertifiedNode) -> int:
    """The number of a node's certificate."""
    return read_passport(node.grant.certificate, node.grant.ca, OVERLAY, time.time()).serial


@pytest.mark.parametrize("address", ["nonsense", "", "127.0.0.1:99999", "a..b:1", f"{'x' * 300}:1", "\0:1"])
async def test_an_address_that_is_none_is_its_senders_fault(
    authority: ForgingAuthority, tmp_path: Path, address: str
) -> None:
    """Whatever somebody tells us, dialling it fails as a peer's fault or as a network's, never as ours."""
    transport = TlsTransport("127.0.0.1:0", authority.node(tmp_path / "one").credentials)
    with pytest.raises((PeerFault, OSError)):
        await transport.dial(address)


async def test_dials_that_fail_leave_nothing_open(
    authority: ForgingAuthority, tmp_path: Path, nursery: trio.Nursery
) -> None:
    """Nobody there, somebody who hangs up, somebody of a foreign overlay, and one whom we gave up."""
    transport = TlsTransport("127.0.0.1:0", authority.node(tmp_path / "one").credentials)
    foreign = TlsTransport("127.0.0.1:0", ForgingAuthority().node(tmp_path / "foreign").credentials)
    foreigner = await foreign.bind()
    hanging, silent = await bind_tcp("127.0.0.1:0", None)
    closing, rude = await bind_tcp("127.0.0.1:0", None)

    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.aclose()

    async def ignore(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    nursery.start_soon(foreign.serve, _never)
    nursery.start_soon(trio.serve_listeners, hang_up, closing)
    nursery.start_soon(trio.serve_listeners, ignore, hanging)
    before = files()
    for address in ["127.0.0.1:1", rude, foreigner] * 5:
        with pytest.raises((OSError, trio.BrokenResourceError)):
            await transport.dial(address)
    with trio.move_on_after(0.05):
        await transport.dial(silent)
    await trio.testing.wait_all_tasks_blocked(0.05)
    # The silent one still holds its own end.
    assert files() <= before + 1
    nursery.cancel_scope.cancel()


async def _never(_: Session) -> None:
    pytest.fail("there was a session")


async def test_where_we_listen_must_be_an_address_that_others_can_dial() -> None:
    """Unless the operator says what the others shall dial instead."""
    with pytest.raises(ConfigError, match=r"public_address: no peer can dial 0\.0\.0\.0:0"):
        await bind_tcp("0.0.0.0:0", None)
    with pytest.raises(ConfigError, match="public_address: 'here' is not a valid address"):
        await bind_tcp("127.0.0.1:0", "here")
    listeners, address = await bind_tcp("127.0.0.1:0", "peer.example:7400")
    assert address == "peer.example:7400"
    await trio.aclose_forcefully(listeners[0])
