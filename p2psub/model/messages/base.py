"""What every message is: a frozen, tagged struct with a lane."""

from __future__ import annotations

import enum
from typing import ClassVar, Final, Self

import msgspec

from p2psub.model.bids import BidSum
from p2psub.model.ids import ClusterId
from p2psub.model.outcomes import Outcome

ClusterBids = tuple[ClusterId | None, tuple[BidSum, ...]]
"""What the subscriptions of a cluster bid; no cluster: those of the receiver itself."""


class Lane(enum.IntEnum):
    """Which queue of a link a message waits in, most urgent first."""

    LIVENESS = 0
    CONTROL = 1
    CONTENT = 2
    BULK = 3


SMALL: Final = 128
"""Guessed size of a message without content."""


HEAD: Final = 20
"""What a message with content takes beside its parts: its name, and a few numbers."""


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """Something one node says to another; on the wire an array that begins with the class's name."""

    lane: ClassVar[Lane] = Lane.CONTROL

    @property
    def weight(self) -> int:
        """Roughly the bytes it takes on a link; those with content know it within a tenth."""
        return SMALL

    @property
    def bid_sums(self) -> tuple[ClusterBids, ...]:
        """What its events would earn, by the cluster beyond its receiver if they go on; nothing if nobody knows yet."""
        return ()

    @property
    def is_sent_late(self) -> bool:
        """Whether it is sent though its time is over, since its receiver alone can say what became of it."""
        return False

    def aged(self, _by_us: int) -> Self:
        """The same after so much waiting; what carries an event grows older."""
        return self

    def answer_unsent(self, _outcome: Outcome) -> Message | None:
        """What its receiver would say if all its events ended so; nothing if nobody waits for an answer."""
        return None
