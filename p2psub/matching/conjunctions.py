"""Conjunctions as rows: what is filed, what becomes a span, what is left to be tried one by one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from p2psub.matching.axes import Axes, Ends, PlacedSpan, breadth
from p2psub.matching.bitmaps import Bitmaps, Segment
from p2psub.matching.buckets import Buckets, RowNumber, TriedBuckets
from p2psub.matching.homes import Filing, Hashed, rarest
from p2psub.matching.predicates import are_defined
from p2psub.matching.rows import Rows
from p2psub.matching.sizes import Sizes
from p2psub.matching.spans import span_of
from p2psub.matching.store import NO_REST, PredicateStore
from p2psub.model.content import TOPIC, Operator, Predicate

Conjunction = Sequence[Predicate]
Split = tuple[Ends, list[Predicate]]
"""A conjunction: spans, and predicates that must be tried besides."""


class Conjunctions:
    """All rows, and every structure that leads to them."""

    __slots__ = ("_sizes", "always", "axes", "bitmaps", "filing", "lacking", "present", "rows", "store")

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self.rows = Rows()
        self.store = PredicateStore()
        self.filing = Filing(self.rows.positions, sizes.members_max)
        self.axes = Axes(self.filing, sizes.axes_max)
        self.bitmaps = Bitmaps(self.rows.positions, sizes)
        self.present = Buckets("", self.rows.positions)
        """By axis."""
        self.always = Buckets("", self.rows.positions)
        self.lacking = TriedBuckets("", self.rows.positions)
        """Under predicates that hold where their attribute is missing."""

    def file(self, conjunction: Conjunction) -> list[RowNumber]:
        """The rows of a conjunction: mostly one, none if nothing can satisfy it."""
        hashed = self.filing.hashed(conjunction)
        if hashed is not None and hashed[0] < self._sizes.hashed_max:
            return self._file_hashed(hashed, conjunction)
        split = self._split(conjunction, self._sizes.slots)
        if split is None:
            return []
        if split[0]:
            return [self._file_spans(split)]
        if hashed is not None:
            return self._file_hashed(hashed, conjunction)
        if not conjunction:
            return [self._settle(self._row((), ()), self.always, None)]
        return [self._file_tried(conjunction)]

    def _file_hashed(self, hashed: Hashed, conjunction: Conjunction) -> list[RowNumber]:
        _, first, keys = hashed
        split = self._split(conjunction, self._sizes.hashed_slots, first) if are_defined((first,)) else None
        if split is None:
            return []
        ends, tried = split
        rows: list[RowNumber] = []
        for key in keys:
            row = self._row(self.axes.place(ends), tried)
            rows.append(self._settle(row, self.filing.buckets(first, key), key))
        return rows

    def _file_spans(self, split: Split) -> RowNumber:
        placed = self.axes.place(split[0])
        row = self._row(placed, split[1])
        size, axis = min([(self.present.size(axis), axis) for _, axis, _, _ in placed])
        if size < self._sizes.present_max:
            return self._settle(row, self.present, axis)
        self.rows.homes[row] = self.bitmaps.file(row, self.rows.slots)
        return row

    def _file_tried(self, conjunction: Conjunction) -> RowNumber:
        first = rarest(conjunction)
        row = self._row((), [predicate for predicate in conjunction if predicate is not first])
        if first.operator is Operator.EXISTS and not first.constant:
            return self._settle(row, self.lacking, self.store.take(first))
        return self._settle(row, self.filing.attribute(first.attribute).tried, self.store.take(first))

    def _row(self, placed: Sequence[PlacedSpan], tried: Sequence[Predicate]) -> RowNumber:
        return self.rows.take(placed, self.store.take_all(tried) if tried else NO_REST)

    def _settle(self, row: RowNumber, home: Buckets, key: Hashable) -> RowNumber:
        home.file(key, row)
        self.rows.homes[row], self.rows.keys[row] = home, key
        return row

    def _split(self, conjunction: Conjunction, slots: int, home: Predicate | None = None) -> Split | None:
        """None if nothing satisfies the conjunction. One that has a home in a predicate needs no span for its topic."""
        ends: Ends = {}
        tried: list[Predicate] = []
        # In an owner's matcher the topic tells nothing apart; it is tried where all else was true.
        spanless = None if home is None else TOPIC
        for predicate in conjunction:
            if predicate is home:
                continue
            attribute = predicate.attribute
            span = None if attribute == spanless else span_of(predicate)
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
                if known[0] > low:
                    low = known[0]
                if known[1] < high:
                    high = known[1]
                if low > high:
                    return None
            ends[axis] = low, high
        # What has an exact span is defined.
        if tried and not are_defined(tried):
            return None
        if len(ends) > slots or self.axes.is_full():
            kept = self._most_telling(ends, slots)
            for predicate in conjunction:
                span = span_of(predicate)
                if span is not None and span[3] and (predicate.attribute, span[0]) in ends.keys() - kept:
                    tried.append(predicate)
            ends = kept
        return ends, tried

    def _most_telling(self, ends: Ends, slots: int) -> Ends:
        """Of the spans those that there is room for."""
        axes = sorted(ends, key=lambda axis: (breadth(axis[1], *ends[axis]), axis))
        if self.axes.is_full():
            axes = [axis for axis in axes if self.axes.number_of(*axis)]
        return {axis: ends[axis] for axis in axes[:slots]}

    def unfile(self, row: RowNumber) -> None:
        """Take a row out of everything."""
        home, key = self.rows.homes[row], self.rows.keys[row]
        assert home is not None
        home.unfile(key, row)
        if isinstance(home, TriedBuckets):
            assert isinstance(key, int)
            self.store.drop(key)
        self.axes.drop(self.rows.slots, row)
        if self.rows.rests[row] != NO_REST:
            self.store.drop_all(self.rows.rests[row])
        if isinstance(home, Segment):
            if home.is_sparse():
                self.bitmaps.leave(home)
        elif isinstance(home, Buckets) and not home:
            self.filing.tidy(home.attribute)
        self.rows.give_back(row)

    def tend(self) -> None:
        """A little upkeep, to be done with every change."""
        if self.bitmaps.leaving is not None:
            for row, segment in self.bitmaps.moved(self.rows.slots):
                self.rows.homes[row] = segment
