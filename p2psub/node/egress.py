"""The only sender: every message waits here, in a lane of its link, until the link can take it.

Liveness goes first, and waits for nothing. Then comes control. Content leaves in the order of the link's queue; bulk
gets a tenth of the link while content waits. What a core follows it is told of: that it waits, when it left and how
long the link needs for it, or that it is lost. What the queue does not send any more is answered in its receiver's
stead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, cast

from p2psub.config import EgressConfig
from p2psub.model.effects import Connect, LinkDrained, LinkUp, Transmit
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import SECOND_US, Micros, Stamp
from p2psub.model.messages import Lane, Message
from p2psub.model.messages.liveness import Ping
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.stakes import BYTES_PER_KB, Unsent
from p2psub.model.status import LinkQueueStatus
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.model.ways import NO_WAY, UNCUT_BYTES, Way
from p2psub.node.egress_link import UNKNOWN, EgressLink
from p2psub.node.message_traits import aged, weight_of
from p2psub.node.pace import Pace
from p2psub.node.queued import Content, Queued, waiting_of
from p2psub.queueing.link_queue import LinkQueue

PART_US: Final = SECOND_US // 4
"""So much of a link may take one message that could be several."""
_FIRST: Final = Ping()


_Followed = list[Transmission | None]
"""What becomes of some messages, one after the other."""


class Egress:
    """All links of a node."""

    def __init__(
        self,
        step: Step,
        config: EgressConfig,
        tick_us: Micros,
        beyond: Callable[[NodeId, ClusterId], Way] = lambda _hop, _cluster: NO_WAY,
    ) -> None:
        self._step = step
        self._tick_us = tick_us
        self._config = config
        self._beyond = beyond
        """What is known of the way from a receiver to a cluster."""
        self._links: dict[NodeId, EgressLink] = {}
        self._answers: list[tuple[Contact, Message]] = []
        self.queued_max = 0

    @property
    def queued(self) -> int:
        return sum(link.queued for link in self._links.values())

    @property
    def queued_bytes(self) -> int:
        return sum(link.queued_bytes for link in self._links.values())

    def status(self) -> dict[NodeId, LinkQueueStatus]:
        """What waits for each link that is up."""
        return {peer: self._status(link) for peer, link in self._links.items() if link.is_up}

    def _status(self, link: EgressLink) -> LinkQueueStatus:
        pace, estimate = link.pace, link.pace.estimate
        return LinkQueueStatus(
            discipline=self._config.discipline,
            waiting=link.queued,
            waiting_bytes=link.queued_bytes,
            committed_bytes=pace.under_way,
            window_bytes=pace.window,
            us_per_kb=round(estimate.mean_us_per_kb, 3) if pace.is_known else None,
            deviation_us_per_kb=round(estimate.deviation_us_per_kb, 3) if pace.is_known else None,
        )

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
        """A link with room takes everything, most urgent first; only what exceeds that is queued."""
        link = self._links.get(contact.id) or self._open(contact)
        if not link.is_up or link.queued or link.pace.is_full:
            self._queue(link, messages, followed)
            self._transmit(link, stamp)
            return
        spent = weight_of(messages[0]) if len(messages) == 1 else self._queue_excess(link, messages, followed)
        self._hand_over(link, messages, followed, spent, stamp)

    def _hand_over(
        self, link: EgressLink, messages: list[Message], followed: _Followed | None, spent: int, stamp: Stamp
    ) -> None:
        """Give messages to the driver. What fills the link goes alone, so that no urgent one is held up by it."""
        pace, peer, now = link.pace, link.contact.id, self._step.now
        was_full = pace.is_full
        pace.take(spent)
        is_full = pace.is_full
        if followed is not None:
            for place, transmission in enumerate(followed):
                if transmission is not None and is_full:
                    transmission.wait()
                    link.leaving.append((transmission, messages[place]))
                elif transmission is not None:
                    self._note_left(link, transmission, messages[place])
        if is_full and len(messages) > 1:
            last = weight_of(messages[-1])
            self._show(link, spent - last, stamp, was_full=was_full)
            self._step.effects.append(Transmit(peer, messages[:-1], stamp, now, spent - last))
            messages, spent = messages[-1:], last
        self._show(link, spent, stamp, was_full=was_full)
        drained_to = pace.window // 2 if is_full else None
        self._step.effects.append(Transmit(peer, messages, stamp, now, spent, drained_to))

    def _show(self, link: EgressLink, spent: int, stamp: Stamp, *, was_full: bool) -> None:
        """Send something light ahead of what is heavy, if the receiver has seen nothing light of late."""
        if link.must_show(spent, self._step.now, was_full=was_full):
            link.pace.take(_FIRST.weight)
            self._step.effects.append(Transmit(link.contact.id, [_FIRST], stamp, self._step.now, _FIRST.weight))

    def _note_left(self, link: EgressLink, transmission: Transmission, message: Message) -> None:
        expected_us = link.pace.expected_us(weight_of(message)) if link.pace.is_known else 0
        transmission.leave(self._step.tick, expected_us // self._tick_us)

    def _open(self, contact: Contact) -> EgressLink:
        link = self._links[contact.id] = self._link_to(contact)
        self._step.effects.append(Connect(contact))
        return link

    def _link_to(self, contact: Contact) -> EgressLink:
        config = self._config
        queue = LinkQueue[Queued](config.discipline, UNKNOWN, weight=config.weight, epsilon=config.epsilon)
        return EgressLink(contact, queue)

    def _queue_excess(self, link: EgressLink, messages: list[Message], followed: _Followed | None) -> int:
        """Leave in the lists what the link takes, most urgent first; the bytes of that."""
        if followed is not None:
            order = sorted(range(len(messages)), key=[message.lane for message in messages].__getitem__)
            followed[:] = [followed[place] for place in order]
        messages.sort(key=_lane_of)
        before = under_way = link.pace.under_way
        for count, message in enumerate(messages):
            if under_way >= link.limit(message.lane):
                self._queue(link, messages[count:], None if followed is None else followed[count:])
                del messages[count:]
                if followed is not None:
                    del followed[count:]
                break
            under_way += weight_of(message)
        return under_way - before

    def _queue(self, link: EgressLink, messages: list[Message], followed: _Followed | None) -> None:
        now = self._step.now
        for place, message in enumerate(messages):
            transmission = None if followed is None else followed[place]
            if transmission is not None:
                transmission.wait()
            self._push(link, Queued(message, weight_of(message), now, transmission))
        self.queued_max = max(self.queued_max, link.queued)

    def _push(self, link: EgressLink, queued: Queued) -> None:
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
            beyond = partial(self._beyond, link.contact.id)
            link.content.push(waiting_of(queued, cast("Content", queued.message), beyond), self._step.now)
        else:
            link.bulk.append(queued)
        while is_full:
            given_up = self._give_up(link)
            self._forget(link, given_up)
            self._step.record(Kind.DROP, peer=link.contact.id, reason=Reason.LINK_QUEUE_FULL, count=1)
            is_full = given_up is not queued and link.queued_bytes - queued.weight >= config.queued_bytes_max

    def _give_up(self, link: EgressLink) -> Queued:
        """Bulk is asked for again, and content repeated by those who hold it; without the rest we would look dead."""
        if link.bulk:
            return link.bulk.pop()
        if link.content:
            return link.content.give_up_least_worth(self._step.now).item
        return link.control.pop() if link.control else link.urgent.pop()

    def _forget(self, link: EgressLink, queued: Queued) -> None:
        """It never leaves."""
        link.queued -= 1
        link.queued_bytes -= queued.weight
        if queued.transmission is not None:
            queued.transmission.lose(self._step.tick)

    def _transmit(self, link: EgressLink, stamp: Stamp) -> None:
        if not link.is_up or not link.queued:
            return
        self._expire(link)
        messages: list[Message] = []
        followed: _Followed = []
        now, before = self._step.now, link.pace.under_way
        under_way = before
        while (queued := self._next(link, under_way)) is not None:
            message, waited_us = queued.message, now - queued.since_us
            under_way += queued.weight
            link.queued -= 1
            link.queued_bytes -= queued.weight
            messages.append(aged(message, waited_us) if waited_us else message)
            followed.append(queued.transmission)
        if messages:
            self._hand_over(link, messages, followed, under_way - before, stamp)

    def _next(self, link: EgressLink, under_way: int) -> Queued | None:
        """The next that the link takes with so much under way."""
        if link.urgent:
            return link.urgent.popleft()
        if link.control:
            return link.control.popleft() if under_way < link.limit(Lane.CONTROL) else None
        if under_way >= link.pace.window or not link.queued:
            return None
        return self._next_of_content_and_bulk(link)

    def _next_of_content_and_bulk(self, link: EgressLink) -> Queued:
        """Bulk goes when content has left it its share, or nothing else waits."""
        if link.bulk and (link.bulk_debt >= 1.0 or not link.content):
            link.bulk_debt = 0.0
            return link.bulk.popleft()
        if link.bulk:
            link.bulk_debt += self._config.bulk_share / (1.0 - self._config.bulk_share)
        return link.content.pop(self._step.now).item

    def way_over(self, peer: NodeId) -> Way:
        """How long a link takes, if it was full of late."""
        link = self._links.get(peer)
        return NO_WAY if link is None else link.pace.way(self._step.now)

    def way_now(self, peer: NodeId) -> Way:
        """The same for what would be queued now: it may have to wait for all that waits already."""
        link = self._links.get(peer)
        return NO_WAY if link is None else link.pace.way(self._step.now, link.queued_bytes)

    def part_bytes(self, peer: NodeId, cluster: ClusterId | None) -> int:
        """How much may go in one message to a peer, or by it to a cluster: more would hold up what comes after it."""
        beyond = NO_WAY if cluster is None else self._beyond(peer, cluster)
        slowest = max(self.way_over(peer).mean_us_per_kb, beyond.mean_us_per_kb)
        return max(1, PART_US * BYTES_PER_KB // slowest) if slowest else UNCUT_BYTES

    # Time

    def tick(self) -> None:
        """What is late leaves its queue, also on a link that takes nothing."""
        for link in self._links.values():
            if link.content:
                self._expire(link)

    def _expire(self, link: EgressLink) -> None:
        """By its estimate only if that is of late: else one bad figure would stop all that could correct it."""
        is_told = link.is_up and link.pace.is_fresh(self._step.now)
        for unsent in link.content.expire(self._step.now, by_estimate=is_told):
            self._leave_unsent(link, unsent)

    def _leave_unsent(self, link: EgressLink, unsent: Unsent[Queued]) -> None:
        """Answer in the receiver's stead, unless it may have had these events already: then it alone knows."""
        queued = unsent.waiting.item
        message, content = queued.message, cast("Content", queued.message)
        count = len(content.parcel.events)
        self._step.record(Kind.DROP, peer=link.contact.id, reason=unsent.reason, count=count)
        self._forget(link, queued)
        if queued.transmission is not None and not content.is_repeated:
            answer = message.answer_unsent(Outcome(unsent.reason.value))
            if answer is not None:
                self._answers.append((link.contact, answer))

    def take_answers(self) -> list[tuple[Contact, Message]]:
        """Answers in the stead of receivers that get nothing; said once."""
        answers, self._answers = self._answers, []
        return answers

    # Links

    def link_up(self, news: LinkUp) -> None:
        link = self._links.get(news.peer.id)
        if link is None:
            link = self._links[news.peer.id] = self._link_to(news.peer)
        if not link.is_up:
            # Said twice of one link, the driver's sums go on.
            link.is_up, link.pace = True, Pace(news.window, news.round_trip_us)
            if link.content:
                self._hand_over(link, [_FIRST], None, _FIRST.weight, self._step.stamp())
        self._transmit(link, self._step.stamp())

    def link_drained(self, news: LinkDrained) -> None:
        link = self._links.get(news.peer)
        if link is not None and link.is_up:
            link.pace.drain(news, self._step.now)
            link.tell_estimate(self._step.now)
            self._note_drained(link)
            self._transmit(link, self._step.stamp())

    def _note_drained(self, link: EgressLink) -> None:
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
            self._step.record(Kind.DROP, peer=peer, reason=Reason.LINK_LOST, count=link.queued)
            for queued in self._all_of(link):
                self._forget(link, queued)

    def _all_of(self, link: EgressLink) -> Iterable[Queued]:
        while link.content:
            yield link.content.pop(self._step.now).item
        yield from (*link.urgent, *link.control, *link.bulk)


def _lane_of(message: Message) -> Lane:
    return message.lane
