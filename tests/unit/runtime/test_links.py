"""One link per peer, whoever dials; every dial is answered once; whatever goes wrong on a link ends that link alone."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from random import Random

import pytest
import trio
import trio.testing

from p2psub.model.effects import Connect, Disconnect, Input, LinkLost, LinkUp, Received, Transmit
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.hello import Hello
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.runtime.handshake import HANDSHAKE_S_MAX
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.link import FIRST_WINDOW_BYTES
from p2psub.runtime.links import CROSSED_S_MAX, DIAL_S_MAX, LinkTable
from p2psub.runtime.transport import Session
from p2psub.wire.codec import encode_batch
from p2psub.wire.framing import frame
from p2psub.wire.version import VERSION
from tests.runtime.memory import OVERLAY, MemoryNetwork, passport_of, self_at
from tests.unit.bench import at, node_at

STAMP = Stamp(5, 0)


class Station:
    """A node without a core: its links, and what they tell."""

    def __init__(self, network: MemoryNetwork, place: int, denied: frozenset[NodeId] = frozenset()) -> None:
        self.contact = at(place)
        self.inbox = Inbox()
        self.transport = network.transport(self.contact)
        self.links = LinkTable(self_at(place), self.transport, self.inbox, denied)

    async def run(self) -> None:
        await self.transport.bind()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.links.run)
            nursery.start_soon(self.transport.serve, self.links.accept)

    def connect(self, other: Station) -> None:
        self.links.connect(Connect(other.contact))

    def say(self, other: Station, *messages: Message) -> None:
        self.links.transmit(Transmit(other.contact.id, list(messages), STAMP))

    async def told(self) -> list[Input]:
        """What the core would have heard since the last time, when nothing moves any more."""
        await trio.testing.wait_all_tasks_blocked()
        return self.inbox.take()

    def up(self) -> LinkUp:
        """What others hear when they are linked with us."""
        return LinkUp(self.contact, FIRST_WINDOW_BYTES)

    def lost(self) -> LinkLost:
        return LinkLost(self.contact.id)

    def said(self, *messages: Message) -> Received:
        return Received(self.contact, list(messages), STAMP)


Stations = Callable[..., Station]


@pytest.fixture
def network() -> MemoryNetwork:
    """Nobody is on it yet."""
    return MemoryNetwork()


@pytest.fixture
async def start(network: MemoryNetwork) -> AsyncIterator[Stations]:
    """Starts stations that run until the test is over."""
    async with trio.open_nursery() as nursery:

        def begin(place: int, *, denied: frozenset[NodeId] = frozenset()) -> Station:
            station = Station(network, place, denied)
            nursery.start_soon(station.run)
            return station

        yield begin
        nursery.cancel_scope.cancel()


async def linked(start: Stations) -> tuple[Station, Station]:
    """Two stations with a link between them."""
    one, two = start(1), start(2)
    await one.told()
    one.connect(two)
    assert await one.told() == [two.up()]
    assert await two.told() == [one.up()]
    return one, two


async def assert_linked(one: Station, two: Station) -> None:
    """What either says, the other hears."""
    one.say(two, Ping())
    two.say(one, Pong())
    assert await two.told() == [one.said(Ping())]
    assert await one.told() == [two.said(Pong())]


# Dialling and accepting


async def test_a_dial_links_both_sides(start: Stations) -> None:
    """Each is told of the other, once, with its first window."""
    one, two = await linked(start)
    await assert_linked(one, two)
    assert [link.peer for link in one.links.open] == [two.contact]


async def test_messages_stay_in_order(start: Stations) -> None:
    """Also over several transmissions."""
    one, two = await linked(start)
    one.say(two, Ping(), Pong())
    one.say(two, Ping())
    assert await two.told() == [one.said(Ping(), Pong()), one.said(Ping())]


async def test_nobody_is_dialled_twice_at_once(start: Stations) -> None:
    """A core that asks again before it was answered gets one answer."""
    one, two = start(1), start(2)
    await one.told()
    one.connect(two)
    one.connect(two)
    assert await one.told() == [two.up()]
    assert one.transport.dialled == 1


async def test_a_link_that_is_up_is_not_dialled(start: Stations) -> None:
    """A core that asks for it is told so."""
    one, two = await linked(start)
    one.connect(two)
    assert await one.told() == [two.up()]
    assert one.transport.dialled == 1


async def test_a_dial_that_fails_is_told_once(start: Stations) -> None:
    """Nobody is there; and later, when somebody is, the next dial finds him."""
    one = start(1)
    await one.told()
    one.links.connect(Connect(at(2)))
    assert await one.told() == [LinkLost(node_at(2))]
    two = start(2)
    await one.told()
    one.connect(two)
    assert await one.told() == [two.up()]


@pytest.mark.parametrize("address", ["nonsense", "", "http://x", "[:1"])
async def test_an_address_that_is_none_fails_that_dial_alone(start: Stations, address: str) -> None:
    """Anybody may tell us one."""
    one, two = await linked(start)
    one.links.connect(Connect(Contact(node_at(9), address)))
    assert await one.told() == [LinkLost(node_at(9))]
    await assert_linked(one, two)


async def test_a_dial_into_nothing_is_given_up(
    start: Stations, network: MemoryNetwork, autojump_clock: trio.testing.MockClock
) -> None:
    """After a few seconds, in which others are dialled."""
    one, two = start(1), start(2)
    await one.told()
    network.hanging.add("host9:1")
    one.links.connect(Connect(at(9)))
    one.connect(two)
    assert await one.told() == [two.up()]
    await trio.sleep(DIAL_S_MAX + 0.1)
    assert await one.told() == [LinkLost(node_at(9))]


async def test_another_node_at_the_address_is_no_link(start: Stations) -> None:
    """Its certificate names somebody else than we wanted."""
    one, two = start(1), start(2)
    await one.told()
    one.links.connect(Connect(Contact(node_at(9), two.contact.address)))
    assert await one.told() == [LinkLost(node_at(9))]
    assert await two.told() == []
    assert one.links.counters["peer_faults"] == 1


async def test_we_are_not_linked_with_ourselves(start: Stations) -> None:
    """Whoever tells us our own address under our own id."""
    one, two = await linked(start)
    one.connect(one)
    assert await one.told() == [one.lost()]
    await assert_linked(one, two)


# Crossing


@pytest.mark.parametrize("seed", range(40))
async def test_crossed_dials_end_in_one_link(seed: int, autojump_clock: trio.testing.MockClock) -> None:
    """Whoever is quicker: both are told of one link, the same one, and never of a loss."""
    rng, network = Random(seed), MemoryNetwork()
    network.delay_s = lambda: rng.choice((0.0, 0.0, 0.001, 0.002))
    one, two = Station(network, 1), Station(network, 2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run)
        nursery.start_soon(two.run)
        await trio.testing.wait_all_tasks_blocked()
        for station, other in rng.sample([(one, two), (two, one)], 2):
            if not station.links.open:
                station.connect(other)
            await trio.sleep(rng.choice((0.0, 0.001)))
        await trio.sleep(10)
        assert (await one.told(), await two.told()) == ([two.up()], [one.up()])
        await assert_linked(one, two)
        nursery.cancel_scope.cancel()


async def test_a_dial_that_never_began_is_called_off(network: MemoryNetwork, start: Stations) -> None:
    """The peer was quicker than our own first try, which then must not happen."""
    one, two = start(1), Station(network, 2)
    async with trio.open_nursery() as nursery:
        await two.transport.bind()
        nursery.start_soon(two.transport.serve, two.links.accept)
        await one.told()
        two.connect(one)
        one.connect(two)
        assert await two.told() == [one.up()]
        nursery.start_soon(two.links.run)
        assert await two.told() == []
        assert await one.told() == [two.up()]
        assert two.transport.dialled == 0
        await assert_linked(one, two)
        nursery.cancel_scope.cancel()


async def test_a_peer_that_we_cannot_reach_can_reach_us(
    start: Stations, network: MemoryNetwork, autojump_clock: trio.testing.MockClock
) -> None:
    """Our own dial into its firewall keeps its dial waiting for a moment only, though ours would stand."""
    one, two = start(1), start(2)
    await one.told()
    network.hanging.add(two.contact.address)
    one.connect(two)
    await trio.testing.wait_all_tasks_blocked()
    two.connect(one)
    assert await two.told() == []
    await trio.sleep(CROSSED_S_MAX + 0.1)
    assert (await one.told(), await two.told()) == ([two.up()], [one.up()])
    await trio.sleep(DIAL_S_MAX)
    await assert_linked(one, two)


async def test_a_peer_is_taken_as_soon_as_our_own_dial_has_failed(
    start: Stations, network: MemoryNetwork, autojump_clock: trio.testing.MockClock
) -> None:
    """It has moved, and our dial went to where it was."""
    one, two = start(1), start(2)
    await one.told()
    network.delay_s = lambda: 0.5
    one.links.connect(Connect(Contact(two.contact.id, "host77:1")))
    await trio.testing.wait_all_tasks_blocked()
    network.delay_s = lambda: 0.0
    two.connect(one)
    await trio.sleep(0.6)
    assert await one.told() == [two.lost(), two.up()]
    assert await two.told() == [one.up()]
    await assert_linked(one, two)


# Replacing


async def test_a_peer_that_comes_again_replaces_its_link(start: Stations) -> None:
    """It was restarted, and we had not noticed: its old link is lost before the new one is up."""
    one, two = await linked(start)
    again = start(1)
    await again.told()
    again.connect(two)
    assert await two.told() == [one.lost(), one.up()]
    assert await again.told() == [two.up()]
    assert await one.told() == [two.lost()]
    await assert_linked(again, two)
    assert len(two.links.open) == 1


async def test_a_replaced_link_is_heard_no_more(start: Stations, network: MemoryNetwork) -> None:
    """What it still had to say belongs to the time before its loss."""
    two = start(2)
    await two.told()
    first, second = await hello(network, 1, two), await hello(network, 1, two)
    with pytest.raises(trio.BrokenResourceError):
        await first.send_all(frame(encode_batch([Ping()], STAMP)))
    await second.send_all(frame(encode_batch([Pong()], STAMP)))
    up, lost = LinkUp(at(1), FIRST_WINDOW_BYTES), LinkLost(node_at(1))
    assert await two.told() == [up, lost, up, Received(at(1), [Pong()], STAMP)]


async def test_of_two_silent_sessions_the_later_one_counts(start: Stations, network: MemoryNetwork) -> None:
    """A peer holds one place before its hello, however many connections it opens."""
    two = start(2)
    await two.told()
    silent = [await call(network, 1, two) for _ in range(20)]
    await trio.testing.wait_all_tasks_blocked()
    for stream in silent[:-1]:
        assert await stream.receive_some() == b""
    await silent[-1].send_all(hello_of(1))
    assert await two.told() == [LinkUp(at(1), FIRST_WINDOW_BYTES)]


# Ending


async def test_a_link_that_ends_is_told_once_on_both_sides(start: Stations) -> None:
    """Whoever hangs up; and then the peer can be dialled again, from either side."""
    one, two = await linked(start)
    for first, second in ((one, two), (two, one)):
        first.links.disconnect(Disconnect(second.contact.id, "enough"))
        assert (await first.told(), await second.told()) == ([second.lost()], [first.lost()])
        assert (first.links.open, second.links.open) == ([], [])
        second.connect(first)
        assert (await first.told(), await second.told()) == ([second.up()], [first.up()])


async def test_disconnecting_nobody_is_nothing(start: Stations) -> None:
    """The link may have ended by itself meanwhile."""
    one = start(1)
    one.links.disconnect(Disconnect(node_at(9), "enough"))
    assert await one.told() == []


async def test_messages_for_nobody_are_counted(start: Stations) -> None:
    """The core has been told of the loss, or will be."""
    one, two = await linked(start)
    one.links.disconnect(Disconnect(two.contact.id, "enough"))
    await one.told()
    one.say(two, Ping(), Ping())
    assert one.links.counters["messages_without_link"] == 2


async def test_messages_put_on_a_link_are_counted(start: Stations) -> None:
    """By those of one transmission; what finds no link is not among them."""
    one, two = await linked(start)
    one.say(two, Ping(), Ping())
    await two.told()
    assert (one.links.counters["messages_sent"], one.links.counters["messages_without_link"]) == (2, 0)


@pytest.mark.parametrize("nonsense", [b"nonsense", frame(b"\xc0"), b"\xc1p\xff\xff\xff\xff\0\0\0\0"])
async def test_a_fault_ends_the_link_of_that_peer_alone(
    start: Stations, network: MemoryNetwork, nonsense: bytes
) -> None:
    """It is counted, and the others notice nothing."""
    one, two = await linked(start)
    liar = await hello(network, 9, two)
    assert await two.told() == [LinkUp(at(9), FIRST_WINDOW_BYTES)]
    await liar.send_all(nonsense)
    assert await two.told() == [LinkLost(node_at(9))]
    assert two.links.counters["peer_faults"] == 1
    await assert_linked(one, two)


class Broken(trio.abc.Stream):
    """A stream under which something fails that nobody has foreseen."""

    def __init__(self, *good: bytes) -> None:
        self._good = list(good)

    async def send_all(self, data: object) -> None:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        if not self._good:
            raise KeyError("unforeseen")
        return self._good.pop(0)

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("not even this")


@pytest.mark.parametrize("is_greeted", [True, False])
async def test_what_nobody_foresaw_ends_one_link_too(
    start: Stations, is_greeted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Reader, writer and closing fail at once, in ways of which we know nothing: we log it, and go on."""
    one, two = await linked(start)
    with caplog.at_level(logging.ERROR):
        two.transport.arrive(Session(Broken(*[hello_of(9)] * is_greeted), passport_of(node_at(9))))
        told = await two.told()
    assert told == [LinkUp(at(9), FIRST_WINDOW_BYTES), LinkLost(node_at(9))] * is_greeted
    assert two.links.counters["link_bugs"] >= 1
    assert "unforeseen" in caplog.text
    await assert_linked(one, two)


async def test_a_session_without_a_hello_is_closed(
    start: Stations, network: MemoryNetwork, autojump_clock: trio.testing.MockClock
) -> None:
    """After the deadline; nobody hears of it but the counters."""
    two = start(2)
    await two.told()
    silent = await call(network, 1, two)
    assert await silent.receive_some() == b""
    assert trio.current_time() == pytest.approx(HANDSHAKE_S_MAX, abs=0.5)
    assert await two.told() == []
    assert two.links.counters["sessions_failed"] == 1


async def test_what_is_queued_may_leave_before_the_end(start: Stations) -> None:
    """A node that stops first says what it has to say."""
    one, two = await linked(start)
    one.say(two, Ping())
    await one.links.flush()
    one.links.disconnect(Disconnect(two.contact.id, "stopping"))
    assert await two.told() == [one.said(Ping()), one.lost()]


async def test_a_peer_that_reads_nothing_does_not_keep_us_from_stopping(
    start: Stations, autojump_clock: trio.testing.MockClock
) -> None:
    """Flushing has an end."""
    one = start(1)
    await one.told()
    mine, theirs = trio.testing.lockstep_stream_pair()
    one.transport.arrive(Session(mine, passport_of(node_at(2))))
    await theirs.send_all(hello_of(2))
    await theirs.receive_some()
    one.links.transmit(Transmit(node_at(2), [Ping()], STAMP))
    began_s = trio.current_time()
    await one.links.flush()
    assert trio.current_time() > began_s


async def test_a_link_that_ends_keeps_nobody_who_flushes(start: Stations, nursery: trio.Nursery) -> None:
    """What was queued on it never leaves."""
    one = start(1)
    await one.told()
    mine, theirs = trio.testing.lockstep_stream_pair()
    one.transport.arrive(Session(mine, passport_of(node_at(2))))
    await theirs.send_all(hello_of(2))
    await theirs.receive_some()
    one.links.transmit(Transmit(node_at(2), [Ping()], STAMP))
    flushed = trio.Event()

    @nursery.start_soon
    async def flush() -> None:
        await one.links.flush()
        flushed.set()

    await trio.testing.wait_all_tasks_blocked()
    assert not flushed.is_set()
    one.links.disconnect(Disconnect(node_at(2), "enough"))
    await flushed.wait()


# Denying


async def test_a_denied_peer_is_neither_dialled_nor_taken(start: Stations) -> None:
    """Though its certificate is valid; the core is answered as for any dial that fails."""
    one, two = start(1, denied=frozenset([node_at(2)])), start(2)
    await one.told()
    one.connect(two)
    assert await one.told() == [two.lost()]
    assert one.transport.dialled == 0
    two.connect(one)
    assert await two.told() == [one.lost()]
    assert await one.told() == []
    assert one.links.counters["peers_denied"] == 2


async def test_a_peer_that_is_denied_later_loses_its_link(start: Stations) -> None:
    """And whoever is not denied any more may come again."""
    one, two = await linked(start)
    one.links.deny(frozenset([node_at(2), node_at(3)]))
    assert (await one.told(), await two.told()) == ([two.lost()], [one.lost()])
    one.links.deny(frozenset())
    one.connect(two)
    assert (await one.told(), await two.told()) == ([two.up()], [one.up()])


async def test_a_peer_that_is_denied_while_it_comes_does_not_arrive(start: Stations, network: MemoryNetwork) -> None:
    """Neither by our dial, which is answered, nor by its own."""
    one = start(1)
    await one.told()
    network.hanging.add("host2:1")
    one.links.connect(Connect(at(2)))
    arriving = await call(network, 3, one)
    assert await one.told() == []
    one.links.deny(frozenset([node_at(2), node_at(3)]))
    assert await one.told() == [LinkLost(node_at(2))]
    assert await arriving.receive_some() == b""


# A peer made by hand


def hello_of(place: int) -> bytes:
    """What the node at this place says first."""
    return frame(encode_batch([Hello(OVERLAY, at(place), 1, VERSION)], Stamp(0, 0)))


async def call(network: MemoryNetwork, place: int, station: Station) -> trio.abc.Stream:
    """A session from the node at this place, which has said nothing yet."""
    return (await network.transport(at(place)).dial(station.contact.address)).stream


async def hello(network: MemoryNetwork, place: int, station: Station) -> trio.abc.Stream:
    """A session from the node at this place, with its link open."""
    stream = await call(network, place, station)
    await stream.send_all(hello_of(place))
    await trio.testing.wait_all_tasks_blocked()
    return stream
