"""The order in which a link's content leaves: one interface, one small sibling per algorithm."""

from __future__ import annotations

from typing import Protocol

from p2psub.model.instants import Micros
from p2psub.model.messages import Message


class Queued:
    """A message, and since when it has waited."""

    __slots__ = ("message", "since_us")

    def __init__(self, message: Message, since_us: Micros) -> None:
        self.message = message
        self.since_us = since_us


class Discipline(Protocol):
    """A queue of one link's content lane."""

    def push(self, message: Message, now: Micros) -> None: ...

    def pop(self, now: Micros) -> Queued: ...

    def __len__(self) -> int: ...
