"""Runs: a record may speak of several events in a row of one publisher, and stands for as many happenings.

Whoever asks what became of one event asks here, and sees records as if each spoke of one event alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from p2psub.model.ids import EventId
from p2psub.model.records import IN_RUNS, Record
from p2psub.model.seals import LEAF_BYTES


def happenings(record: Record) -> Iterator[Record]:
    """What the record stands for, one event each and in order: all share its number and its stamp."""
    if record.run is None:
        yield record
        return
    for place in range(record.run):
        yield _at(record, place)


def happening_of(event: EventId, record: Record) -> Record | None:
    """The one of a record's happenings that is about the event, if there is one."""
    first = record.event
    if first == event:
        return record if record.run is None else _at(record, 0)
    if record.run is None or first is None or first[:2] != event[:2]:
        return None
    place = event.sequence - first.sequence
    return _at(record, place) if 0 <= place < record.run else None


def is_run(record: Record) -> bool:
    """Of a record with a `run`: whether it names the first event, has a hash for each, and counts nothing else."""
    if record.kind not in IN_RUNS or record.event is None or record.count is not None:
        return False
    return record.digest is None or len(record.digest) == LEAF_BYTES * (record.run or 1)


def _at(record: Record, place: int) -> Record:
    first = record.event
    assert first is not None, "a run names its first event"
    event = first._replace(sequence=first.sequence + place)
    digest = record.digest and record.digest[LEAF_BYTES * place : LEAF_BYTES * (place + 1)]
    return msgspec.structs.replace(record, event=event, digest=digest, run=None)
