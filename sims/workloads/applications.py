"""The default load: applications on random peers that publish, subscribe, advertise, and end what they began.

They see what real ones see, replies and notifications, and never the trace. Subscriptions end with the process of
their peer and are made anew elsewhere, so about as many as asked for stand at any time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Final

from p2psub.model.bids import NO_BID, PRICE_ONE, Bid
from p2psub.model.content import Draft, Filter, Guarantee, Order
from p2psub.model.effects import (
    AdvertiseCommand,
    ConsumedCommand,
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
from p2psub.model.instants import SECOND_US
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from sims.engine.host import Host
from sims.engine.world import World
from sims.workloads.load import Load
from sims.workloads.market import TOPICS, draw_attributes, draw_open_filter, draw_pinned_filter

SMALL_WINDOW: Final = 4
"""The channel of a slow application."""
SLOW_TAKE_US_MAX: Final = 400_000
"""How long it takes to take an item: slow enough to fill its channel, quick enough to keep up with its filter."""


@dataclass(slots=True)
class Interest:
    """One subscription, or advertisement, as its application knows it."""

    host: Host
    incarnation: int
    id: SubscriptionId | None = None
    slow: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether the process that asked still runs."""
        return self.host.core is not None and self.host.incarnation == self.incarnation


class Applications:
    """Drives a world between `start` and `stop`."""

    def __init__(self, world: World, load: Load, seed: int) -> None:
        self.published = 0
        self.verdicts: dict[VerdictStatus, int] = {}
        self._world = world
        self._load = load
        self._rng = Random(f"{seed}/load")
        self._bids_rng = Random(f"{seed}/bids")
        """Its own, so that the rest of the load is the same with and without bids."""
        self._numbers = 0
        self._match_index: dict[int, Interest] = {}
        self._by_id: dict[SubscriptionId, Interest] = {}
        self._offers: dict[int, Interest] = {}
        self._until = 0
        world.on_reply.append(self._replied)
        world.on_notify.append(self._notified)

    def start(self, until: int) -> None:
        """Subscribe at once, then publish and churn up to the instant `until`."""
        self._until = until
        for n in range(self._load.subscriptions):
            self._world.agenda.after(n * 20_000, self._subscribe)
        if self._load.events_per_second:
            self._plan(self._load.calls_per_second, 2_000_000, self._publish)
        if self._load.churn_per_second:
            self._plan(self._load.churn_per_second, 4_000_000, self._churn)
        if self._load.advertised_per_second:
            self._plan(self._load.advertised_per_second, 4_000_000, self._advertise_or_withdraw)

    def peers(self) -> list[Host]:
        """Running peers."""
        return [host for host in self._world.hosts if host.core is not None and host.cluster is not None]

    def _plan(self, per_second: float, delay_us: int, action: object) -> None:
        gap = int(self._rng.expovariate(per_second) * 1e6)
        self._world.agenda.after(delay_us + gap, self._do, per_second, action)

    def _do(self, per_second: float, action: object) -> None:
        if self._world.now < self._until and callable(action):
            action()
            self._plan(per_second, 0, action)

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _publish(self) -> None:
        rng, load, peers = self._rng, self._load, self.peers()
        if not peers:
            return
        is_burst = bool(load.burst_share) and rng.random() < load.burst_share
        drafts = [self._draft() for _ in range(rng.randint(2, load.burst_events_max) if is_burst else 1)]
        self.published += len(drafts)
        first = self._numbers + 1
        self._numbers += len(drafts)
        self._world.command(rng.choice(peers), PublishCommand(first, drafts))

    def _draft(self) -> Draft:
        rng, load = self._rng, self._load
        at_most_once = rng.random() < load.at_most_once_share
        return Draft(
            rng.choice(TOPICS),
            draw_attributes(rng),
            rng.randbytes(rng.randint(0, 64) if load.body_bytes is None else load.body_bytes),
            load.retain_us / SECOND_US if rng.random() < load.retained_share else 0.0,
            Guarantee.AT_MOST_ONCE if at_most_once else Guarantee.EFFECTIVELY_ONCE,
            self._limit_us() if self._bids_rng.random() < load.timed_share else 0,
        )

    def _limit_us(self) -> int:
        low, high = math.log(self._load.limit_ms_min), math.log(self._load.limit_ms_max)
        return int(math.exp(self._bids_rng.uniform(low, high)) * 1000)

    def _bid(self) -> Bid:
        rng = self._bids_rng
        if rng.random() >= self._load.priced_share:
            return NO_BID
        deadline_us = self._limit_us() if rng.random() < 0.9 else 0
        return Bid(deadline_us, rng.randint(1, 3) * PRICE_ONE, rng.randint(0, 2) * PRICE_ONE // 10)

    def _subscribe(self) -> None:
        rng, load, peers = self._rng, self._load, self.peers()
        if not peers:
            return
        host = rng.choice(peers)
        number = self._next_number()
        if load.all_share and rng.random() < load.all_share:
            wanted = Filter()
        else:
            wanted = draw_open_filter(rng) if rng.random() < load.open_share else draw_pinned_filter(rng)
        slow = rng.random() < load.slow_share
        replay = rng.random() < load.replay_share
        window = SMALL_WINDOW if slow else 1 << 30
        order = Order.PUBLISHER if rng.random() < load.ordered_share else Order.NONE
        self._match_index[number] = Interest(host, host.incarnation, slow=slow)
        self._world.command(host, SubscribeCommand(number, wanted, replay, window, order, self._bid()))

    def _churn(self) -> None:
        for number in [number for number, interest in self._match_index.items() if not interest.is_alive]:
            del self._match_index[number]
        if len(self._match_index) < self._load.subscriptions:
            # The peers of some have crashed: all of them come back, not one a second.
            for _ in range(self._load.subscriptions - len(self._match_index)):
                self._subscribe()
        elif self._rng.random() < 0.5:
            self._subscribe()
        else:
            self._unsubscribe()

    def _unsubscribe(self) -> None:
        known = [number for number, interest in self._match_index.items() if interest.id is not None]
        if known:
            interest = self._match_index.pop(self._rng.choice(known))
            assert interest.id is not None
            self._by_id.pop(interest.id, None)
            self._world.command(interest.host, UnsubscribeCommand(self._next_number(), interest.id))

    def _advertise_or_withdraw(self) -> None:
        """Advertise a topic at a rate that is sometimes too low for what is published; or end one that stands."""
        rng, peers = self._rng, self.peers()
        self._offers = {number: offer for number, offer in self._offers.items() if offer.is_alive}
        if self._offers and rng.random() < 0.5:
            number = rng.choice(list(self._offers))
            self._world.command(self._offers.pop(number).host, WithdrawCommand(number))
        elif peers:
            host, number = rng.choice(peers), self._next_number()
            self._offers[number] = Interest(host, host.incarnation)
            self._world.command(host, AdvertiseCommand(number, draw_pinned_filter(rng), rng.uniform(0.01, 5.0)))

    def _replied(self, host: Host, reply: Reply | PublishReply) -> None:
        if isinstance(reply, PublishReply) or not isinstance(reply.result, SubscribeVerdict):
            return
        status = reply.result.status
        self.verdicts[status] = self.verdicts.get(status, 0) + 1
        interest = self._match_index.get(reply.number)
        if interest is not None and interest.host is host:
            interest.id = reply.result.subscription
            self._by_id[interest.id] = interest

    def _notified(self, host: Host, item: Notify | NotifyGap) -> None:
        # An item may come before the first verdict; a channel that is not known yet is taken for a slow one.
        interest = self._by_id.get(item.subscription)
        if isinstance(item, Notify) and (interest is None or interest.slow):
            delay_us = self._rng.randint(5_000, SLOW_TAKE_US_MAX)
            consumed = ConsumedCommand(item.subscription, len(item.events))
            self._world.agenda.after(delay_us, self._take, host, host.incarnation, consumed)

    def _take(self, host: Host, incarnation: int, consumed: ConsumedCommand) -> None:
        if host.core is not None and host.incarnation == incarnation:
            self._world.command(host, consumed)
