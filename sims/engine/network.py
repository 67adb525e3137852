"""Links and sessions: latency, loss, duplication, reordering, bandwidth, cuts.

A link is a pair of machines for good; a session is one connection over it, and dies with either process. Faults are
injected above sessions: a message may vanish, repeat or be overtaken though its session lives, which is worse than
TCP and what the cores must bear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import msgspec

from p2psub.errors import PeerFault
from p2psub.model.effects import Connect, Disconnect, LinkDrained, LinkLost, LinkUp, Received, Transmit
from p2psub.model.ids import NodeId
from p2psub.model.messages import Message
from sims.engine.carried import Carriage
from sims.engine.clockwork import GRAIN_US, Agenda
from sims.engine.host import CoreFault, Host, Power

UNLIMITED: Final = 1 << 40
DIAL_TIMEOUT_US: Final = 3_000_000
"""How long a dial into nothing takes to fail."""
STRAY_MS_MAX: Final = 200
"""How late a repeated or overtaken message may be."""

PENDING: Final = 0
OPEN: Final = 1
CLOSED: Final = 2


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


class End:
    """One end of a session, which has two; each is pending, open or closed by itself."""

    __slots__ = ("arrives", "beat_us", "drained", "drained_to", "far", "full_since", "host", "shape", "state", "taken")

    far: End

    def __init__(self, host: Host, shape: LinkShape) -> None:
        self.host = host
        self.shape = shape
        self.state = PENDING
        self.arrives = 0
        """Latest arrival planned here: a session keeps its order unless a fault breaks it."""
        self.drained = 0
        """When our sending buffer is empty."""
        self.drained_to: int | None = None
        """Its node wants to hear as soon as no more bytes than this are in there."""
        self.full_since: tuple[int, int] | None = None
        """When there were more, and what had left until then."""
        self.taken = 0
        """All that was put into the sending buffer."""
        self.beat_us = -1
        """When the last heartbeat came."""


def _session(dialler: Host, acceptor: Host, shape: LinkShape) -> tuple[End, End]:
    """Both ends of a new connection between two machines."""
    near, far = End(dialler, shape), End(acceptor, shape)
    near.far, far.far = far, near
    return near, far


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
        self.carriage = Carriage()
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
        # Bound once: it is planned for every transmission.
        self._arrival: Callable[[End, Received], None] = self._arrive

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
        if linked is not None and linked.state == OPEN:
            self._agenda.after(0, self._put, dialler, _up(linked))
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
            if existing.far.state == OPEN:
                return  # both dialled at once, and the other dial was quicker
            self.hang_up(existing)
        near, far = _session(dialler, acceptor, shape)
        self._open(far)
        near.arrives = self._agenda.now + back_us
        self._agenda.at(near.arrives, self._accepted, near, dial)

    def _accepted(self, near: End, dial: int) -> None:
        dialler, acceptor = near.host, near.far.host
        if dialler.dialing.get(acceptor.id) != dial or near.far.state != OPEN:
            near.state = CLOSED
            self._agenda.after(near.shape.latency_ms * GRAIN_US, self.hang_up, near.far)
            if dialler.dialing.get(acceptor.id) == dial:
                self._dial_failed(dialler, acceptor.id, dial)
            return
        self._open(near)

    def _dial_failed(self, dialler: Host, target: NodeId, dial: int) -> None:
        if dialler.core is not None and dialler.dialing.get(target) == dial:
            del dialler.dialing[target]
            self._put(dialler, LinkLost(target))

    def _open(self, end: End) -> None:
        host, peer = end.host, end.far.host
        end.state = OPEN
        host.links[peer.id] = end
        host.dialing.pop(peer.id, None)
        self._put(host, _up(end))

    # Ending

    def disconnect(self, host: Host, effect: Disconnect) -> None:
        """Close our end; the other one hears of it unless it is cut off."""
        host.dialing.pop(effect.peer, None)
        end = host.links.pop(effect.peer, None)
        if end is not None:
            self._close(end, tell=True)

    def drop_all(self, host: Host, *, tell: bool) -> None:
        """The process ended: its end of every session is closed, and the peers hear of it if `tell`."""
        for end in host.links.values():
            self._close(end, tell=tell)
        host.links.clear()
        host.dialing.clear()

    def _close(self, end: End, *, tell: bool) -> None:
        end.state = CLOSED
        if tell and not self._is_cut(end.host, end.far.host):
            arrival = max(end.far.arrives, self._agenda.now + end.shape.latency_ms * GRAIN_US)
            self._agenda.at(arrival, self.hang_up, end.far)

    def hang_up(self, end: End) -> None:
        """One end learns that its session is over."""
        if end.state != OPEN:
            return
        end.state = CLOSED
        host, peer = end.host, end.far.host
        if host.links.get(peer.id) is end:
            del host.links[peer.id]
        self._put(host, LinkLost(peer.id))

    # Carrying

    def transmit(self, host: Host, effect: Transmit) -> None:
        """Carry messages over an open link, as one arrival."""
        messages, traffic = effect.messages, self.traffic
        traffic.sent += len(messages)
        end = host.links.get(effect.peer)
        if end is None:
            traffic.unlinked += len(messages)
            return
        far, shape = end.far, end.shape
        # Also what is cut off afterwards leaves, and makes room for more.
        sent = self._agenda.now if shape.bandwidth is None else self._drain(end, effect, shape.bandwidth)
        if self.cuts and self._is_cut(host, far.host):
            traffic.cut += len(messages)
            return
        self.carriage.sent(host.index, far.host.index, messages)
        if self._recode_every:
            self._recode_wait -= 1
            if not self._recode_wait:
                messages = self._recoded(host, messages)
        arrival = sent + (shape.latency_ms + int(self._random() * (shape.jitter_ms + 1))) * GRAIN_US
        if arrival < far.arrives:
            arrival = far.arrives
        far.arrives = arrival
        received = Received(host.contact, messages, effect.stamp, effect.sent_us)
        weather = self.weather
        if weather.loss or weather.duplicate or weather.reorder:
            self._suffer(far, received, arrival)
        else:
            self._agenda.at(arrival, self._arrival, far, received)

    def _arrive(self, end: End, received: Received) -> None:
        messages = received.messages
        if end.state != OPEN:
            self.traffic.stale += len(messages)
            self._bounce(end)
            return
        self.traffic.received += len(messages)
        end.beat_us = self.carriage.arrived(end.beat_us, self._agenda.now, messages)
        inbox = end.host.inbox
        if not inbox:
            self._touched.append(end.host)
        inbox.append(received)

    def _bounce(self, end: End) -> None:
        """A machine that knows nothing of the session says so, if it can."""
        host, sender = end.host, end.far.host
        if host.power is not Power.GONE and not self._is_cut(host, sender):
            self._agenda.after(end.shape.latency_ms * GRAIN_US, self.hang_up, end.far)

    def _suffer(self, end: End, received: Received, arrival: int) -> None:
        """What the weather does to messages on their way to `end`: repeats, loses, delays."""
        weather, traffic, random = self.weather, self.traffic, self._random
        peer, messages, stamp, sent_us = received.peer, received.messages, received.stamp, received.sent_us
        if weather.duplicate:
            again = [message for message in messages if random() < weather.duplicate]
            if again:
                traffic.duplicated += len(again)
                self._agenda.at(arrival + self._stray_us(), self._arrive, end, Received(peer, again, stamp, sent_us))
        if weather.loss:
            loss = weather.loss * end.shape.loss_factor
            kept = [message for message in messages if random() >= loss]
            traffic.lost += len(messages) - len(kept)
            messages = kept
        if weather.reorder and random() < weather.reorder:
            traffic.reordered += len(messages)
            arrival += self._stray_us()
        if messages:
            self._agenda.at(arrival, self._arrive, end, Received(peer, messages, stamp, sent_us))

    def _stray_us(self) -> int:
        return int(self._random() * STRAY_MS_MAX) * GRAIN_US

    def _drain(self, end: End, effect: Transmit, bandwidth: int) -> int:
        """When a limited link has sent these messages."""
        now = self._agenda.now
        size_bytes = len(msgspec.msgpack.encode(effect.messages))
        end.drained = max(end.drained, now) + size_bytes * 1_000_000 // bandwidth
        end.taken += effect.weight
        if effect.drained_to is not None:
            end.drained_to = effect.drained_to
            heard = end.drained - effect.drained_to * 1_000_000 // bandwidth
            if end.full_since is None and heard > now:
                end.full_since = now, end.taken - self._under_way(end, bandwidth)
            self._agenda.at(max(now, heard), self._drained, end)
        return end.drained

    def _under_way(self, end: End, bandwidth: int) -> int:
        return max(0, end.drained - self._agenda.now) * bandwidth // 1_000_000

    def _drained(self, end: End) -> None:
        if end.state == OPEN and end.drained_to is not None and end.shape.bandwidth is not None:
            under_way = self._under_way(end, end.shape.bandwidth)
            if under_way <= end.drained_to:
                arrived, busy_us, busy_bytes = end.taken - under_way, 0, 0
                if end.full_since is not None:
                    since, arrived_then = end.full_since
                    busy_us, busy_bytes = self._agenda.now - since, arrived - arrived_then
                end.drained_to = end.full_since = None
                self._put(end.host, LinkDrained(end.far.host.id, arrived, busy_us, busy_bytes))

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

    def _put(self, host: Host, item: LinkUp | LinkLost | LinkDrained) -> None:
        if host.core is None:
            return
        if not host.inbox:
            self._touched.append(host)
        host.inbox.append(item)


def _up(end: End) -> LinkUp:
    """A tenth of a second may be under way before anything else is known of the link."""
    shape = end.shape
    window = UNLIMITED if shape.bandwidth is None else max(1, shape.bandwidth // 10)
    return LinkUp(end.far.host.contact, window, round_trip_us=2 * shape.latency_ms * GRAIN_US)
