"""First come, first served: the baseline of MTEP's experiments, and the default."""

from __future__ import annotations

from collections import deque

from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.queueing.discipline import Queued


class FirstComeFirstServed:
    """Content leaves in the order in which it came."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()

    def push(self, message: Message, now: Micros) -> None:
        self._waiting.append(Queued(message, now))

    def pop(self, now: Micros) -> Queued:
        return self._waiting.popleft()

    def __len__(self) -> int:
        return len(self._waiting)
