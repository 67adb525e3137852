"""What a subscription and an advertisement have in common for the application that holds one.

Each has a verdict of the overlay, which becomes better while clusters learn of it, and an end: that of its block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import trio

from p2psub.api.errors import AlreadyEnded, Refusal
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import AdvertiseVerdict, SubscribeVerdict, VerdictStatus

Verdict = TypeVar("Verdict", SubscribeVerdict, AdvertiseVerdict)


class Handle(ABC, Generic[Verdict]):
    """Held while its block runs; `verdict` says where it stands by now."""

    def __init__(self) -> None:
        self.is_over = False
        """Its block has ended."""
        self._verdict: Verdict | None = None
        self._news = trio.lowlevel.ParkingLot()

    @property
    @abstractmethod
    def id(self) -> SubscriptionId:
        """Its name in the overlay."""

    @abstractmethod
    def refusal(self) -> Refusal:
        """What the application is told if the overlay refuses it."""

    @property
    def verdict(self) -> Verdict:
        """The overlay's last word on it."""
        assert self._verdict is not None, "asked before there was a verdict"
        return self._verdict

    async def wait_verdict(self, after: Verdict | None = None) -> Verdict:
        """The verdict; with `after`, as soon as it is another one than that. AlreadyEnded if none can come."""
        await trio.lowlevel.checkpoint()
        while self._verdict is None or self._verdict == after:
            await self._wait_news()
        return self._verdict

    async def wait_stable(self) -> Verdict:
        """The verdict, as soon as every cluster knows of it; a refusal is raised."""
        verdict = await self.wait_accepted()
        while verdict.status is not VerdictStatus.STABLE:
            verdict = await self.wait_accepted(verdict)
        return verdict

    async def wait_accepted(self, after: Verdict | None = None) -> Verdict:
        """As `wait_verdict`; but a refusal is raised."""
        verdict = await self.wait_verdict(after)
        if verdict.status is VerdictStatus.REFUSED:
            raise self.refusal()
        return verdict

    def end(self) -> None:
        """The application has left the block: nothing more comes, and no task waits for it."""
        self.is_over = True
        self._news.unpark_all()

    def _judge(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._news.unpark_all()

    async def _wait_news(self) -> None:
        """Wait until something has changed; AlreadyEnded if nothing can."""
        if self.is_over:
            raise AlreadyEnded("the `async with` block has ended", "wait for verdicts and take items inside the block")
        await self._news.park()
