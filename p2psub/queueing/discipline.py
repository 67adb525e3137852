"""The order in which a link's content leaves: one interface, one small sibling per algorithm."""

from __future__ import annotations

from typing import Protocol

from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.transmission import Transmission


class Queued:
    """A message, since when it has waited, and what its core is told of it."""

    __slots__ = ("message", "since_us", "transmission", "weight")

    def __init__(self, message: Message, weight: int, since_us: Micros, transmission: Transmission | None) -> None:
        self.message = message
        self.weight = weight
        self.since_us = since_us
        self.transmission = transmission


class Discipline(Protocol):
    """A queue of one link's content lane."""

    def push(self, queued: Queued, now: Micros) -> None: ...

    def pop(self, now: Micros) -> Queued: ...

    def give_up_least_worth(self, now: Micros) -> Queued:
        """Take out, of a full queue, what is missed least; of equals the one that came last."""
        ...

    def __len__(self) -> int: ...
