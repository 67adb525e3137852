"""What an application does with a running peer: publish, subscribe, look."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import repeat

import trio
from msgspec.structs import replace

from p2psub.api.bids import Span, bid_of, timeout_us_of
from p2psub.api.errors import AlreadyEnded, why_not_taken
from p2psub.api.items import Gap, Notification
from p2psub.api.status import PeerStatus
from p2psub.api.validation import check_filter, check_order, check_rate, check_replay, check_window, checked_copy
from p2psub.matching.language import parse_filter
from p2psub.model.content import Draft, Filter, Guarantee, Order, Value
from p2psub.model.effects import (
    AdvertiseCommand,
    Notify,
    NotifyGap,
    PublishCommand,
    PublishReply,
    Reply,
    SubscribeCommand,
    UnsubscribeCommand,
    WithdrawCommand,
)
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import PublishOutcome, SubscribeVerdict
from p2psub.runtime.advertisement_handle import AdvertisementHandle
from p2psub.runtime.driver import steady_us
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.pulse import Pulse
from p2psub.runtime.subscription_stream import SubscriptionStream

UNACKNOWLEDGED_MAX = 5_000
"""Publishes under way; more wait for their turn. Half of what the node's outbox takes."""

PACE_EVENTS = 1024
BACKLOG_MAX = 4 * 1024 * 1024
"""Bytes that may wait for the node's links before a publisher waits too: an eighth of one link's queue."""


class _PublishCall:
    """Publishes that one call made together."""

    __slots__ = ("_done", "_missing", "_outcomes")

    def __init__(self, count: int) -> None:
        self._outcomes: dict[int, PublishOutcome] = {}
        self._missing = count
        self._done = trio.Event()

    def take(self, number: int, outcome: PublishOutcome) -> None:
        self._outcomes[number] = outcome
        self._missing -= 1
        if not self._missing:
            self._done.set()

    def end(self) -> None:
        """No further outcome comes."""
        self._done.set()

    async def wait(self) -> list[PublishOutcome]:
        await (self._done.wait() if self._missing else trio.lowlevel.checkpoint())
        if self._missing:
            raise _ended()
        return [self._outcomes[number] for number in sorted(self._outcomes)]


def _ended() -> AlreadyEnded:
    return AlreadyEnded("the block of `open_peer` has ended", "use the peer inside the block")


class Peer:
    """A running peer. Made by `open_peer`; what is asked of it after that block raises AlreadyEnded."""

    def __init__(
        self, inbox: Inbox, status: Callable[[], PeerStatus], backlog: Callable[[], int], pulse: Pulse
    ) -> None:
        self._inbox = inbox
        self._status = status
        self._backlog = backlog
        self._pulse = pulse
        self._is_over = False
        self._number = 0
        self._publishing: dict[int, _PublishCall] = {}
        """By the number of each event's command."""
        self._full = trio.lowlevel.ParkingLot()
        self._advertised: dict[int, AdvertisementHandle] = {}
        self._asked: dict[int, SubscriptionStream] = {}
        self._subscriptions: dict[SubscriptionId, SubscriptionStream] = {}

    # Looking

    def status(self) -> PeerStatus:
        """How the peer is."""
        return self._status()

    @property
    def subscriptions(self) -> tuple[SubscriptionStream, ...]:
        """Those of this process."""
        return tuple(self._subscriptions.values())

    async def wait_ready(self) -> None:
        """Return when the peer stands in its ring and may be used."""
        await self.wait_status(lambda status: status.ready)

    async def wait_status(self, is_wanted: Callable[[PeerStatus], bool]) -> PeerStatus:
        """How the peer is, as soon as that is what is wanted.

        Asked after every step of the node until the peer is ready, then at every tick: a picture of a busy peer costs
        as much as a message.
        """
        await trio.lowlevel.checkpoint()
        while not is_wanted(status := self._status()):
            self._check_open()
            await (self._pulse.wait_tick() if status.ready else self._pulse.wait_step())
        return status

    # Publishing

    async def publish(
        self,
        attributes: Mapping[str, Value],
        *,
        topic: str,
        body: bytes = b"",
        retain_s: float = 0.0,
        guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE,
        timeout: Span | None = None,
    ) -> PublishOutcome:
        """Publish one event; returns when the overlay is responsible for it, with its copies and matches.

        Nobody is given it once it is older than its timeout: seconds, or text such as "40s".
        """
        draft = Draft(topic, dict(attributes), body, retain_s, guarantee, timeout_us_of(timeout))
        (outcome,) = await self.publish_many([draft])
        if outcome.refused is not None:
            raise why_not_taken(topic, outcome.refused)
        return outcome

    async def publish_many(self, drafts: Sequence[Draft]) -> list[PublishOutcome]:
        """Publish many events; the outcomes come in their order, and say which were refused."""
        self._check_open()
        # Copies: who waits for its turn, or for an answer, may use what it handed in for something else.
        drafts = [checked_copy(draft) for draft in drafts]
        publishing = _PublishCall(len(drafts))
        for first in range(0, len(drafts), PACE_EVENTS):
            await self._pace(is_long=first > 0)
            while len(self._publishing) >= UNACKNOWLEDGED_MAX:
                await self._full.park()
                self._check_open()
            some, number = drafts[first : first + PACE_EVENTS], self._number + 1
            self._number += len(some)
            self._publishing |= dict.fromkeys(range(number, number + len(some)), publishing)
            self._inbox.put_nowait(PublishCommand(number, some))
        return await publishing.wait()

    async def _pace(self, *, is_long: bool) -> None:
        """Let the links keep up: what promises nothing is not acknowledged, and would be dropped at a full queue."""
        if is_long:
            await trio.lowlevel.checkpoint()
        while self._backlog() > BACKLOG_MAX:
            await self._pulse.wait_step()
            self._check_open()

    # Advertising

    @asynccontextmanager
    async def advertise(
        self, offered: str | Filter, *, rate: float, params: Mapping[str, Value] | None = None
    ) -> AsyncIterator[AdvertisementHandle]:
        """Say what this peer will publish, at most `rate` events per second, while the block runs.

        Entered once the overlay has taken it. The peer is held to it: an event that the filter takes and that would be
        above the rate is refused as `above_rate`; a second's worth may come at once.
        """
        self._check_open()
        check_rate(rate)
        parsed = check_filter(offered) if isinstance(offered, Filter) else parse_filter(offered, params)
        number = self._next_number()
        advertisement = self._advertised[number] = AdvertisementHandle()
        self._inbox.put_nowait(AdvertiseCommand(number, parsed, rate))
        try:
            await advertisement.wait_accepted()
            yield advertisement
        finally:
            advertisement.end()
            del self._advertised[number]
            self._inbox.put_nowait(WithdrawCommand(number))

    # Subscribing

    @asynccontextmanager
    async def subscribe(
        self,
        wanted: str | Filter,
        *,
        params: Mapping[str, Value] | None = None,
        replay: bool = False,
        window: int = 1024,
        order: str = Order.NONE,
        deadline: Span | None = None,
        price: float = 1.0,
        penalty: float = 0.0,
    ) -> AsyncIterator[SubscriptionStream]:
        """Hold a subscription while the block runs; entered once the overlay has taken it.

        It is given no event that is older than its deadline: seconds, or text such as "40s". Links that are busy carry
        first what earns most: the price of what comes in time, less the penalty of what does not.

        With `order="publisher"` it gets each publisher's events on a topic in the order of publishing. An event that
        comes late all the same, after faults beyond what is promised, comes behind a `Gap` with reason `order`.
        """
        self._check_open()
        check_window(window)
        check_replay(replay)
        chosen, bid = check_order(order), bid_of(deadline, price, penalty)
        parsed = check_filter(wanted) if isinstance(wanted, Filter) else parse_filter(wanted, params)
        number = self._next_number()
        subscription = self._asked[number] = SubscriptionStream(window, self._inbox.put_nowait)
        self._inbox.put_nowait(SubscribeCommand(number, parsed, replay, window, chosen, bid))
        try:
            await subscription.wait_accepted()
            yield subscription
        finally:
            subscription.end()
            if number not in self._asked:
                self._end(subscription)

    def _end(self, subscription: SubscriptionStream) -> None:
        self._subscriptions.pop(subscription.id, None)
        self._inbox.put_nowait(UnsubscribeCommand(self._next_number(), subscription.id))

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _check_open(self) -> None:
        if self._is_over:
            raise _ended()

    def end(self) -> None:
        """The block of `open_peer` has ended: the node answers no more, and no task waits for it."""
        self._is_over = True
        for publishing in self._publishing.values():
            publishing.end()
        for advertisement in self._advertised.values():
            advertisement.end()
        for subscription in (*self._asked.values(), *self._subscriptions.values()):
            subscription.end()
        self._full.unpark_all()
        self._pulse.beat(is_tick=True)

    # From the node

    def replied(self, reply: Reply | PublishReply) -> None:
        """The node answers commands."""
        if isinstance(reply, PublishReply):
            self._published(reply)
        elif isinstance(reply.result, SubscribeVerdict):
            self._judged(reply.number, reply.result)
        else:
            advertisement = self._advertised.get(reply.number)
            if advertisement is not None:
                advertisement.put(reply.result)

    def _published(self, reply: PublishReply) -> None:
        for number, outcome in reply.outcomes:
            self._publishing.pop(number).take(number, outcome)
        if self._full and len(self._publishing) < UNACKNOWLEDGED_MAX:
            self._full.unpark_all()

    def _judged(self, number: int, verdict: SubscribeVerdict) -> None:
        subscription = self._asked.pop(number, None)
        if subscription is not None:
            self._subscriptions[verdict.subscription] = subscription
        known = self._subscriptions.get(verdict.subscription)
        if known is not None:
            known.put(verdict)
            if known.is_over:
                # Given up before there was an answer.
                self._end(known)

    def notified(self, effect: Notify | NotifyGap) -> None:
        """The node hands an event, or word of a gap, to a subscription."""
        subscription = self._subscriptions.get(effect.subscription)
        if subscription is None:
            return
        if isinstance(effect, Notify):
            limits_us = effect.limits_us or repeat(0)
            told = zip(effect.events, effect.born_us, limits_us, strict=False)
            # Copies: the node and the other subscriptions go on with the same events.
            copies = [(replace(event, attributes=event.attributes.copy()), born, limit) for event, born, limit in told]
            subscription.put_many([Notification(event, born, limit, steady_us) for event, born, limit in copies])
        else:
            subscription.put(Gap(effect.count, effect.reason))
