"""S11: a broadcast change is stored once per cluster, and a settled cube spends N-1 transfers on a cast."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.changes import ChangeNumber
from p2psub.model.ids import CastId, NodeId
from p2psub.model.messages.casts import ChangePayload
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding

CAST_SECONDS = 3
"""A cast in a settled cube is over by then: a few hops of at most 70 ms, and the disks on the way."""


def check_stored_once(evidence: Evidence) -> Iterator[Finding]:
    """S11: no process stores one change twice as new."""
    seen: set[tuple[NodeId, int, ChangeNumber | None]] = set()
    for at_us, record in evidence.of(Kind.CHANGE):
        name = (record.node, record.incarnation, record.number)
        if name in seen:
            yield Finding("S11", "one change stored twice as new", record, at_us)
        seen.add(name)


def check_numbered_once(evidence: Evidence) -> Iterator[Finding]:
    """S11: a number of a log names one change for ever."""
    seen: dict[ChangeNumber | None, tuple[object, int | None]] = {}
    for at_us, record in evidence.of(Kind.NUMBER):
        declared = record.subscribed or record.advertised
        named = (None, None) if declared is None else (declared.id, declared.version)
        if seen.setdefault(record.number, named) != named:
            yield Finding("S11", "one number for two changes", record, at_us)


def check_transfers(evidence: Evidence) -> Iterator[Finding]:
    """S11: between the load's start and the first fault a broadcast costs one transfer per other cluster."""
    clusters = len({record.cluster for at_us, record in evidence.of(Kind.ROLE) if at_us < evidence.phases.load_us})
    settled = [
        (at_us, record)
        for at_us, record in evidence.of(Kind.CAST)
        if record.payload == ChangePayload.__name__
        and evidence.phases.load_us <= at_us < evidence.phases.faults_us - CAST_SECONDS * 1_000_000
    ]
    transfers: dict[CastId | None, int] = {record.cast: 0 for _, record in settled}
    for _, record in evidence.of(Kind.FORWARD):
        if record.cast in transfers:
            transfers[record.cast] += 1
    for at_us, record in settled:
        if transfers[record.cast] != clusters - 1:
            text = f"{transfers[record.cast]} transfers for a broadcast to {clusters} clusters in a settled cube"
            yield Finding("S11", text, record, at_us)
