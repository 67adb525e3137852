"""A subscription as the application holds it: a channel from which items are taken.

An event counts as handed over when it is taken. The node sends no more than the window; what an application has not
taken waits at the event's owner, so a slow application stalls only itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import trio

from p2psub.api.errors import Refusal, SubscriptionRefused
from p2psub.api.items import Gap, Item, Notification
from p2psub.model.effects import ConsumedCommand
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.runtime.handle import Handle

CONSUMED_SHARE = 4
"""The node hears of taken items when the channel is empty, or a quarter of the window was taken."""


class SubscriptionStream(Handle[SubscribeVerdict]):
    """Iterate over it for events and gaps, until it is refused; `verdict` says where it stands by now."""

    def __init__(self, window: int, tell: Callable[[ConsumedCommand], None]) -> None:
        super().__init__()
        self._window = window
        self._tell = tell
        self._items: deque[Item] = deque()
        self._consumed = 0

    @property
    def id(self) -> SubscriptionId:
        return self.verdict.subscription

    def refusal(self) -> Refusal:
        return SubscriptionRefused(self.verdict.reason)

    @property
    def waiting(self) -> int:
        """Items that have arrived and are not taken yet."""
        return len(self._items)

    def put(self, item: Item) -> None:
        """The node hands an item in; verdicts after the first are items too."""
        if self._verdict is not None:
            self._items.append(item)
        if isinstance(item, SubscribeVerdict):
            self._judge(item)
        self._news.unpark_all()

    def put_many(self, notifications: list[Notification]) -> None:
        """The node hands events in."""
        self._items += notifications
        self._news.unpark_all()

    def __aiter__(self) -> SubscriptionStream:
        return self

    async def __anext__(self) -> Notification | Gap:
        while True:
            item = await self.take()
            if not isinstance(item, SubscribeVerdict):
                return item

    async def take(self) -> Item:
        """The next item, also a later verdict, as soon as there is one."""
        await self._wait()
        item = self._items.popleft()
        self._note_consumed(isinstance(item, Notification))
        return item

    def batches(self) -> Batches:
        """Everything that waits, at once and again: the cheap way to take many."""
        return Batches(self)

    async def take_all(self) -> list[Notification | Gap]:
        """All events and gaps that wait, as soon as there is one."""
        while True:
            await self._wait()
            batch = [item for item in self._items if not isinstance(item, SubscribeVerdict)]
            self._items.clear()
            self._note_consumed(sum(isinstance(item, Notification) for item in batch))
            if batch:
                return batch

    async def _wait(self) -> None:
        await trio.lowlevel.checkpoint()
        while not self._items:
            if self._verdict is not None and self._verdict.status is VerdictStatus.REFUSED:
                raise self.refusal()
            await self._wait_news()

    def _note_consumed(self, count: int) -> None:
        self._consumed += count
        if self._consumed and (not self._items or self._consumed * CONSUMED_SHARE >= self._window):
            self._tell(ConsumedCommand(self.id, self._consumed))
            self._consumed = 0


class Batches:
    """Iterate over it for lists of events and gaps."""

    def __init__(self, subscription: SubscriptionStream) -> None:
        self._subscription = subscription

    def __aiter__(self) -> Batches:
        return self

    async def __anext__(self) -> list[Notification | Gap]:
        return await self._subscription.take_all()
