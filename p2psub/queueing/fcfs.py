"""First come, first served: the baseline of MTEP's experiments, and the default."""

from __future__ import annotations

from collections import deque

from p2psub.model.instants import Micros
from p2psub.model.messages import Message


class FirstComeFirstServed:
    """Content leaves in the order in which it came."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()

    def push(self, message: Message, now: Micros) -> None:
        self._waiting.append(message)

    def pop(self, now: Micros) -> Message:
        return self._waiting.popleft()

    def __len__(self) -> int:
        return len(self._waiting)
