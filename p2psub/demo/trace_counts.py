"""What the traces of all peers tell that no single peer knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from p2psub.model.ids import ClusterId, Epoch
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record


class WallSpan(NamedTuple):
    """Part of a run, in microseconds of the wall clock."""

    first_us: int
    last_us: int


class TraceCounts(NamedTuple):
    """Counted out of records."""

    wire_duplicates: int
    """Copies that came again over a link, and went no further: repeated publishes, casts, answers and deliveries."""
    failovers: int
    """How often the super-node of a cluster changed to another peer."""


def count_records(records: Iterable[Record], leaders: Mapping[ClusterId, str], span: WallSpan) -> TraceCounts:
    """Count failovers in the span, duplicates in all; `leaders` says who (in hex) led when the span began."""
    duplicates = 0
    terms: dict[ClusterId, set[Epoch]] = {}
    for record in records:
        if record.kind is Kind.DUPLICATE:
            duplicates += record.happenings
        elif record.kind is Kind.ROLE and record.reason is Reason.SUPER_NODE and record.cluster and record.epoch:
            if span.first_us <= record.stamp.wall_us <= span.last_us:
                terms.setdefault(record.cluster, set()).add(record.epoch)
    return TraceCounts(duplicates, sum(_changes(leaders.get(name), sorted(epochs)) for name, epochs in terms.items()))


def _changes(first: str | None, epochs: list[Epoch]) -> int:
    leaders = [first, *(epoch.node.hex() for epoch in epochs)]
    return sum(before != after for before, after in pairwise(leaders))
