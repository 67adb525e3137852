"""From events to the rows that want them: gather candidates, compare spans, try what is left.

A batch of events is gone through attribute by attribute: what is done once per attribute is not done per event.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from p2psub.matching.buckets import Bucket
from p2psub.matching.conjunctions import Conjunctions
from p2psub.matching.homes import Attribute
from p2psub.matching.kernel import Floats, Numbers, RowNumbers, distinct, narrow
from p2psub.matching.spans import KINDS_OF, positions_of
from p2psub.matching.store import NO_REST, Content, Truths
from p2psub.model.content import Value

EventNumber = int
"""Of an event in its batch."""


class Candidates:
    """The candidates of a batch of events: pairs of a row and an event that may satisfy it."""

    __slots__ = (
        "_blocks",
        "_conjunctions",
        "_contents",
        "_events",
        "_everybody",
        "_lengths",
        "_positions",
        "_rows",
        "_truths",
    )

    def __init__(self, conjunctions: Conjunctions, contents: Sequence[Content]) -> None:
        self._conjunctions = conjunctions
        self._contents = contents
        self._truths: list[Truths] = [{} for _ in contents]
        self._everybody: list[EventNumber] = list(range(len(contents)))
        self._positions: Floats = np.full((len(contents), conjunctions.axes.width), np.nan)
        self._positions[:, 0] = 0.0
        # Rows one after another, with the events that they came by; then arrays of rows beside arrays of events.
        self._rows = array("i")
        self._events: list[EventNumber] = []
        self._lengths: list[int] = []
        """How many of the rows came by each of the events."""
        self._blocks: list[tuple[RowNumbers, Numbers]] = []
        self._gather()

    def satisfied(self) -> tuple[Numbers, Numbers]:
        """Rows that hold, and for which event each does."""
        rows, events = self._compared()
        if not rows.size:
            return rows, events
        rests = np.frombuffer(self._conjunctions.rows.rests, np.int32).take(rows)
        asked = (rests != NO_REST).nonzero()[0]
        if not asked.size:
            return rows, events
        keeps = np.ones(len(rows), np.bool_)
        keeps[asked] = self._hold(rests.take(asked), events.take(asked))
        kept = keeps.nonzero()[0]
        return rows.take(kept), events.take(kept)

    def _compared(self) -> tuple[Numbers, Numbers]:
        """Rows of which all spans hold, and for which event each; their rests are still to be tried."""
        rows: RowNumbers = np.frombuffer(self._rows, np.int32) if self._rows else np.empty(0, np.int32)
        events = np.repeat(np.array(self._events, np.int64), self._lengths)
        if self._blocks:
            rows = np.concatenate([rows, *(block[0] for block in self._blocks)])
            events = np.concatenate([events, *(block[1] for block in self._blocks)])
        return narrow(self._conjunctions.rows.slots, self._positions, rows, events)

    def _hold(self, rests: RowNumbers, events: Numbers) -> npt.NDArray[np.bool_]:
        """Whether each rest holds for its event. Most come by many times, and are tried once."""
        first, which = distinct(events << 32 | rests.view(np.uint32))
        holds_all, found = self._conjunctions.store.holds_all, list[bool]()
        for rest, event in zip(rests.take(first).tolist(), events.take(first).tolist(), strict=True):
            is_true = self._truths[event].get(rest)
            found.append(holds_all(rest, self._contents[event], self._truths[event]) if is_true is None else is_true)
        return np.array(found).take(which)

    def _gather(self) -> None:
        conjunctions = self._conjunctions
        attributes = conjunctions.filing.attributes
        columns = self._columns()
        for name, (events, values) in columns.items():
            kinds = dict.fromkeys(map(type, values))
            if len(kinds) == 1:
                self._look_up(attributes[name], type(values[0]), events, values)
            else:
                for kind in kinds:
                    alike = [number for number, value in enumerate(values) if type(value) is kind]
                    self._look_up(attributes[name], kind, [events[n] for n in alike], [values[n] for n in alike])
        for number, bucket in conjunctions.lacking.items():
            self._try(number, bucket, self._everybody)
        for bucket in conjunctions.always.values():
            self._take_for_all(bucket, self._everybody)
        for segment in conjunctions.bitmaps.segments:
            self._blocks += segment.candidates(self._positions)

    def _columns(self) -> dict[str, tuple[list[EventNumber], list[Value]]]:
        """By attribute that some filter names, which events have it, and their values."""
        attributes, contents = self._conjunctions.filing.attributes, self._contents
        columns: dict[str, tuple[list[EventNumber], list[Value]]] = {}
        if len(attributes) <= 2 * len(contents[0]):
            # Quicker, unless there are many attributes that events do not have.
            for name in attributes:
                values = [content.get(name) for content in contents]
                if None in values:
                    column = [(event, value) for event, value in enumerate(values) if value is not None]
                    columns[name] = [event for event, _ in column], [value for _, value in column]
                else:
                    columns[name] = self._everybody, values  # type: ignore[assignment]
            return columns
        for event, content in enumerate(contents):
            for name, value in content.items():
                if name in attributes:
                    found = columns.get(name)
                    if found is None:
                        found = columns[name] = [], []
                    found[0].append(event)
                    found[1].append(value)
        return columns

    def _look_up(self, attribute: Attribute, kind: type, events: Sequence[EventNumber], values: list[Value]) -> None:
        """All rows to which the values of one attribute, which are of one type, lead."""
        equal = attribute.equal.get(kind)
        if equal:
            for event, bucket in zip(events, map(equal.get, values), strict=True):
                if bucket is not None:
                    self._take(bucket, event)
        for axis_kind in KINDS_OF.get(kind, ()):
            axis = attribute.axes[axis_kind]
            if axis:
                positions = positions_of(axis_kind, values)
                if len(events) == 1:
                    self._positions[events[0], axis] = positions[0]
                else:
                    self._positions[slice(None) if events is self._everybody else events, axis] = positions
                bucket = self._conjunctions.present.get(axis)
                if bucket is not None:
                    self._take_for_all(bucket, events)
        if attribute.prefixes and kind is str:
            self._look_up_prefixes(attribute, events, values)
        for number, bucket in attribute.tried.items():
            self._try(number, bucket, events)

    def _look_up_prefixes(self, attribute: Attribute, events: Sequence[EventNumber], values: list[Value]) -> None:
        prefixes = attribute.prefixes
        for event, value in zip(events, values, strict=True):
            assert isinstance(value, str)
            for length in prefixes.lengths:
                bucket = prefixes.get(value[:length]) if length <= len(value) else None
                if bucket is not None:
                    self._take(bucket, event)

    def _try(self, number: Hashable, bucket: Bucket, events: Sequence[EventNumber]) -> None:
        assert isinstance(number, int)
        holds = self._conjunctions.store.holds
        found = [event for event in events if holds(number, self._contents[event], self._truths[event])]
        if found:
            self._take_for_all(bucket, found)

    def _take(self, bucket: Bucket, event: EventNumber) -> None:
        self._events.append(event)
        if isinstance(bucket, int):
            self._rows.append(bucket)
            self._lengths.append(1)
        else:
            self._rows.extend(bucket)
            self._lengths.append(len(bucket))

    def _take_for_all(self, bucket: Bucket, events: Sequence[EventNumber]) -> None:
        if len(events) == 1:
            self._take(bucket, events[0])
            return
        rows = np.array([bucket] if isinstance(bucket, int) else bucket, np.int32)
        self._blocks.append((np.tile(rows, len(events)), np.repeat(np.array(events, np.int64), len(rows))))
