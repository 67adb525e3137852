"""Links and sessions: latency, loss, duplication, reordering, bandwidth, cuts.

A link is a pair of machines for good; a session is one connection over it, and dies with either process. Faults are
injected above sessions: a message may vanish, repeat or be overtaken though its session lives, which is worse than
TCP and what the cores must bear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import msgspec

from p2psub.errors import PeerFault
from p2psub.model.effects import Connect, Disconnect, LinkLost, LinkReady, LinkUp, Received, Transmit
from p2psub.model.ids import NodeId
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from sims.engine.clockwork import GRAIN_US, Agenda
from sims.engine.host import CoreFault, Host, Power

UNLIMITED_CREDIT = 1 << 40
DIAL_TIMEOUT_US = 3_000_000
"""How long a dial into nothing takes to fail."""
STRAY_MS_MAX = 200
"""How late a repeated or overtaken message may be."""

PENDING, OPEN, CLOSED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class LinkShape:
    """What one pair of machines has between them; `bandwidth` is bytes per second, None without limit."""

    latency_ms: int
    jitter_ms: int
    bandwidth: int | None = None
    loss_factor: float = 1.0


@dataclass(slots=True)
class Weather:
    """How badly all links behave just now; probabilities per message."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0


@dataclass(slots=True)
class Traffic:
    """Counters over a whole run, in messages."""

    sent: int = 0
    received: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    cut: int = 0
    unlinked: int = 0
    stale: int = 0


class Session:
    """One connection between two machines; side 0 dialled. Each side is pending, open or closed by itself."""

    __slots__ = ("arrives", "drained", "hosts", "shape", "states")

    def __init__(self, dialler: Host, acceptor: Host, shape: LinkShape) -> None:
        self.hosts = (dialler, acceptor)
        self.shape = shape
        self.states = [PENDING, PENDING]
        self.arrives = [0, 0]
        """Latest arrival planned at each side: a session keeps its order unless a fault breaks it."""
        self.drained = [0, 0]
        """When each side's sending buffer is empty."""


class Network:
    """Carries what nodes transmit; a host that gets a first input is appended to `touched`, for the world to step."""

    def __init__(
        self,
        agenda: Agenda,
        rng: Random,
        shape_of: Callable[[Host, Host], LinkShape],
        touched: list[Host],
        *,
        recode: Callable[[list[Message]], list[Message]] | None = None,
        recode_every: int = 0,
    ) -> None:
        self.weather = Weather()
        self.traffic = Traffic()
        self.cuts: frozenset[tuple[int, int]] = frozenset()
        self._agenda = agenda
        self._rng = rng
        self._random = rng.random
        self._shape_of = shape_of
        self._hosts: dict[NodeId, Host] = {}
        self._touched = touched
        self._dials = 0
        self._recode = recode
        self._recode_every = recode_every
        self._recode_wait = recode_every

    def attach(self, host: Host) -> None:
        """Make a machine reachable by its id."""
        self._hosts[host.id] = host

    def host_of(self, node: NodeId) -> Host | None:
        """The machine with that id."""
        return self._hosts.get(node)

    # Dialling

    def connect(self, dialler: Host, effect: Connect) -> None:
        """Dial: up at both ends after a round trip, refused after one, or silence."""
        target = effect.contact.id
        if target in dialler.dialing:
            return
        linked = dialler.links.get(target)
        if linked is not None and linked.states[linked.hosts[1] is dialler] == OPEN:
            self._agenda.after(0, self._put, dialler, LinkUp(effect.contact, _credit_of(linked.shape)))
            return
        self._dials += 1
        dialler.dialing[target] = self._dials
        acceptor = self._hosts.get(target)
        if acceptor is None or acceptor is dialler:
            self._agenda.after(DIAL_TIMEOUT_US, self._dial_failed, dialler, target, self._dials)
            return
        shape = self._shape_of(dialler, acceptor)
        self._agenda.after(shape.latency_ms * GRAIN_US, self._accept, dialler, acceptor, shape, self._dials)

    def _accept(self, dialler: Host, acceptor: Host, shape: LinkShape, dial: int) -> None:
        back_us = shape.latency_ms * GRAIN_US
        if acceptor.power is Power.GONE or self._is_cut(dialler, acceptor) or self._is_cut(acceptor, dialler):
            self._agenda.after(DIAL_TIMEOUT_US - back_us, self._dial_failed, dialler, acceptor.id, dial)
            return
        if acceptor.core is None:
            self._agenda.after(back_us, self._dial_failed, dialler, acceptor.id, dial)
            return
        if dialler.dialing.get(acceptor.id) != dial:
            return
        existing = acceptor.links.get(dialler.id)
        if existing is not None:
            if existing.states[existing.hosts[1] is dialler] == OPEN:
                return  # both dialled at once, and the other dial was quicker
            self.hang_up(existing, int(existing.hosts[1] is acceptor))
        session = Session(dialler, acceptor, shape)
        self._open(session, 1)
        arrival = self._agenda.now + back_us
        session.arrives[0] = arrival
        self._agenda.at(arrival, self._accepted, session, dial)

    def _accepted(self, session: Session, dial: int) -> None:
        dialler, acceptor = session.hosts
        if dialler.dialing.get(acceptor.id) != dial or session.states[1] != OPEN:
            session.states[0] = CLOSED
            self._agenda.after(session.shape.latency_ms * GRAIN_US, self.hang_up, session, 1)
            if dialler.dialing.get(acceptor.id) == dial:
                self._dial_failed(dialler, acceptor.id, dial)
            return
        self._open(session, 0)

    def _dial_failed(self, dialler: Host, target: NodeId, dial: int) -> None:
        if dialler.core is not None and dialler.dialing.get(target) == dial:
            del dialler.dialing[target]
            self._put(dialler, LinkLost(target))

    def _open(self, session: Session, side: int) -> None:
        host, peer = session.hosts[side], session.hosts[1 - side]
        session.states[side] = OPEN
        host.links[peer.id] = session
        host.dialing.pop(peer.id, None)
        self._put(host, LinkUp(peer.contact, _credit_of(session.shape)))

    # Ending

    def disconnect(self, host: Host, effect: Disconnect) -> None:
        """Close our side; the other side hears of it unless it is cut off."""
        host.dialing.pop(effect.peer, None)
        session = host.links.pop(effect.peer, None)
        if session is not None:
            self._close(session, int(session.hosts[1] is host), tell=True)

    def drop_all(self, host: Host, *, tell: bool) -> None:
        """The process ended: its side of every session is closed, and the peers hear of it if `tell`."""
        for session in host.links.values():
            self._close(session, int(session.hosts[1] is host), tell=tell)
        host.links.clear()
        host.dialing.clear()

    def _close(self, session: Session, side: int, *, tell: bool) -> None:
        session.states[side] = CLOSED
        host, peer = session.hosts[side], session.hosts[1 - side]
        if tell and not self._is_cut(host, peer):
            arrival = max(session.arrives[1 - side], self._agenda.now + session.shape.latency_ms * GRAIN_US)
            self._agenda.at(arrival, self.hang_up, session, 1 - side)

    def hang_up(self, session: Session, side: int) -> None:
        """One side learns that its session is over."""
        if session.states[side] != OPEN:
            return
        session.states[side] = CLOSED
        host, peer = session.hosts[side], session.hosts[1 - side]
        if host.links.get(peer.id) is session:
            del host.links[peer.id]
        self._put(host, LinkLost(peer.id))

    # Carrying

    def transmit(self, host: Host, effect: Transmit) -> None:
        """Carry messages over an open link, as one arrival."""
        messages = effect.messages
        self.traffic.sent += len(messages)
        session = host.links.get(effect.peer)
        if session is None:
            self.traffic.unlinked += len(messages)
            return
        to = 1 if session.hosts[0] is host else 0
        if self.cuts and (host.index, session.hosts[to].index) in self.cuts:
            self.traffic.cut += len(messages)
            return
        if self._recode_every:
            self._recode_wait -= 1
            if not self._recode_wait:
                messages = self._recoded(host, messages)
        shape = session.shape
        now = self._agenda.now
        if shape.bandwidth is not None:
            now = self._drain(session, 1 - to, messages, shape.bandwidth)
        arrival = now + (shape.latency_ms + int(self._random() * (shape.jitter_ms + 1))) * GRAIN_US
        if arrival < session.arrives[to]:
            arrival = session.arrives[to]
        session.arrives[to] = arrival
        weather = self.weather
        if weather.loss or weather.duplicate or weather.reorder:
            messages, arrival = self._suffer(session, to, messages, effect.stamp, arrival)
            if not messages:
                return
        self._agenda.at(arrival, self._arrive, session, to, messages, effect.stamp)

    def _arrive(self, session: Session, to: int, messages: list[Message], stamp: Stamp) -> None:
        host = session.hosts[to]
        if session.states[to] != OPEN:
            self.traffic.stale += len(messages)
            self._bounce(session, to)
            return
        self.traffic.received += len(messages)
        if not host.inbox:
            self._touched.append(host)
        host.inbox.append(Received(session.hosts[1 - to].contact, messages, stamp))

    def _bounce(self, session: Session, to: int) -> None:
        """A machine that knows nothing of the session says so, if it can."""
        host, sender = session.hosts[to], session.hosts[1 - to]
        if host.power is not Power.GONE and not self._is_cut(host, sender):
            self._agenda.after(session.shape.latency_ms * GRAIN_US, self.hang_up, session, 1 - to)

    def _suffer(
        self, session: Session, to: int, messages: list[Message], stamp: Stamp, arrival: int
    ) -> tuple[list[Message], int]:
        weather, traffic, random = self.weather, self.traffic, self._random
        if weather.duplicate:
            again = [message for message in messages if random() < weather.duplicate]
            if again:
                traffic.duplicated += len(again)
                self._agenda.at(arrival + self._stray_us(), self._arrive, session, to, again, stamp)
        if weather.loss:
            loss = weather.loss * session.shape.loss_factor
            kept = [message for message in messages if random() >= loss]
            traffic.lost += len(messages) - len(kept)
            messages = kept
        if weather.reorder and random() < weather.reorder:
            traffic.reordered += len(messages)
            arrival += self._stray_us()
        return messages, arrival

    def _stray_us(self) -> int:
        return int(self._random() * STRAY_MS_MAX) * GRAIN_US

    def _drain(self, session: Session, side: int, messages: list[Message], bandwidth: int) -> int:
        """When a limited link has sent these messages; it asks for more once it has sent everything."""
        start = max(session.drained[side], self._agenda.now)
        done = start + len(msgspec.msgpack.encode(messages)) * 1_000_000 // bandwidth
        session.drained[side] = done
        self._agenda.at(done, self._drained, session, side)
        return done

    def _drained(self, session: Session, side: int) -> None:
        if session.states[side] == OPEN and session.drained[side] <= self._agenda.now:
            self._put(session.hosts[side], LinkReady(session.hosts[1 - side].id, _credit_of(session.shape)))

    def _recoded(self, host: Host, messages: list[Message]) -> list[Message]:
        """The messages as the other side would decode them; a node must send only what survives that."""
        assert self._recode is not None
        self._recode_wait = self._recode_every
        try:
            again = self._recode(messages)
            assert again == messages, f"the codec made {again}"
        except (PeerFault, AssertionError) as error:
            raise CoreFault(host, self._agenda.now, AssertionError(f"{error} out of {messages}")) from error
        return again

    def _is_cut(self, sender: Host, receiver: Host) -> bool:
        return (sender.index, receiver.index) in self.cuts

    def _put(self, host: Host, item: LinkUp | LinkLost | LinkReady) -> None:
        if host.core is None:
            return
        if not host.inbox:
            self._touched.append(host)
        host.inbox.append(item)


def _credit_of(shape: LinkShape) -> int:
    """What a link takes before it must drain: two round trips' worth, and never less than one big frame."""
    if shape.bandwidth is None:
        return UNLIMITED_CREDIT
    return max(64 * 1024, shape.bandwidth * shape.latency_ms * 4 // 1000)
