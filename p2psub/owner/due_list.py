"""What is to be looked at, by the tick at which: so no tick walks over everything that is held."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class DueList(Generic[T]):
    """Items under ticks to come. An item may stand under several: its owner knows which of them still counts."""

    def __init__(self) -> None:
        self._by_tick: dict[int, list[T]] = {}
        self._done_tick = 0

    def put(self, tick: int, item: T) -> int:
        """Look at the item at this tick, or at the next if that is over; returns which."""
        tick = max(tick, self._done_tick + 1)
        items = self._by_tick.get(tick)
        if items is None:
            self._by_tick[tick] = [item]
        else:
            items.append(item)
        return tick

    def due(self, tick: int) -> list[tuple[int, T]]:
        """What stands under the ticks up to this one, oldest first."""
        due: list[tuple[int, T]] = []
        for one in range(self._done_tick + 1, tick + 1):
            items = self._by_tick.pop(one, None)
            if items is not None:
                due += [(one, item) for item in items]
        self._done_tick = max(tick, self._done_tick)
        return due
