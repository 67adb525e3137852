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
from p2psub.model.place_sets import places_in, runs_of

L = TypeVar("L")

_SLICES: Final = 8
"""Slices of the span: what is remembered for longer than asked is an eighth of it at most."""
_BITS: Final = 32
"""Of a number in one set."""
_MASK: Final = (1 << _BITS) - 1

_Stream = tuple[NodeId, int, int]
"""A start of a publisher, and the upper bits of its numbers."""


class _Slice(Generic[L]):
    """What was noted within one slice of time."""

    __slots__ = ("began_us", "streams")

    def __init__(self, began_us: Micros) -> None:
        self.began_us = began_us
        self.streams: dict[_Stream, dict[L, BitMap]] = {}


class Remembered(Generic[L]):
    """Events under labels, each for the span at least. Events are named by the first of a row, and places in it."""

    __slots__ = ("_slice_us", "_slices", "_span_us")

    def __init__(self, span_us: Micros) -> None:
        self._span_us = span_us
        self._slice_us = max(1, span_us // _SLICES)
        self._slices: deque[_Slice[L]] = deque()

    def note(self, first: EventId, places: int, label: L, now: Micros) -> None:
        """Remember events under a label from now on."""
        if not self._slices or now - self._slices[-1].began_us >= self._slice_us:
            self._slices.append(_Slice(now))
        for stream, number, some in _streams_of(first, places):
            labels = self._slices[-1].streams.setdefault(stream, {})
            numbers = labels.get(label)
            if numbers is None:
                numbers = labels[label] = BitMap()
            for place, count in runs_of(some):
                if count == 1:
                    numbers.add(number + place)
                else:
                    numbers.add_range(number + place, number + place + count)

    def has(self, first: EventId, places: int, label: L) -> int:
        """The places whose events are remembered under that label."""
        found = 0
        for stream, number, some in _streams_of(first, places):
            for one in self._slices:
                labels = one.streams.get(stream)
                numbers = None if labels is None else labels.get(label)
                if numbers is not None:
                    found |= _places_of(numbers, number, some)
        return found

    def labels_of(self, first: EventId, places: int) -> list[tuple[L, int]]:
        """All labels under which some of the events are remembered, each with their places, the latest last."""
        found: list[tuple[L, int]] = []
        for stream, number, some in _streams_of(first, places):
            for one in self._slices:
                for label, numbers in one.streams.get(stream, {}).items():
                    remembered = _places_of(numbers, number, some)
                    if remembered:
                        found.append((label, remembered))
        return found

    def forget(self, now: Micros) -> None:
        """Let go of slices that are older than the span, to their last event."""
        while self._slices and now - self._slices[0].began_us >= self._span_us + self._slice_us:
            self._slices.popleft()


def _streams_of(first: EventId, places: int) -> list[tuple[_Stream, int, int]]:
    """The streams that the events belong to, the number of place 0 in each, which may be negative, and the places."""
    node, incarnation, sequence = first
    upper, number = sequence >> _BITS, sequence & _MASK
    below = _MASK + 1 - number
    if places.bit_length() <= below:
        return [((node, incarnation, upper), number, places)] if places else []
    inside = places & (1 << below) - 1
    beyond = ((node, incarnation, upper + 1), -below, places ^ inside)
    return [((node, incarnation, upper), number, inside), beyond] if inside else [beyond]


def _places_of(numbers: BitMap, number: int, places: int) -> int:
    """Those of the places whose number is in the set."""
    length = places.bit_length()
    count = numbers.range_cardinality(max(0, number), number + length)
    if count == 0:
        return 0
    if count == length:
        return places
    found = 0
    for place in places_in(places):
        if number + place in numbers:
            found |= 1 << place
    return found
