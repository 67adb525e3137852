"""S13: queues are bounded, and every drop is recorded with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.instants import Stamp
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding


def check_queues(evidence: Evidence) -> Iterator[Finding]:
    """S13: no link's queue was ever above its cap."""
    cap = evidence.config.egress.queued_messages_max
    for status in evidence.at_end:
        if status.queued_messages_max > cap:
            yield Finding("S13", f"{status.id.hex()[:8]} had {status.queued_messages_max} messages queued, cap {cap}")


def check_drops(evidence: Evidence) -> Iterator[Finding]:
    """S13: a drop says why."""
    for at_us, record in evidence.of(Kind.DROP):
        if not record.reason:
            yield Finding("S13", "a drop without a reason", record, at_us)


def check_sequences(evidence: Evidence) -> Iterator[Finding]:
    """Traces: the records of a process are numbered from 1 without a gap, and its clock never runs back."""
    last: dict[tuple[bytes, int], tuple[int, Stamp]] = {}
    for at_us, record in evidence.entries:
        process = (bytes(record.node), record.incarnation)
        sequence, stamp = last.get(process, (0, Stamp(0, 0)))
        if record.sequence != sequence + 1:
            yield Finding("trace", f"record {record.sequence} follows {sequence}", record, at_us)
        if record.stamp <= stamp:
            yield Finding("trace", "a stamp that is not after the one before", record, at_us)
        last[process] = (record.sequence, record.stamp)
