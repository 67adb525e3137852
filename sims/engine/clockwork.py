"""Virtual time: what is due when, in one order that depends on nothing but the calls made.

Instants are whole milliseconds. A link, a disk and a timer of a real machine are no finer than that, and inputs that
fall on one instant reach their node in one step, which is where the simulator's speed comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

GRAIN_US: Final = 1000
"""The grain of virtual time."""

Action = tuple[Callable[..., None], tuple[Any, ...]]


class Agenda:
    """Actions by instant; those of one instant are done in the order in which they were planned."""

    __slots__ = ("_buckets", "_instants", "now")

    def __init__(self) -> None:
        self.now = 0
        self._instants: list[int] = []
        self._buckets: dict[int, list[Action]] = {}

    def at(self, instant: int, action: Callable[..., None], *arguments: Any) -> None:
        """Plan an action, rounded up to the grain; the past and the present become the next instant."""
        if instant <= self.now:
            instant = self.now + 1
        instant += -instant % GRAIN_US
        bucket = self._buckets.get(instant)
        if bucket is None:
            self._buckets[instant] = [(action, arguments)]
            heappush(self._instants, instant)
        else:
            bucket.append((action, arguments))

    def after(self, span_us: int, action: Callable[..., None], *arguments: Any) -> None:
        """Plan an action from now."""
        self.at(self.now + span_us, action, *arguments)

    def advance(self, end: int) -> list[Action] | None:
        """Move to the next instant up to `end` at which something is due, and hand out what is; None if nothing is."""
        if not self._instants or self._instants[0] > end:
            self.now = max(self.now, end)
            return None
        self.now = heappop(self._instants)
        return self._buckets.pop(self.now)
