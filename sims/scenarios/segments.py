"""The trace of a simulated run on the disk, as the peers would have written it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from p2psub.model.ids import NodeId
from p2psub.model.instants import Stamp
from p2psub.model.records import Kind, Record
from p2psub.traces.segments import short_name
from p2psub.traces.shelf import Shelf
from sims.engine.trace import Entry

Process = tuple[NodeId, int]

BATCH: Final = 4096
"""As many as a peer puts into one segment."""


def write_segments(directory: Path, entries: list[Entry], running: frozenset[Process]) -> None:
    """One directory per peer, one or more segments per process.

    Those that ran at the end are closed: nothing of their trace is missing. What crashed was cut, as peers are.
    """
    processes: dict[Process, list[Record]] = {}
    for _, record in entries:
        processes.setdefault((record.node, record.incarnation), []).append(record)
    for (node, incarnation), records in processes.items():
        if (node, incarnation) in running:
            records.append(_closing(records[-1]))
        shelf = Shelf(directory / short_name(node), node, bytes_max=1 << 62)
        for first in range(0, len(records), BATCH):
            shelf.add(records[first : first + BATCH])


def _closing(last: Record) -> Record:
    stamp = Stamp(last.stamp.wall_us, last.stamp.ticks + 1)
    return Record(Kind.CLOSE, last.node, last.incarnation, last.sequence + 1, stamp)
