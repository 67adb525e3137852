"""Patterns of LIKE: `%` stands for any text, `_` for one character, matched in time linear in the text.

In a predicate a pattern is *canonical*: a backslash makes the next character stand for itself, and each run of
wildcards is some `_` and then at most one `%`. So equal patterns are equal text, whatever their ESCAPE was.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from p2psub.model.content import Operator

ESCAPE: Final = "\\"


class Wild(enum.Enum):
    """What is not itself in a pattern."""

    ONE = "_"
    ANY = "%"


Item = str | Wild
"""One character that stands for itself, or a wildcard."""


class BadEscape(ValueError):
    """An escape character with nothing to escape; `offset` is its place in the pattern."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def read_pattern(pattern: str, escape: str | None) -> list[Item]:
    """The items of a pattern as its author wrote it; `escape` may only stand before `%`, `_` and itself."""
    items: list[Item] = []
    offset = 0
    while offset < len(pattern):
        char = pattern[offset]
        if char == escape:
            escaped = pattern[offset + 1 : offset + 2]
            if escaped not in ("%", "_", escape):
                raise BadEscape(offset)
            items.append(escaped)
            offset += 2
        else:
            items.append(Wild(char) if char in "%_" else char)
            offset += 1
    return items


def canonical(items: Iterable[Item]) -> str:
    """The one way to write these items with backslashes, whatever the order of neighbouring wildcards."""
    written: list[str] = []
    for is_wild, run in itertools.groupby(items, lambda item: isinstance(item, Wild)):
        if is_wild:
            wilds = list(run)
            written.append("_" * wilds.count(Wild.ONE) + "%" * (Wild.ANY in wilds))
        else:
            written.extend(ESCAPE + str(char) if str(char) in "%_\\" else str(char) for char in run)
    return "".join(written)


def items_of(pattern: str) -> list[Item]:
    """The items of a canonical pattern. A stray backslash, which no parser of ours writes, makes the next one plain."""
    items: list[Item] = []
    chars = iter(pattern)
    for char in chars:
        if char == ESCAPE:
            items.append(next(chars, ESCAPE))
        else:
            items.append(Wild(char) if char in "%_" else char)
    return items


def simpler(items: Sequence[Item]) -> tuple[Operator, str] | None:
    """The plain comparison that a canonical pattern amounts to. `%x%` has none: `contains` is also true of sets."""
    inner = items[:-1] if items and items[-1] is Wild.ANY else items
    if all(isinstance(item, str) for item in inner):
        return Operator.EQUAL if inner is items else Operator.PREFIX, "".join(map(str, inner))
    if items[0] is Wild.ANY and all(isinstance(item, str) for item in items[1:]):
        return Operator.SUFFIX, "".join(map(str, items[1:]))
    return None


class Like:
    """A canonical pattern, ready to be tried on texts."""

    __slots__ = ("_first", "_last", "_length_min", "_middle")

    def __init__(self, pattern: str) -> None:
        segments = [_Segment(items) for items in _split(items_of(pattern))]
        self._first, *self._middle = segments
        self._last = self._middle.pop() if self._middle else None
        self._length_min = sum(segment.length for segment in segments)

    def fits(self, text: str) -> bool:
        """Whether the whole text fits."""
        if len(text) < self._length_min or not self._first.is_at(text, 0):
            return False
        if self._last is None:
            return len(text) == self._length_min
        start, stop = self._first.length, len(text) - self._last.length
        for segment in self._middle:
            # The earliest place is the best one: it leaves most to the segments after it.
            found = segment.find(text, start, stop)
            if found < 0:
                return False
            start = found + segment.length
        return self._last.is_at(text, stop)


def _split(items: Iterable[Item]) -> list[list[Item]]:
    segments: list[list[Item]] = [[]]
    for item in items:
        if item is Wild.ANY:
            segments.append([])
        else:
            segments[-1].append(item)
    return segments


class _Segment:
    """What stands between two `%`: a text of known length with holes."""

    __slots__ = ("_chunks", "_goal", "_holes", "_places", "length")

    def __init__(self, items: Sequence[Item]) -> None:
        self.length = len(items)
        # Offsets and texts between the holes.
        self._chunks: list[tuple[int, str]] = []
        for is_hole, run in itertools.groupby(enumerate(items), lambda pair: pair[1] is Wild.ONE):
            if not is_hole:
                placed = list(run)
                self._chunks.append((placed[0][0], "".join(str(item) for _, item in placed)))
        self._holes = sum(1 << offset for offset, item in enumerate(items) if item is Wild.ONE)
        # Per character the offsets at which it may stand, as bits.
        self._places: dict[str, int] = {}
        for offset, item in enumerate(items):
            if isinstance(item, str):
                self._places[item] = self._places.get(item, self._holes) | 1 << offset
        self._goal = 1 << self.length >> 1

    def is_at(self, text: str, start: int) -> bool:
        """Whether the segment fits the text from `start` on, which has room for it."""
        return all(text.startswith(chunk, start + offset) for offset, chunk in self._chunks)

    def find(self, text: str, start: int, stop: int) -> int:
        """The first place from `start` on where the segment fits before `stop`, or -1."""
        if not self._chunks:
            return start if start + self.length <= stop else -1
        if len(self._chunks) == 1:
            offset, chunk = self._chunks[0]
            found = text.find(chunk, start + offset, stop - (self.length - offset - len(chunk)))
            return found - offset if found >= 0 else -1
        # Shift-and: bit n of the state says that the last n + 1 characters fit the first n + 1 items.
        state = 0
        for place in range(start, stop):
            state = (state << 1 | 1) & self._places.get(text[place], self._holes)
            if state & self._goal:
                return place - self.length + 1
        return -1
