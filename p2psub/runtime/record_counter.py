"""What the node records, counted: an operator sees every drop and why, with traces or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from p2psub.model.records import UNTRACED, Kind, Record

Happening = tuple[Kind, str]
"""A kind of record, and its reason where that says how something ended."""

_MANY: Final = frozenset({Kind.DROP, Kind.GAP})
"""Kinds of which one record may tell of many events."""
_WITH_REASON: Final = frozenset({Kind.DROP, Kind.GAP, Kind.DUPLICATE, Kind.OUTCOME, Kind.ROLE})


class RecordCounter:
    """Passes records on, and counts them."""

    def __init__(self, write: Callable[[Record], None]) -> None:
        self.counts: Counter[Happening] = Counter()
        self._write = write

    def take(self, record: Record) -> None:
        """One more record. Events that are sampled count with those that were left out."""
        kind, count = record.kind, 1
        if record.count is not None and (kind in _MANY or record.reason == UNTRACED):
            count = record.count
        self.counts[kind, (record.reason or "") if kind in _WITH_REASON else ""] += count
        self._write(record)
