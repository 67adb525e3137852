"""Reading traces of several peers together: all records in one order, and one event's way through the overlay."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from p2psub.model.content import Event
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.records import Kind, Record
from p2psub.traces.runs import happening_of
from p2psub.traces.segments import SegmentDamaged, SegmentName, read_segment, segments_of

Name = tuple[bytes, int, int]


def find_segments(directories: Iterable[Path]) -> list[list[Path]]:
    """The segments below the directories, process by process in order; copies of one segment once."""
    found = segments_of(path for directory in directories for path in directory.rglob("*.ndjson"))
    processes: dict[tuple[str, int], dict[SegmentName, Path]] = {}
    for segment, path in found:
        processes.setdefault((segment.node, segment.incarnation), {}).setdefault(segment, path)
    return [list(segments.values()) for segments in processes.values()]


def merge_traces(segments: list[list[Path]], skip: Callable[[SegmentDamaged], None]) -> Iterator[Record]:
    """All records in the order of the hybrid clock, which extends 'happened before'; each once.

    A damaged segment is left out whole, and `skip` hears of it. Holds one segment of each process in memory at a time.
    """
    traces = [_records_of(paths, skip) for paths in segments]
    last: Name | None = None
    for record in heapq.merge(*traces, key=_order):
        name = (record.node, record.incarnation, record.sequence)
        if name != last:
            last = name
            yield record


def _records_of(paths: list[Path], skip: Callable[[SegmentDamaged], None]) -> Iterator[Record]:
    last = 0
    for path in paths:
        try:
            records = list(read_segment(path))
        except SegmentDamaged as error:
            skip(error)
            continue
        for record in records:
            # A segment that was written again may overlap the next one.
            if record.sequence > last:
                last = record.sequence
                yield record


def _order(record: Record) -> tuple[int, int, bytes, int, int]:
    stamp = record.stamp
    return (stamp.wall_us, stamp.ticks, record.node, record.incarnation, record.sequence)


class Arrival(NamedTuple):
    """What became of one pair: handed over, ended otherwise, both, or not heard of."""

    subscription: SubscriptionId
    delivered: list[Record]
    outcomes: list[Record]
    others: list[Record]


class Journey(NamedTuple):
    """All that the traces tell of one event, each list in the order of the clock."""

    event: EventId
    published: Record | None
    acknowledged: list[Record]
    stored: list[Record]
    owners: list[Record]
    """What owners did beside storing: match, discharge."""
    copies: list[Record]
    arrivals: list[Arrival]
    others: list[Record]
    """Duplicates and drops that name no subscription."""

    @property
    def content(self) -> Event | None:
        """The event itself; only its publisher's trace holds it."""
        return None if self.published is None else self.published.published

    @property
    def first(self) -> Record:
        """The earliest record of all; there must be one."""
        records = [*self.acknowledged, *self.stored, *self.owners, *self.copies, *self.others]
        records += [record for arrival in self.arrivals for several in arrival[1:] for record in several]
        return min([*records, *([] if self.published is None else [self.published])], key=_order)

    @property
    def is_empty(self) -> bool:
        """Whether no record speaks of the event."""
        return not any((self.published, *self[2:]))


def journey_of(event: EventId, records: Iterable[Record]) -> Journey:
    """Gather the records of one event; they come in the order of the clock."""
    journey = Journey(event, None, [], [], [], [], [], [])
    arrivals: dict[SubscriptionId, Arrival] = {}
    for record in filter(None, (happening_of(event, several) for several in records)):
        if record.subscription is not None:
            arrival = arrivals.setdefault(record.subscription, Arrival(record.subscription, [], [], []))
            lists = {Kind.DELIVER: arrival.delivered, Kind.OUTCOME: arrival.outcomes}
            lists.get(record.kind, arrival.others).append(record)
        elif record.kind is Kind.PUBLISH:
            journey = journey._replace(published=journey.published or record)
        else:
            lists = {
                Kind.ACKNOWLEDGE: journey.acknowledged,
                Kind.STORE: journey.stored,
                Kind.MATCH: journey.owners,
                Kind.DISCHARGE: journey.owners,
                Kind.COPY: journey.copies,
            }
            lists.get(record.kind, journey.others).append(record)
    return journey._replace(arrivals=[arrivals[name] for name in sorted(arrivals)])
