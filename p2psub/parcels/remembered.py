"""What became of events, remembered for a while as sets of sequence numbers.

A process numbers its events without gaps, and many of them fare alike: they are handed to the same subscription, or
matched with the same ones. A compressed set of such numbers takes less than a byte for each event of a steady stream,
where an entry of its own took hundreds. Time is cut into slices, and a slice is forgotten whole.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

from pyroaring import BitMap

from p2psub.model.ids import EventId, NodeId
from p2psub.model.instants import Micros

L = TypeVar("L")

_SLICES: Final = 8
"""Slices of the span: what is remembered for longer than asked is an eighth of it at most."""
_BITS: Final = 32
"""Of a number in one set."""

_Stream = tuple[NodeId, int, int]
"""A start of a publisher, and the upper bits of its numbers."""


class _Slice(Generic[L]):
    """What was noted within one slice of time."""

    __slots__ = ("began_us", "streams")

    def __init__(self, began_us: Micros) -> None:
        self.began_us = began_us
        self.streams: dict[_Stream, dict[L, BitMap]] = {}


class Remembered(Generic[L]):
    """Events under labels, each for the span at least."""

    __slots__ = ("_slice_us", "_slices", "_span_us")

    def __init__(self, span_us: Micros) -> None:
        self._span_us = span_us
        self._slice_us = max(1, span_us // _SLICES)
        self._slices: deque[_Slice[L]] = deque()

    def note(self, event: EventId, label: L, now: Micros) -> None:
        """Remember an event under a label from now on."""
        if not self._slices or now - self._slices[-1].began_us >= self._slice_us:
            self._slices.append(_Slice(now))
        stream, number = _place_of(event)
        labels = self._slices[-1].streams.setdefault(stream, {})
        numbers = labels.get(label)
        if numbers is None:
            numbers = labels[label] = BitMap()
        numbers.add(number)

    def has(self, event: EventId, label: L) -> bool:
        """Whether the event is remembered under that label."""
        stream, number = _place_of(event)
        for one in self._slices:
            labels = one.streams.get(stream)
            if labels is not None:
                numbers = labels.get(label)
                if numbers is not None and number in numbers:
                    return True
        return False

    def labels_of(self, event: EventId) -> list[L]:
        """All labels under which the event is remembered, the latest last."""
        stream, number = _place_of(event)
        found = [one.streams[stream].items() for one in self._slices if stream in one.streams]
        return [label for labels in found for label, numbers in labels if number in numbers]

    def forget(self, now: Micros) -> None:
        """Let go of slices that are older than the span, to their last event."""
        while self._slices and now - self._slices[0].began_us >= self._span_us + self._slice_us:
            self._slices.popleft()


def _place_of(event: EventId) -> tuple[_Stream, int]:
    number = event.sequence
    return (event.node, event.incarnation, number >> _BITS), number & (1 << _BITS) - 1
