"""Whoever is not who he should be, or breaks the rules, is refused and counted; the node serves the others on.

Over real sockets and real TLS. What goes by a deadline does so here with a short one.
"""

from __future__ import annotations

import resource
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from p2psub.api.items import Notification
from p2psub.api.settings import PeerConfig
from p2psub.model.content import Event, Guarantee
from p2psub.model.effects import Connect, LinkLost
from p2psub.model.ids import Contact, EventId, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, Want
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.records import Kind
from p2psub.runtime import handshake, link, tls
from p2psub.runtime.handshake import Self
from p2psub.runtime.host import open_peer
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.links import LinkTable
from p2psub.runtime.peer import Peer
from p2psub.runtime.strangers import STRANGERS_MAX
from p2psub.runtime.subscription_stream import SubscriptionStream
from p2psub.runtime.tls import TlsTransport
from p2psub.traces.segments import read_segments
from p2psub.wire.framing import MAGIC, PAYLOAD_BYTES_MAX
from tests.runtime.certified_nodes import (
    OVERLAY,
    CertifiedNode,
    Conversation,
    ForgingAuthority,
    connect,
    dialled,
    framed,
    hello,
    hung_up,
)
from tests.runtime.places import Place, open_place
from tests.unit.bench import node_at
from tests.unit.notaries import sealed

DAY_S = 86_400.0
SHORT_S = 0.2
HALF_OPEN = 1_000
DESCRIPTORS = 3 * HALF_OPEN


class Target:
    """A running peer, an honest one that wants to be served, and one that was denied."""

    def __init__(self, peer: Peer, node: CertifiedNode, honest: CertifiedNode, denied: CertifiedNode) -> None:
        self.peer = peer
        self.node = node
        self.honest = honest
        self.denied = denied
        self.address = peer.status().address

    def count(self, counter: str) -> int:
        return self.peer.status().counters.get(counter, 0)

    async def assert_refused(self, counter: str, count: int = 1) -> None:
        """It was counted, and nobody but the culprit notices anything."""
        await self.honest.ping(self.address)
        assert self.count(counter) == count


@pytest.fixture
def authority() -> ForgingAuthority:
    """The overlay's authority."""
    return ForgingAuthority()


@pytest.fixture
async def target(authority: ForgingAuthority, tmp_path: Path) -> AsyncIterator[Target]:
    """A peer that stands alone, its bootstrap being away."""
    node, denied = authority.node(tmp_path / "node"), authority.node(tmp_path / "denied")
    node.enrol(authority.deny_list(denied.contact.id))
    with trio.fail_after(60):
        async with open_peer(PeerConfig(tmp_path / "node", traces=False, leaves=False)) as peer:
            yield Target(peer, node, authority.node(tmp_path / "honest"), denied)


# Who somebody is


async def test_without_a_certificate_there_is_no_session(target: Target) -> None:
    """TLS itself demands one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with dialled(target.address, context) as stream:
        await hung_up(stream)
    await target.assert_refused("sessions_refused")


async def test_a_certificate_of_a_foreign_authority_is_refused(target: Target, tmp_path: Path) -> None:
    """Though it names the same overlay."""
    async with ForgingAuthority().node(tmp_path / "foreign").connected(target.address) as foreign:
        await foreign.hung_up()
    await target.assert_refused("sessions_refused")


@pytest.mark.parametrize("age_s", [8 * DAY_S, -1 * DAY_S])
async def test_a_certificate_out_of_its_time_is_refused(
    target: Target, authority: ForgingAuthority, tmp_path: Path, age_s: float
) -> None:
    """One that has run out, and one that is for later."""
    async with authority.node(tmp_path / "late", age_s=age_s).connected(target.address) as late:
        await late.hung_up()
    await target.assert_refused("sessions_refused")


async def test_a_certificate_for_an_id_that_does_not_follow_from_its_key_is_refused(
    target: Target, authority: ForgingAuthority, tmp_path: Path
) -> None:
    """Not even the authority can place a node where it wants."""
    async with authority.node(tmp_path / "placed", as_id=node_at(5)).connected(target.address) as placed:
        await placed.hung_up()
    await target.assert_refused("sessions_refused")


async def test_a_node_cannot_call_itself_by_another_id(
    target: Target, authority: ForgingAuthority, tmp_path: Path
) -> None:
    """Its certificate is good; its hello says that it is somebody else."""
    async with authority.node(tmp_path / "liar").connected(target.address) as liar:
        await liar.say(hello(target.honest.contact))
        await liar.hung_up()
    await target.assert_refused("peer_faults")


async def test_a_node_of_another_overlay_is_refused(
    target: Target, authority: ForgingAuthority, tmp_path: Path
) -> None:
    """Whatever its certificate says."""
    other = authority.node(tmp_path / "other")
    async with other.connected(target.address) as conversation:
        await conversation.say(hello(other.contact, "another"))
        await conversation.hung_up()
    await target.assert_refused("peer_faults")


async def test_a_denied_node_is_refused(target: Target) -> None:
    """Its certificate is still valid, but the authority's list names it."""
    async with target.denied.connected(target.address) as denied:
        await denied.say(hello(target.denied.contact))
        await denied.hung_up()
    await target.assert_refused("peers_denied")


async def test_we_do_not_link_with_ourselves(target: Target) -> None:
    """Somebody sent us our own address: that is how the dialled side of it looks."""
    async with target.node.connected(target.address) as myself:
        await myself.say(hello(target.node.contact))
        await myself.hung_up()
    await target.assert_refused("peer_faults")


async def test_a_dial_to_ourselves_comes_to_nothing(authority: ForgingAuthority, tmp_path: Path) -> None:
    """And that is how it looks to the one who dials."""
    node, inbox = authority.node(tmp_path / "node"), Inbox()
    transport = TlsTransport("127.0.0.1:0", node.credentials)
    me = Contact(node.contact.id, await transport.bind())
    links = LinkTable(Self(OVERLAY, me, 1), transport, inbox)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.serve, links.accept)
        nursery.start_soon(links.run)
        links.connect(Connect(me))
        await inbox.wait_any()
        assert inbox.take() == [LinkLost(me.id)]
        assert links.counters["peer_faults"] == 2
        nursery.cancel_scope.cancel()


# What somebody sends


async def test_an_older_tls_is_not_spoken(target: Target) -> None:
    """Nothing below 1.3, with whatever certificate."""
    context = target.honest.context()
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(trio.BrokenResourceError):
        async with dialled(target.address, context):
            pytest.fail("there was a handshake")
    await target.assert_refused("sessions_refused")


async def test_what_is_no_tls_is_refused(target: Target) -> None:
    """A browser that lost its way, say."""
    async with await connect(target.address) as tcp:
        await tcp.send_all(b"GET / HTTP/1.1\r\n\r\n")
        await hung_up(tcp)
    await target.assert_refused("sessions_refused")


class Recorder:
    """A wire with an ear on it: passes everything on, and keeps what the dialling side sends."""

    def __init__(self, target: str, address: str) -> None:
        self._target = target
        self.address = address
        self.heard = b""

    async def take(self, near: trio.SocketStream) -> None:
        async with await connect(self._target) as far, trio.open_nursery() as nursery:
            nursery.start_soon(self._pass_back, far, near)
            async for piece in near:
                self.heard += piece
                await far.send_all(piece)
            nursery.cancel_scope.cancel()

    async def _pass_back(self, far: trio.SocketStream, near: trio.SocketStream) -> None:
        async for piece in far:
            await near.send_all(piece)


@pytest.fixture
async def recorder(target: Target) -> AsyncIterator[Recorder]:
    """Between us and the target."""
    listeners, address = await tls.bind_tcp("127.0.0.1:0", None)
    recorder = Recorder(target.address, address)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, recorder.take, listeners)
        yield recorder
        nursery.cancel_scope.cancel()


async def test_a_recorded_session_cannot_be_played_again(target: Target, recorder: Recorder) -> None:
    """Every byte that an honest peer sent, sent once more: no key of that session is one of this."""
    await target.honest.ping(recorder.address)
    opened = target.count("links_opened")
    async with await connect(target.address) as thief:
        await thief.send_all(recorder.heard)
        await hung_up(thief)
    assert target.count("links_opened") == opened
    await target.assert_refused("sessions_refused")


async def test_a_recorded_frame_cannot_be_carried_into_another_session(target: Target, recorder: Recorder) -> None:
    """Not even into one of the same node: that session ends, and nothing of the frame is heard."""
    async with target.honest.welcomed(recorder.address) as honest:
        before = len(recorder.heard)
        await honest.say(Ping())
        await honest.hear()
        stolen = recorder.heard[before:]
    async with target.honest.welcomed(target.address) as honest:
        await honest.stream.transport_stream.send_all(stolen)
        await honest.hung_up()
    await target.assert_refused("links_failed")


async def test_an_oversized_frame_ends_its_link(target: Target, authority: ForgingAuthority, tmp_path: Path) -> None:
    """By its header: nothing is held for it."""
    async with authority.node(tmp_path / "big").welcomed(target.address) as big:
        await big.stream.send_all(MAGIC + (PAYLOAD_BYTES_MAX + 1).to_bytes(4, "big") + b"\0\0\0\0")
        await big.hung_up()
    await target.assert_refused("peer_faults")


# Who takes his time


async def trickle(stream: trio.abc.SendStream, content: bytes) -> None:
    """Send a byte now and then, as long as there is somebody to take it."""
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        for byte in content:
            await stream.send_all(bytes([byte]))
            await trio.sleep(SHORT_S / 4)


async def test_a_tls_handshake_that_trickles_is_given_up(
    target: Target, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has proved anything."""
    monkeypatch.setattr(tls, "HANDSHAKE_S_MAX", SHORT_S)
    async with await connect(target.address) as slow:
        nursery.start_soon(trickle, slow, b"\x16\x03\x01\x02\x00" + bytes(512))
        await hung_up(slow)
    monkeypatch.undo()
    await target.assert_refused("sessions_refused")


@pytest.mark.parametrize("said", [b"", framed(Ping())[:5]])
async def test_a_hello_that_does_not_come_is_given_up(
    target: Target, authority: ForgingAuthority, tmp_path: Path, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its certificate alone is not enough."""
    monkeypatch.setattr(handshake, "HANDSHAKE_S_MAX", SHORT_S)
    async with authority.node(tmp_path / "silent").connected(target.address) as silent:
        await silent.stream.send_all(said)
        await silent.hung_up()
    monkeypatch.undo()
    await target.assert_refused("sessions_failed")


async def test_a_frame_that_trickles_ends_its_link(
    target: Target, authority: ForgingAuthority, tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However lively it is otherwise."""
    monkeypatch.setattr(link, "FRAME_S_MAX", SHORT_S)
    async with authority.node(tmp_path / "slow").welcomed(target.address) as slow:
        nursery.start_soon(trickle, slow.stream, framed(Ping()) * 50)
        await slow.hung_up()
    monkeypatch.undo()
    await target.assert_refused("links_failed")


# Who comes in numbers


@pytest.fixture
def descriptors() -> None:
    """Enough of them for both ends of a thousand connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < DESCRIPTORS:
        pytest.skip(f"this user may open {hard} files only; both ends of {HALF_OPEN} connections need {DESCRIPTORS}")
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))


def files() -> int:
    """What this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def resident_bytes() -> int:
    """The memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.usefixtures("descriptors")
async def test_a_thousand_half_open_connections_keep_nobody_out(target: Target) -> None:
    """The oldest go, so that files and memory are bounded and an honest peer has room, while they all hang there."""
    files_before, bytes_before = files(), resident_bytes()
    async with AsyncExitStack() as stack:
        half_open = [await stack.enter_async_context(await connect(target.address)) for _ in range(HALF_OPEN)]
        for pushed_out in half_open[: HALF_OPEN - STRANGERS_MAX]:
            await hung_up(pushed_out)
        await target.assert_refused("sessions_refused", HALF_OPEN - STRANGERS_MAX + 1)
        assert files() - files_before <= HALF_OPEN + STRANGERS_MAX + 8
        assert resident_bytes() - bytes_before < 64 * 1024 * 1024


async def test_one_node_with_many_sessions_has_one_link(
    target: Target, authority: ForgingAuthority, tmp_path: Path
) -> None:
    """Each replaces the one before; those that say nothing wait one at a time."""
    greedy = authority.node(tmp_path / "greedy")
    async with AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(greedy.connected(target.address)) for _ in range(20)]
        linked = [await stack.enter_async_context(greedy.welcomed(target.address)) for _ in range(20)]
        for conversation in (*silent, *linked[:-1]):
            await conversation.hung_up()
        assert len(target.peer.status().links) == 1
        await target.honest.ping(target.address)


# What somebody passes on


TOPIC = "quotes/ACME"


class Victim:
    """A subscriber of a running overlay, somebody who publishes, and somebody who is enrolled and lies."""

    def __init__(
        self, peer: Peer, subscription: SubscriptionStream, bob: CertifiedNode, mallory: CertifiedNode
    ) -> None:
        self.address = peer.status().address
        self.subscription = subscription
        self.bob = bob
        self.mallory = mallory

    def event(self, sequence: int, guarantee: Guarantee, body: bytes = b"genuine") -> Event:
        """One that calls itself Bob's."""
        return Event(EventId(self.bob.contact.id, 1, sequence), TOPIC, {}, body, 0, guarantee)

    def deliver(self, parcel: Parcel) -> Deliver:
        return Deliver(parcel, Micros(0), (Want(self.subscription.id),))

    async def take(self) -> tuple[int, bytes]:
        """The number and body of the next event that the application gets."""
        item = await self.subscription.take()
        assert isinstance(item, Notification)
        return item.event.id.sequence, item.event.body


@asynccontextmanager
async def victim_at(place: Place) -> AsyncIterator[Victim]:
    """It traces."""
    async with open_peer(place.config("ann", traces=True)) as peer:
        await peer.wait_ready()
        async with peer.subscribe(f"topic = '{TOPIC}'") as subscription:
            yield Victim(peer, subscription, place.paper_node("bob"), place.paper_node("mallory"))


def forged_deliveries(victim: Victim) -> list[Deliver]:
    """Promised events that call themselves Bob's, each with another lie."""
    plain = victim.event(1, Guarantee.EFFECTIVELY_ONCE)
    bobs, mallorys = (sealed(signer.notary, plain) for signer in (victim.bob, victim.mallory))
    lies: list[dict[str, Any]] = [
        {"body": b"altered"},
        {"topic": "quotes/ACNE"},
        {"attributes": {"price": 1}},
        {"id": plain.id._replace(sequence=2)},
        {"guarantee": Guarantee.AT_MOST_ONCE},
    ]
    altered = [replace(bobs, events=(replace(plain, **lie),)) for lie in lies]
    renamed = [replace(bobs, number=2), replace(bobs, signature=None)]
    return [victim.deliver(parcel) for parcel in (*altered, *renamed, mallorys)]


def forged_streams(victim: Victim, genuine: Parcel) -> list[Deliver]:
    """The same two events, one of them altered; both unsigned; both signed by the liar."""
    one, two = genuine.events
    altered = (one, replace(two, body=b"altered"))
    lies = [replace(genuine, **lie) for lie in ({"events": altered}, {"signature": None})]
    return [victim.deliver(parcel) for parcel in (*lies, sealed(victim.mallory.notary, one, two))]


async def answers(conversation: Conversation) -> list[Delivered]:
    """What was said of deliveries, up to the answer to a ping."""
    await conversation.say(Ping())
    said: list[Message] = []
    while Pong() not in said:
        said += await conversation.hear()
    return [message for message in said if isinstance(message, Delivered)]


def dropped(directory: Path) -> list[tuple[NodeId | None, str | None, int]]:
    """Who brought what was dropped, why, and how many events."""
    return [
        (record.peer, record.reason, record.count or 1)
        for record in read_segments(directory)
        if record.kind is Kind.DROP and record.peer is not None
    ]


async def test_a_changed_event_body_is_refused(tmp_path: Path) -> None:
    """Promised or not, altered, unsigned or signed by the liar: it is counted, and nobody is told that it arrived.

    The genuine ones that come right after, by the same liar even, are taken; and the node has served all the while.
    """
    async with (
        open_place(tmp_path) as place,
        victim_at(place) as victim,
        victim.mallory.welcomed(victim.address) as mallory,
    ):
        streamed = sealed(victim.bob.notary, *(victim.event(n, Guarantee.AT_MOST_ONCE) for n in (1, 2)))
        promised = sealed(victim.bob.notary, victim.event(3, Guarantee.EFFECTIVELY_ONCE), number=2)
        deliveries, streams = forged_deliveries(victim), forged_streams(victim, streamed)
        await mallory.say(*deliveries, *streams)
        assert await answers(mallory) == []
        assert victim.subscription.waiting == 0
        await mallory.say(victim.deliver(streamed), victim.deliver(promised))
        (answer,) = await answers(mallory)
        assert answer == Delivered(promised.id, (OutcomeOf(victim.subscription.id, Outcome.DELIVERED, b"\x01"),))
        assert [await victim.take() for _ in range(3)] == [(1, b"genuine"), (2, b"genuine"), (3, b"genuine")]
        await victim.bob.ping(victim.address)
    liar = victim.mallory.contact.id
    refused = [(liar, "bad_signature", 1)] * len(deliveries) + [(liar, "bad_signature", 2)] * len(streams)
    assert dropped(tmp_path / "ann") == refused
