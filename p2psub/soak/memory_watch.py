"""The most that any peer had in memory."""

from __future__ import annotations

import itertools
from typing import Final

import trio

from p2psub.demo.fleet import Fleet

LOOK_EVERY_S: Final = 1.0


class MemoryWatch:
    """Looks at all peers of a fleet, once a second while `run` does."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.mb_max = 0.0

    async def run(self) -> None:
        """Until cancelled."""
        began_s = trio.current_time()
        for look in itertools.count():
            await trio.sleep_until(began_s + look * LOOK_EVERY_S)
            self.mb_max = max(self.mb_max, *(peer.rss_bytes / 1e6 for peer in self._fleet.peers.values()))
