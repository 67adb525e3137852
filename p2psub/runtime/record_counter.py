"""What the node records, counted: an operator sees every drop and why, with traces or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from p2psub.model.records import Kind, Record

Happening = tuple[Kind, str]
"""A kind of record, and how it ended or why it happened, where records of the kind say so."""

_WITH_REASON: Final = frozenset({Kind.DROP, Kind.GAP, Kind.DUPLICATE, Kind.ROLE})


class RecordCounter:
    """Passes records on, and counts them."""

    def __init__(self, write: Callable[[Record], None]) -> None:
        self.counts: Counter[Happening] = Counter()
        self._write = write

    def take(self, record: Record) -> None:
        """One more record, of as many happenings as it stands for."""
        kind = record.kind
        why = record.reason if kind in _WITH_REASON else record.outcome
        self.counts[kind, why or ""] += record.happenings
        self._write(record)
