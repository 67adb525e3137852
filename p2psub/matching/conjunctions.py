"""Conjunctions as rows: what is filed, what becomes a span, what is left to be tried one by one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final

from p2psub.matching.axes import Axes
from p2psub.matching.bitmaps import Bitmaps, Segment
from p2psub.matching.buckets import Buckets, RowNumber, TriedBuckets
from p2psub.matching.filing import Filing, Hashed, rarest
from p2psub.matching.rows import Rows
from p2psub.matching.sizes import Sizes
from p2psub.matching.spans import CHECKSUM, Kind, span_of
from p2psub.matching.store import NO_REST, PredicateStore
from p2psub.model.content import TOPIC, Operator, Predicate

Term = Sequence[Predicate]
_INFINITY: Final = math.inf


PlacedSpan = tuple[int, str, Kind, float, float]
"""How much it lets through, roughly: a point 0, a range 1, all on one side 2; of texts, which must be tried
besides, 3. Then attribute and kind of the axis, and both ends."""


Split = tuple[list[PlacedSpan], list[Predicate]]
"""A conjunction: spans, the most telling first, and predicates that must be tried besides."""


class Conjunctions:
    """All rows, and every structure that leads to them."""

    __slots__ = ("_sizes", "always", "axes", "bitmaps", "filing", "lacking", "rows", "store")

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self.rows = Rows()
        self.store = PredicateStore()
        self.filing = Filing(self.rows.positions, sizes.members_max)
        self.axes = Axes(self.filing, sizes.axes_max)
        self.bitmaps = Bitmaps(self.rows.positions, sizes)
        self.always = Buckets("", self.rows.positions)
        self.lacking = TriedBuckets("", self.rows.positions)
        """Under predicates that hold where their attribute is missing."""

    def file(self, term: Term) -> list[RowNumber]:
        """The rows of a conjunction of defined predicates: mostly one, none if nothing can satisfy it."""
        hashed = self.filing.hashed(term)
        if hashed is not None and hashed[0] < self._sizes.hashed_max:
            return self._file_hashed(hashed, term)
        split = self._split(term, self._sizes.slots)
        if split is None:
            return []
        if split[0]:
            return [self._file_spans(split)]
        if hashed is not None:
            return self._file_hashed(hashed, term)
        if not term:
            return [self._settle(self.rows.take((), NO_REST), self.always, None)]
        return [self._file_tried(term)]

    def _file_hashed(self, hashed: Hashed, term: Term) -> list[RowNumber]:
        _, first, keys = hashed
        split = self._split(term, self._sizes.hashed_slots, first)
        if split is None:
            return []
        return [self._settle(self._row(split), self.filing.buckets(first, key), key) for key in keys]

    def _file_spans(self, split: Split) -> RowNumber:
        row = self._row(split)
        sizes: list[tuple[int, int, str]] = []
        for _, name, kind, _, _ in split[0]:
            attribute = self.filing.attributes[name]
            sizes.append((attribute.present.size(attribute.axes[kind]), attribute.axes[kind], name))
        size, axis, name = min(sizes)
        if size < self._sizes.present_max:
            return self._settle(row, self.filing.attributes[name].present, axis)
        self.rows.homes[row] = self.bitmaps.file(row, self.rows.slots)
        return row

    def _file_tried(self, term: Term) -> RowNumber:
        first = rarest(term)
        row = self._row(([], [predicate for predicate in term if predicate is not first]))
        if first.operator is Operator.EXISTS and not first.constant:
            return self._settle(row, self.lacking, self.store.take(first))
        return self._settle(row, self.filing.attribute(first.attribute).tried, self.store.take(first))

    def _row(self, split: Split) -> RowNumber:
        spans, tried = split
        placed = [(self.axes.take(attribute, kind), low, high) for _, attribute, kind, low, high in spans]
        return self.rows.take(placed, self.store.take_all(tried) if tried else NO_REST)

    def _settle(self, row: RowNumber, home: Buckets, key: Hashable) -> RowNumber:
        home.file(key, row)
        self.rows.homes[row], self.rows.keys[row] = home, key
        return row

    def _split(self, term: Term, slots: int, home: Predicate | None = None) -> Split | None:
        """None if nothing satisfies the conjunction. One that has a home in a predicate needs no span for its topic."""
        ends: dict[tuple[str, Kind], tuple[float, float]] = {}
        tried: list[Predicate] = []
        for predicate in term:
            if predicate is home:
                continue
            attribute = predicate.attribute
            # In an owner's matcher the topic tells nothing apart; it is tried where all else was true.
            span = None if home is not None and attribute == TOPIC else span_of(predicate)
            if span is None:
                tried.append(predicate)
                continue
            kind, low, high, is_exact = span
            if not is_exact:
                tried.append(predicate)
            axis = attribute, kind
            known = ends.get(axis)
            if known is not None:
                # Calling `max` and `min` would cost more than comparing.
                low = low if low > known[0] else known[0]  # noqa: FURB136
                high = high if high < known[1] else known[1]  # noqa: FURB136
                if low > high:
                    return None
            ends[axis] = low, high
        spans: list[PlacedSpan] = []
        for (attribute, kind), (low, high) in ends.items():
            breadth = 3 if kind >= CHECKSUM else 0 if low == high else 1 if low > -_INFINITY and high < _INFINITY else 2
            spans.append((breadth, attribute, kind, low, high))
        spans.sort()
        if len(spans) <= slots and not self.axes.is_full:
            return spans, tried
        kept = [span for span in spans if not self.axes.is_full or self.axes.number_of(span[1], span[2])][:slots]
        axes = {(attribute, kind) for _, attribute, kind, _, _ in kept}
        for predicate in term:
            span = span_of(predicate)
            if span is not None and span[3] and (predicate.attribute, span[0]) in ends.keys() - axes:
                tried.append(predicate)
        return kept, tried

    def unfile(self, row: RowNumber) -> None:
        """Take a row out of everything."""
        home, key = self.rows.homes[row], self.rows.keys[row]
        assert home is not None
        home.unfile(key, row)
        if isinstance(home, TriedBuckets):
            assert isinstance(key, int)
            self.store.drop(key)
        self.axes.drop(self.rows.axes_of(row))
        if self.rows.rests[row] != NO_REST:
            self.store.drop_all(self.rows.rests[row])
        if isinstance(home, Segment):
            if home.is_sparse:
                self.bitmaps.leave(home)
        elif isinstance(home, Buckets) and not home:
            self.filing.tidy(home.attribute)
        self.rows.give_back(row)

    def tend(self) -> None:
        """A little upkeep, to be done with every change."""
        if self.bitmaps.is_leaving:
            for row, segment in self.bitmaps.moved(self.rows.slots):
                self.rows.homes[row] = segment
