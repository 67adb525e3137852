"""An advertisement as the application holds it."""

from __future__ import annotations

import trio

from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import AdvertiseVerdict


class Advertisement:
    """Stands while its block runs; `verdict` says who knows of it by now."""

    def __init__(self) -> None:
        self._verdict: AdvertiseVerdict | None = None
        self._judged = trio.lowlevel.ParkingLot()

    @property
    def verdict(self) -> AdvertiseVerdict:
        """The overlay's last word on it."""
        assert self._verdict is not None, "asked before there was a verdict"
        return self._verdict

    @property
    def id(self) -> SubscriptionId:
        """Its name in the overlay."""
        return self.verdict.advertisement

    async def wait_verdict(self, after: AdvertiseVerdict | None = None) -> AdvertiseVerdict:
        """The first verdict; or the first that is news after this one."""
        await trio.lowlevel.checkpoint()
        while self._verdict is None or self._verdict == after:
            await self._judged.park()
        return self._verdict

    def put(self, verdict: AdvertiseVerdict) -> None:
        """The node hands a verdict in."""
        self._verdict = verdict
        self._judged.unpark_all()
