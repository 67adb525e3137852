"""A link sends what is queued in as few writes as it can, and bears with a slow peer for so long and no longer."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from p2psub.errors import FrameError, MalformedMessage
from p2psub.model.effects import LinkDrained, Received, Transmit
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.cube import CubeHeartbeat
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.runtime import link
from p2psub.runtime.handshake import Greeted
from p2psub.runtime.link import FRAME_S_MAX, Link
from p2psub.runtime.transport import Session
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MAX, FrameReader, frame
from tests.runtime.memory import passport_of
from tests.unit.bench import at

PEER = at(2)
STAMP = Stamp(5, 0)


class Wire:
    """A link, and the peer's end of its stream."""

    def __init__(self, *, is_lockstep: bool = False, answer: bytes = b"", payloads: tuple[bytes, ...] = ()) -> None:
        mine, theirs = trio.testing.lockstep_stream_pair() if is_lockstep else trio.testing.memory_stream_pair()
        self.theirs: trio.abc.HalfCloseableStream = theirs
        self.reader = FrameReader()
        reader = FrameReader(whole_bytes_max=MESSAGE_BYTES_MAX)
        self.link = Link(Greeted(PEER, reader, list(payloads), answer), Session(mine, passport_of(PEER.id)))
        self.heard: list[Received] = []
        self.drained: list[LinkDrained] = []

    async def hear(self, received: Received) -> None:
        self.heard.append(received)

    async def read(self) -> None:
        await self.link.read(self.hear)

    async def write(self) -> None:
        await self.link.write(self.drained.append)

    def transmit(self, *messages: Message, stamp: Stamp = STAMP, drained_to: int | None = None) -> None:
        weight = sum(message.weight for message in messages)
        self.link.transmit(Transmit(PEER.id, list(messages), stamp, weight=weight, drained_to=drained_to))

    async def arrived(self) -> list[tuple[list[Message], Stamp]]:
        """The frames that came with the next piece, at the peer's end."""
        return [decode_batch(payload)[:2] for payload in self.reader.feed(bytes(await self.theirs.receive_some()))]


def framed(*messages: Message) -> bytes:
    """Messages in one frame."""
    return frame(encode_batch(messages, STAMP))


def bulky(name: str, size: int) -> Message:
    """A message that takes this much on the wire."""
    return CubeHeartbeat(ClusterId(name), bytes(size), b"", complete=True)


# Writing


async def test_what_is_queued_leaves_in_one_piece_and_in_order(nursery: trio.Nursery) -> None:
    """Each transmission under its own stamp."""
    wire = Wire()
    wire.transmit(Ping(), stamp=Stamp(1, 0))
    wire.transmit(Pong(), Ping(), stamp=Stamp(2, 0))
    nursery.start_soon(wire.write)
    assert await wire.arrived() == [([Ping()], Stamp(1, 0)), ([Pong(), Ping()], Stamp(2, 0))]


async def test_the_welcome_goes_before_everything(nursery: trio.Nursery) -> None:
    """Also before what was queued when the link was not yet running."""
    wire = Wire(answer=framed(Pong()))
    wire.transmit(Ping())
    nursery.start_soon(wire.write)
    await trio.testing.wait_all_tasks_blocked()
    assert await wire.arrived() == [([Pong()], STAMP), ([Ping()], STAMP)]


async def test_an_idle_link_sends_at_once(nursery: trio.Nursery) -> None:
    """Nothing is waited for."""
    wire = Wire()
    nursery.start_soon(wire.write)
    for _ in range(3):
        await trio.testing.wait_all_tasks_blocked()
        wire.transmit(Ping())
        assert await wire.arrived() == [([Ping()], STAMP)]


async def test_what_is_too_large_for_a_frame_is_split(nursery: trio.Nursery) -> None:
    """All messages arrive, in their order, under the same stamp."""
    wire = Wire()
    messages = [bulky(str(number), 300_000) for number in range(9)]
    wire.transmit(*messages)
    nursery.start_soon(wire.write)
    arrived = await wire.arrived()
    assert len(arrived) > 9 * 300_000 // PAYLOAD_BYTES_MAX
    assert [message for batch, _ in arrived for message in batch] == messages
    assert {stamp for _, stamp in arrived} == {STAMP}


async def test_a_message_larger_than_a_frame_travels_in_several(nursery: trio.Nursery) -> None:
    """Between the others, in its place; the far side hears it whole."""
    wire = Wire()
    wire.transmit(Ping(), bulky("", 2 * PAYLOAD_BYTES_MAX), Pong())
    nursery.start_soon(wire.write)
    far = Wire()
    nursery.start_soon(far.read)
    await far.theirs.send_all(await wire.theirs.receive_some())
    await trio.testing.wait_all_tasks_blocked()
    assert [type(message) for heard in far.heard for message in heard.messages] == [Ping, CubeHeartbeat, Pong]
    assert far.heard[-1].stamp == STAMP


async def test_a_message_that_nobody_would_take_is_dropped_alone(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    """Counted and logged; the link and what else is on it live on."""
    wire = Wire()
    wire.transmit(Ping(), bulky("", MESSAGE_BYTES_MAX), Pong())
    nursery.start_soon(wire.write)
    assert await wire.arrived() == [([Ping()], STAMP), ([Pong()], STAMP)]
    assert wire.link.counters["messages_too_large"] == 1
    assert "CubeHeartbeat" in caplog.text


async def test_a_line_is_as_fast_as_bytes_go_over_it_and_not_weights() -> None:
    """Small messages weigh more than they are, so that there are not too many of them; a kernel counts bytes."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    heard, news = trio.open_memory_channel[LinkDrained](1)
    async with listener, await trio.testing.open_stream_to_socket_listener(listener) as mine, await listener.accept():
        link = Link(Greeted(PEER, FrameReader(), [], b""), Session(mine, passport_of(PEER.id)))
        messages: list[Message] = [Ping()] * 100
        weight = sum(message.weight for message in messages)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.write, heard.send_nowait)
            nursery.start_soon(link.watch, heard.send_nowait)
            link.transmit(Transmit(PEER.id, messages, STAMP, weight=weight, drained_to=0))
            assert link.committed == weight
            drained = await news.receive()
            assert link.committed == 0
            nursery.cancel_scope.cancel()
    assert (drained.arrived, drained.busy_bytes) == (weight, link.bytes_out)
    assert link.bytes_out < weight // 2


async def test_the_egress_hears_that_a_link_has_drained_if_it_asked_to(nursery: trio.Nursery) -> None:
    """Once for each time it asked, and how fast; where no kernel says more, what is written has arrived."""
    wire = Wire()
    nursery.start_soon(wire.write)
    for sent in (2, 4):
        wire.transmit(Ping())
        await trio.testing.wait_all_tasks_blocked()
        assert wire.drained == []
        wire.transmit(Ping(), drained_to=0)
        await trio.testing.wait_all_tasks_blocked()
        (news,) = wire.drained
        assert (news.arrived, news.busy_bytes) == (sent * Ping().weight, Ping().weight)
        assert news.busy_us > 0
        wire.drained.clear()


async def test_a_link_that_was_never_full_says_nothing_of_its_speed(nursery: trio.Nursery) -> None:
    """How long it was idle would count as the time that it needed; what has arrived is said all the same."""
    wire = Wire()
    nursery.start_soon(wire.write)
    wire.transmit(Ping(), Ping(), drained_to=2 * Ping().weight)
    await trio.testing.wait_all_tasks_blocked()
    assert wire.drained == [LinkDrained(PEER.id, 2 * Ping().weight)]


async def test_what_is_being_written_has_not_left(nursery: trio.Nursery) -> None:
    """So that whoever waits for a link to drain does not cut it in the middle of a frame."""
    wire = Wire(is_lockstep=True)
    wire.transmit(Ping())
    nursery.start_soon(wire.write)
    await trio.testing.wait_all_tasks_blocked()
    assert wire.link.queued == 1
    await wire.arrived()
    await trio.testing.wait_all_tasks_blocked()
    assert wire.link.queued == 0


async def test_a_peer_that_does_not_read_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """A write has the time of a frame."""
    wire = Wire(is_lockstep=True)
    wire.transmit(Ping())
    with pytest.raises(trio.TooSlowError):
        await wire.write()
    assert trio.current_time() == pytest.approx(FRAME_S_MAX)


# Reading


async def test_frames_are_heard_in_order(nursery: trio.Nursery) -> None:
    """Those that came with the handshake first, then the others, in whatever pieces they arrive."""
    wire = Wire(payloads=(encode_batch([Ping()], STAMP),))
    nursery.start_soon(wire.read)
    whole = framed(Pong(), Ping()) + framed(Pong())
    for place in range(len(whole)):
        await wire.theirs.send_all(whole[place : place + 1])
    await trio.testing.wait_all_tasks_blocked()
    heard: list[list[Message]] = [[Ping()], [Pong(), Ping()], [Pong()]]
    assert wire.heard == [Received(PEER, messages, STAMP) for messages in heard]
    assert wire.link.bytes_in == len(whole)


async def test_a_peer_that_hangs_up_ends_the_link_without_an_error() -> None:
    """It may do so at any time."""
    wire = Wire()
    await wire.theirs.send_all(framed(Ping()))
    await wire.theirs.send_eof()
    await wire.read()
    assert wire.heard == [Received(PEER, [Ping()], STAMP)]


@pytest.mark.parametrize(("said", "fault"), [(b"nonsense", FrameError), (frame(b"\xc0"), MalformedMessage)])
async def test_a_peer_that_breaks_the_rules_is_at_fault(said: bytes, fault: type[Exception]) -> None:
    """Bytes that are no frame, and a frame that holds no message of ours."""
    wire = Wire()
    await wire.theirs.send_all(framed(Ping()))
    await trio.testing.wait_all_tasks_blocked()
    await wire.theirs.send_all(said)
    with pytest.raises(fault):
        await wire.read()


async def test_a_frame_that_trickles_is_given_up(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    """A byte now and then does not keep it alive: it must end in its time."""
    wire = Wire()

    async def trickle() -> None:
        for byte in framed(Ping()):
            await wire.theirs.send_all(bytes([byte]))
            await trio.sleep(FRAME_S_MAX / 4)

    nursery.start_soon(trickle)
    with pytest.raises(trio.TooSlowError):
        await wire.read()
    assert trio.current_time() == pytest.approx(FRAME_S_MAX)
    nursery.cancel_scope.cancel()


async def test_each_frame_has_its_own_time(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    """A slow link is not a broken one, also if every piece ends one frame and begins the next."""
    wire = Wire()
    nursery.start_soon(wire.read)
    whole = framed(Ping())
    await wire.theirs.send_all(whole[:5])
    for _ in range(4):
        await trio.sleep(FRAME_S_MAX * 0.9)
        await wire.theirs.send_all(whole[5:] + whole[:5])
    await trio.testing.wait_all_tasks_blocked()
    assert len(wire.heard) == 4
    nursery.cancel_scope.cancel()


async def test_silence_between_frames_is_nobodys_fault(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Whether a silent peer lives is for the core to find out."""
    wire = Wire()
    nursery.start_soon(wire.read)
    await wire.theirs.send_all(framed(Ping()))
    await trio.sleep(100 * FRAME_S_MAX)
    await wire.theirs.send_all(framed(Ping()))
    await trio.testing.wait_all_tasks_blocked()
    assert len(wire.heard) == 2
    nursery.cancel_scope.cancel()


@pytest.fixture
def slow_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer may say a hundred messages a second."""
    monkeypatch.setattr(link, "MESSAGES_PER_S_MAX", 100.0)


@pytest.mark.usefixtures("slow_buckets")
async def test_a_flood_is_slowed_down_and_delays_nobody_else(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """One peer's bucket is empty; the other is heard at once, and so is the first when its bucket has filled again."""
    flood, calm = Wire(), Wire()
    nursery.start_soon(flood.read)
    nursery.start_soon(calm.read)
    await flood.theirs.send_all(framed(*[Ping()] * 150) + framed(Pong()))
    await calm.theirs.send_all(framed(Ping()))
    await trio.testing.wait_all_tasks_blocked()
    assert len(calm.heard) == 1
    assert flood.heard[-1].messages != [Pong()]
    await trio.sleep(0.6)
    assert flood.heard[-1].messages == [Pong()]
    nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("slow_buckets")
async def test_empty_frames_are_a_flood_too(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    """A frame without a message costs us something, and so its sender."""
    wire = Wire()
    nursery.start_soon(wire.read)
    await wire.theirs.send_all(framed() * 150)
    await trio.testing.wait_all_tasks_blocked()
    assert len(wire.heard) < 110
    nursery.cancel_scope.cancel()


async def test_while_nobody_hears_nothing_is_read(nursery: trio.Nursery) -> None:
    """Then the peer's writes wait, and not our memory."""
    wire = Wire(is_lockstep=True)

    async def deaf(_: Received) -> None:
        await trio.sleep_forever()

    nursery.start_soon(wire.link.read, deaf)
    await wire.theirs.send_all(framed(Ping()))
    nursery.start_soon(wire.theirs.send_all, framed(Ping()))
    await trio.testing.wait_all_tasks_blocked()
    assert wire.link.bytes_in == len(framed(Ping()))
    nursery.cancel_scope.cancel()
