"""The only sender: every message waits here, in a lane of its link, until the link can take it.

Liveness goes first, then control. Content leaves in the order of the link's discipline; bulk gets a tenth of the link
while content waits, and never goes ahead of the first two. What a core follows it is told of: that it waits, when it
left and how long the link needs for it, or that it is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from p2psub.config import EgressConfig
from p2psub.model.effects import Connect, Transmit
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Lane, Message
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.node.pace import Pace
from p2psub.queueing.discipline import Discipline, Queued


@dataclass(slots=True)
class _Link:
    contact: Contact
    content: Discipline
    urgent: deque[Queued] = field(default_factory=deque)
    control: deque[Queued] = field(default_factory=deque)
    bulk: deque[Queued] = field(default_factory=deque)
    queued: int = 0
    queued_bytes: int = 0
    is_up: bool = False
    credit: int = 0
    """Bytes it takes before it must drain; none while it is down."""
    bulk_debt: float = 0.0
    pace: Pace = field(default_factory=Pace)
    leaving: list[tuple[Transmission, Message]] = field(default_factory=list)
    """What filled the link: it has left when the link asks for more."""


_Followed = list[Transmission | None]
"""What becomes of some messages, one after the other."""


class Egress:
    """All links of a node."""

    def __init__(self, step: Step, config: EgressConfig, tick_us: Micros, discipline: Callable[[], Discipline]) -> None:
        self._step = step
        self._tick_us = tick_us
        self._config = config
        self._discipline = discipline
        self._links: dict[NodeId, _Link] = {}
        self.queued_max = 0

    @property
    def queued(self) -> int:
        return sum(link.queued for link in self._links.values())

    @property
    def queued_bytes(self) -> int:
        return sum(link.queued_bytes for link in self._links.values())

    def flush(self) -> None:
        """Queue what the cores asked to send in this step, and transmit what the links can take."""
        sends, followed = self._step.sends, self._step.followed
        if not sends:
            return
        stamp = self._step.stamp()
        if len(sends) == 1:
            contact, message = sends.pop()
            self._put(contact, [message], [followed.pop(0, None)] if followed else None, stamp)
            return
        by_peer: dict[NodeId, tuple[Contact, list[Message], _Followed | None]] = {}
        for place, (contact, message) in enumerate(sends):
            gathered = by_peer.get(contact.id)
            if gathered is None:
                gathered = by_peer[contact.id] = (contact, [], [] if followed else None)
            gathered[1].append(message)
            if gathered[2] is not None:
                gathered[2].append(followed.get(place))
        sends.clear()
        followed.clear()
        for contact, messages, of_peer in by_peer.values():
            self._put(contact, messages, of_peer, stamp)

    def _put(self, contact: Contact, messages: list[Message], followed: _Followed | None, stamp: Stamp) -> None:
        """An idle link takes everything, most urgent first; only what exceeds its credit is queued."""
        link = self._links.get(contact.id) or self._open(contact)
        if link.credit <= 0 or link.queued:
            self._queue(link, messages, followed)
            self._transmit(link, stamp)
            return
        before = link.credit
        if len(messages) == 1:
            link.credit -= messages[0].weight
        else:
            self._queue_excess(link, messages, followed)
        self._hand_over(link, messages, followed, before - link.credit, stamp)

    def _hand_over(
        self, link: _Link, messages: list[Message], followed: _Followed | None, spent: int, stamp: Stamp
    ) -> None:
        """Give messages to the driver. What fills the link goes alone, so that no urgent one is held up by it."""
        is_full, peer = link.credit <= 0, link.contact.id
        link.pace.take(spent, self._step.now, is_full)
        for place, transmission in () if followed is None else enumerate(followed):
            if transmission is not None and is_full:
                transmission.wait()
                link.leaving.append((transmission, messages[place]))
            elif transmission is not None:
                self._note_left(link, transmission, messages[place])
        last = 0
        if is_full and len(messages) > 1:
            last = messages[-1].weight
            self._step.effects.append(Transmit(peer, messages[:-1], stamp, spent - last))
        self._step.effects.append(Transmit(peer, messages[-1:] if last else messages, stamp, last or spent))

    def _note_left(self, link: _Link, transmission: Transmission, message: Message) -> None:
        expected_us = link.pace.expected_us(message.weight) if link.pace.is_known else 0
        transmission.leave(self._step.tick, expected_us // self._tick_us)

    def _open(self, contact: Contact) -> _Link:
        link = self._links[contact.id] = _Link(contact, self._discipline())
        self._step.effects.append(Connect(contact))
        return link

    def _queue_excess(self, link: _Link, messages: list[Message], followed: _Followed | None) -> None:
        if followed is not None:
            order = sorted(range(len(messages)), key=[message.lane for message in messages].__getitem__)
            followed[:] = [followed[place] for place in order]
        messages.sort(key=_lane_of)
        credit = link.credit
        for count, message in enumerate(messages, 1):
            credit -= message.weight
            if credit <= 0 and count < len(messages):
                self._queue(link, messages[count:], None if followed is None else followed[count:])
                del messages[count:]
                if followed is not None:
                    del followed[count:]
                break
        link.credit = credit

    def _queue(self, link: _Link, messages: list[Message], followed: _Followed | None) -> None:
        now = self._step.now
        for place, message in enumerate(messages):
            transmission = None if followed is None else followed[place]
            if transmission is not None:
                transmission.wait()
            self._push(link, Queued(message, message.weight, now, transmission))
        self.queued_max = max(self.queued_max, link.queued)

    def _push(self, link: _Link, queued: Queued) -> None:
        """Let it wait; a full queue gives up what is missed least, be it this."""
        config, lane = self._config, queued.message.lane
        is_full = link.queued >= config.queued_messages_max or link.queued_bytes >= config.queued_bytes_max
        link.queued += 1
        link.queued_bytes += queued.weight
        if lane is Lane.LIVENESS:
            link.urgent.append(queued)
        elif lane is Lane.CONTROL:
            link.control.append(queued)
        elif lane is Lane.CONTENT:
            link.content.push(queued, self._step.now)
        else:
            link.bulk.append(queued)
        while is_full:
            given_up = self._give_up(link)
            link.queued -= 1
            link.queued_bytes -= given_up.weight
            self._lose(given_up)
            self._step.record(Kind.DROP, peer=link.contact.id, reason=Reason.LINK_QUEUE_FULL, count=1)
            is_full = given_up is not queued and link.queued_bytes - queued.weight >= config.queued_bytes_max

    def _give_up(self, link: _Link) -> Queued:
        """Bulk is asked for again, and content repeated by those who hold it; without the rest we would look dead."""
        if link.bulk:
            return link.bulk.pop()
        if link.content:
            return link.content.give_up_least_worth(self._step.now)
        return link.control.pop() if link.control else link.urgent.pop()

    def _lose(self, queued: Queued) -> None:
        if queued.transmission is not None:
            queued.transmission.lose(self._step.tick)

    def _transmit(self, link: _Link, stamp: Stamp) -> None:
        messages: list[Message] = []
        followed: _Followed = []
        now, before = self._step.now, link.credit
        while link.credit > 0 and link.queued:
            queued = self._next(link)
            message, waited_us = queued.message, now - queued.since_us
            link.credit -= queued.weight
            link.queued -= 1
            link.queued_bytes -= queued.weight
            messages.append(message.aged(waited_us) if waited_us else message)
            followed.append(queued.transmission)
        if messages:
            self._hand_over(link, messages, followed, before - link.credit, stamp)

    def _next(self, link: _Link) -> Queued:
        if link.urgent:
            return link.urgent.popleft()
        if link.control:
            return link.control.popleft()
        return self._next_of_content_and_bulk(link)

    def _next_of_content_and_bulk(self, link: _Link) -> Queued:
        """Bulk goes when content has left it its share, or nothing else waits."""
        if link.bulk and (link.bulk_debt >= 1.0 or not link.content):
            link.bulk_debt = 0.0
            return link.bulk.popleft()
        if link.bulk:
            link.bulk_debt += self._config.bulk_share / (1.0 - self._config.bulk_share)
        return link.content.pop(self._step.now)

    # Links

    def link_up(self, peer: Contact, credit: int) -> None:
        link = self._links.get(peer.id)
        if link is None:
            link = self._links[peer.id] = _Link(peer, self._discipline())
        link.is_up, link.credit = True, credit
        self._note_drained(link)
        self._transmit(link, self._step.stamp())

    def link_ready(self, peer: NodeId, credit: int) -> None:
        link = self._links.get(peer)
        if link is not None and link.is_up:
            link.credit = credit
            self._note_drained(link)
            self._transmit(link, self._step.stamp())

    def _note_drained(self, link: _Link) -> None:
        link.pace.drain(self._step.now)
        for transmission, message in link.leaving:
            self._note_left(link, transmission, message)
        link.leaving.clear()

    def link_lost(self, peer: NodeId) -> None:
        """What waited is lost; the core that sent it repeats it if it still matters."""
        link = self._links.pop(peer, None)
        if link is None:
            return
        for transmission, _ in link.leaving:
            transmission.lose(self._step.tick)
        if link.queued:
            while link.content:
                self._lose(link.content.pop(self._step.now))
            for queued in (*link.urgent, *link.control, *link.bulk):
                self._lose(queued)
            self._step.record(Kind.DROP, peer=peer, reason=Reason.LINK_LOST, count=link.queued)


def _lane_of(message: Message) -> Lane:
    return message.lane
