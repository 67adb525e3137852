"""The only sender: every message waits here, in a lane of its link, until the link can take it.

Liveness goes first, then control. Content leaves in the order of the link's discipline; bulk gets a tenth of the link
while content waits, and never goes ahead of the first two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from p2psub.config import EgressConfig
from p2psub.model.effects import Connect, Transmit
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import Stamp
from p2psub.model.messages import Lane, Message
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
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


class Egress:
    """All links of a node."""

    def __init__(self, step: Step, config: EgressConfig, discipline: Callable[[], Discipline]) -> None:
        self._step = step
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
        sends = self._step.sends
        if not sends:
            return
        stamp = self._step.stamp()
        if len(sends) == 1:
            contact, message = sends.pop()
            self._put(contact, [message], stamp)
            return
        by_peer: dict[NodeId, tuple[Contact, list[Message]]] = {}
        for contact, message in sends:
            gathered = by_peer.get(contact.id)
            if gathered is None:
                by_peer[contact.id] = (contact, [message])
            else:
                gathered[1].append(message)
        sends.clear()
        for contact, messages in by_peer.values():
            self._put(contact, messages, stamp)

    def _put(self, contact: Contact, messages: list[Message], stamp: Stamp) -> None:
        """An idle link takes everything, most urgent first; only what exceeds its credit is queued."""
        link = self._links.get(contact.id) or self._open(contact)
        if link.credit <= 0 or link.queued:
            self._queue(link, messages)
            self._transmit(link, stamp)
            return
        before = link.credit
        if len(messages) == 1:
            link.credit -= messages[0].weight
        else:
            self._queue_excess(link, messages)
        self._step.effects.append(Transmit(contact.id, messages, stamp, before - link.credit))

    def _open(self, contact: Contact) -> _Link:
        link = self._links[contact.id] = _Link(contact, self._discipline())
        self._step.effects.append(Connect(contact))
        return link

    def _queue_excess(self, link: _Link, messages: list[Message]) -> None:
        messages.sort(key=_lane_of)
        credit = link.credit
        for count, message in enumerate(messages, 1):
            credit -= message.weight
            if credit <= 0 and count < len(messages):
                self._queue(link, messages[count:])
                del messages[count:]
                break
        link.credit = credit

    def _queue(self, link: _Link, messages: list[Message]) -> None:
        now = self._step.now
        for message in messages:
            if link.queued >= self._config.queued_messages_max or link.queued_bytes >= self._config.queued_bytes_max:
                self._step.record(Kind.DROP, peer=link.contact.id, reason=Reason.LINK_QUEUE_FULL, count=1)
                continue
            link.queued += 1
            link.queued_bytes += message.weight
            lane = message.lane
            if lane is Lane.LIVENESS:
                link.urgent.append(Queued(message, now))
            elif lane is Lane.CONTROL:
                link.control.append(Queued(message, now))
            elif lane is Lane.CONTENT:
                link.content.push(message, now)
            else:
                link.bulk.append(Queued(message, now))
        self.queued_max = max(self.queued_max, link.queued)

    def _transmit(self, link: _Link, stamp: Stamp) -> None:
        messages: list[Message] = []
        now, before = self._step.now, link.credit
        while link.credit > 0 and link.queued:
            queued = self._next(link)
            message, waited_us = queued.message, now - queued.since_us
            weight = message.weight
            link.credit -= weight
            link.queued -= 1
            link.queued_bytes -= weight
            messages.append(message.aged(waited_us) if waited_us else message)
        if messages:
            self._step.effects.append(Transmit(link.contact.id, messages, stamp, before - link.credit))

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
        self._transmit(link, self._step.stamp())

    def link_ready(self, peer: NodeId, credit: int) -> None:
        link = self._links.get(peer)
        if link is not None and link.is_up:
            link.credit = credit
            self._transmit(link, self._step.stamp())

    def link_lost(self, peer: NodeId) -> None:
        """What waited is lost; the core that sent it repeats it if it still matters."""
        link = self._links.pop(peer, None)
        if link is not None and link.queued:
            self._step.record(Kind.DROP, peer=peer, reason=Reason.LINK_LOST, count=link.queued)


def _lane_of(message: Message) -> Lane:
    return message.lane
