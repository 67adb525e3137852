"""From events to the rows that want them: gather candidates, compare spans, try what is left.

A batch of events is gone through attribute by attribute: what is done once per attribute is not done per event.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from p2psub.matching.buckets import Bucket, RowNumber
from p2psub.matching.conjunctions import Conjunctions
from p2psub.matching.filing import Attribute
from p2psub.matching.kernel import Floats, Numbers, RowNumbers, narrow, narrow_one
from p2psub.matching.spans import KINDS_OF, positions_of
from p2psub.matching.store import Content, Truths
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
        "_loose",
        "_loose_events",
        "_parts",
        "_positions",
        "_truths",
    )

    def __init__(self, conjunctions: Conjunctions, contents: Sequence[Content], truths: Sequence[Truths]) -> None:
        self._conjunctions = conjunctions
        self._contents = contents
        self._truths = truths
        self._everybody: list[EventNumber] = list(range(len(contents)))
        self._positions: Floats = np.full((len(contents), conjunctions.axes.width), np.nan)
        self._positions[:, 0] = 0.0
        # Rows that came one by one, arrays of rows for an event each, and arrays of rows beside arrays of events.
        self._loose: list[RowNumber] = []
        self._loose_events: list[EventNumber] = []
        self._parts: list[RowNumbers] = []
        self._events: list[EventNumber] = []
        self._blocks: list[tuple[RowNumbers, Numbers]] = []
        self._gather()

    def passing(self) -> tuple[list[RowNumber], list[EventNumber]]:
        """Rows of which all spans hold, and for which event each; their rests are still to be tried."""
        if self._loose:
            self._parts.append(np.array(self._loose, np.int32))
        if not self._parts and not self._blocks:
            return [], []
        slots, width = self._conjunctions.rows.slots, self._positions.shape[1]
        rows = np.concatenate([*self._parts, *(block[0] for block in self._blocks)])
        if len(self._contents) == 1:
            found: list[RowNumber] = narrow_one(slots, self._positions.ravel(), rows).tolist()
            return found, [0] * len(found)
        lengths = [len(part) for part in self._parts[: len(self._events)]]
        events = np.repeat(np.array(self._events, np.int64), lengths)
        bases = np.concatenate([events, np.array(self._loose_events, np.int64), *(block[1] for block in self._blocks)])
        passed, bases = narrow(slots, self._positions.ravel(), rows, bases * width)
        return passed.tolist(), (bases // width).tolist()

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
                bucket = attribute.present.get(axis)
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
        if isinstance(bucket, int):
            self._loose.append(bucket)
            self._loose_events.append(event)
        else:
            self._parts.append(np.frombuffer(bucket, np.int32))
            self._events.append(event)

    def _take_for_all(self, bucket: Bucket, events: Sequence[EventNumber]) -> None:
        if len(events) == 1:
            self._take(bucket, events[0])
            return
        rows = np.array([bucket] if isinstance(bucket, int) else bucket, np.int32)
        self._blocks.append((np.tile(rows, len(events)), np.repeat(np.array(events, np.int64), len(rows))))
