"""One owner's stream at a subscription: what of it was taken, and what came before its turn."""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import Contact, Process
from p2psub.model.place_sets import to_bitmap
from p2psub.model.seals import BATCH_MAX
from p2psub.subscriber.checked_parcel import CheckedParcel

_AHEAD_MAX: Final = 1 << 14
"""Numbers that may be taken beyond one that is missing; of those above, only their owner's repetitions tell."""

Early = tuple[Contact, CheckedParcel, int, int]
"""What came before its turn: from whom, in which parcel, which events, and up to which age they are taken."""


class Inflow:
    """The numbers of one stream."""

    __slots__ = ("_beyond", "contiguous", "early", "is_stopped", "owner", "used_tick")

    def __init__(self, owner: Process, tick: int) -> None:
        self.owner = owner
        self.contiguous = 0
        """Everything up to this number was taken, or its owner has settled it."""
        self._beyond = 0
        """Of the numbers after it, those that were taken."""
        self.early: dict[int, Early] = {}
        """Of an ordered subscription: what must wait for an earlier number."""
        self.is_stopped = False
        """Whether its owner was told that there is no room."""
        self.used_tick = tick

    def skip_to(self, settled: int) -> None:
        """The owner waits for nothing up to this number any more."""
        if settled > self.contiguous:
            self._beyond >>= settled - self.contiguous
            self.contiguous = settled
            for number in [number for number in self.early if number <= settled]:
                del self.early[number]
            self._advance()

    def take(self, number: int) -> None:
        """A delivery was taken whole."""
        ahead = number - self.contiguous - 1
        if 0 <= ahead < _AHEAD_MAX:
            self._beyond |= 1 << ahead
            self._advance()

    def _advance(self) -> None:
        in_row = (~self._beyond & self._beyond + 1).bit_length() - 1
        self.contiguous += in_row
        self._beyond >>= in_row

    @property
    def next_early(self) -> int | None:
        """The number whose turn it is now, if it has come before."""
        number = self.contiguous + 1
        return number if number in self.early else None

    @property
    def beyond(self) -> bytes:
        """As far as a message says it."""
        shown = self._beyond & (1 << BATCH_MAX) - 1
        return to_bitmap(shown) if shown else b""
