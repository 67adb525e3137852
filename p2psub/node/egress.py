"""The only sender: every message waits here, in a lane of its link, until the link can take it.

Liveness goes first, then control. Content leaves in the order of the link's discipline; bulk gets a tenth of the link while
content waits, and never goes ahead of the first two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from p2psub.config import EgressConfig
from p2psub.model.effects import Connect, Transmit
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages import Lane, Message
from p2psub.model.messages.casts import EventCast
from p2psub.model.messages.pubsub import Deliver, Keep, Publish, Route
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.queueing.discipline import Discipline

_SMALL = 128
"""Guessed size of a message without content."""


@dataclass(slots=True)
class _Link:
    contact: Contact
    content: Discipline
    urgent: deque[Message] = field(default_factory=deque)
    control: deque[Message] = field(default_factory=deque)
    bulk: deque[Message] = field(default_factory=deque)
    is_up: bool = False
    credit: int = 0
    bulk_debt: float = 0.0

    def __len__(self) -> int:
        return len(self.urgent) + len(self.control) + len(self.content) + len(self.bulk)


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
        return sum(len(link) for link in self._links.values())

    def flush(self) -> None:
        """Queue what the cores asked to send in this step, and transmit what the links can take."""
        sends = self._step.sends
        if not sends:
            return
        touched: dict[NodeId, _Link] = {}
        for contact, message in sends:
            link = self._links.get(contact.id)
            if link is None:
                link = self._open(contact)
            self._queue(link, message)
            touched[contact.id] = link
        sends.clear()
        for link in touched.values():
            if link.is_up:
                self._transmit(link)

    def _open(self, contact: Contact) -> _Link:
        link = self._links[contact.id] = _Link(contact, self._discipline())
        self._step.effects.append(Connect(contact))
        return link

    def _queue(self, link: _Link, message: Message) -> None:
        lane = message.lane
        if not link.is_up:
            queued = len(link)
            if queued >= self._config.queued_messages_max:
                self._step.record(Kind.DROP, peer=link.contact.id, reason="link_queue_full", count=1)
                return
            self.queued_max = max(self.queued_max, queued + 1)
        if lane is Lane.LIVENESS:
            link.urgent.append(message)
        elif lane is Lane.CONTROL:
            link.control.append(message)
        elif lane is Lane.CONTENT:
            link.content.push(message, self._step.now)
        else:
            link.bulk.append(message)

    def _transmit(self, link: _Link) -> None:
        messages: list[Message] = []
        for lane in (link.urgent, link.control):
            while lane and link.credit > 0:
                message = lane.popleft()
                link.credit -= _weight(message)
                messages.append(message)
        while link.credit > 0 and (link.content or link.bulk):
            message = self._next_of_content_and_bulk(link)
            link.credit -= _weight(message)
            messages.append(message)
        if messages:
            stamp = self._step.clock.tick(self._step.wall_us)
            self._step.effects.append(Transmit(link.contact.id, messages, stamp))
        left = len(link)
        if left:
            self.queued_max = max(self.queued_max, left)

    def _next_of_content_and_bulk(self, link: _Link) -> Message:
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
        self._transmit(link)

    def link_ready(self, peer: NodeId, credit: int) -> None:
        link = self._links.get(peer)
        if link is not None and link.is_up:
            link.credit = credit
            self._transmit(link)

    def link_lost(self, peer: NodeId) -> None:
        """What waited is lost; whoever asked to send it repeats it if it still matters."""
        link = self._links.pop(peer, None)
        if link is not None and len(link):
            self._step.record(Kind.DROP, peer=peer, reason="link_lost", count=len(link))


def _weight(message: Message) -> int:
    """Roughly the bytes a message takes; the driver's credit is in bytes."""
    if isinstance(message, Publish | Deliver | Route):
        return _SMALL + 64 + len(message.timed.event.body)
    if isinstance(message, EventCast):
        return _SMALL + 128 + len(message.payload.timed.event.body)
    if isinstance(message, Keep):
        return _SMALL * len(message.deeds) + sum(len(deed.timed.event.body) for deed in message.deeds)
    return _SMALL
