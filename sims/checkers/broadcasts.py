"""S11: a broadcast change is stored once per cluster, and a settled cube spends N-1 transfers on a cast."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from p2psub.model.changes import ChangeNumber
from p2psub.model.ids import CastId, NodeId
from p2psub.model.messages.casts import ChangePayload, EventPayload
from p2psub.model.records import Kind, Record
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


@dataclass(frozen=True, slots=True)
class CastCosts:
    """What casts cost between the load's start and the first fault."""

    broadcasts: int
    by_broadcasts: int
    multicasts: int
    by_multicasts: int


def costs_of(evidence: Evidence) -> CastCosts:
    """Casts in a settled cube, and the transfers that they took."""
    broadcasts, multicasts = (_settled(evidence, payload) for payload in (ChangePayload, EventPayload))
    transfers = _transfers(evidence, [*broadcasts, *multicasts])
    return CastCosts(
        broadcasts=len(broadcasts),
        by_broadcasts=sum(transfers[record.cast] for _, record in broadcasts),
        multicasts=len(multicasts),
        by_multicasts=sum(transfers[record.cast] for _, record in multicasts),
    )


def _settled(evidence: Evidence, payload: type) -> list[tuple[int, Record]]:
    until_us = evidence.phases.faults_us - CAST_SECONDS * 1_000_000
    return [
        (at_us, record)
        for at_us, record in evidence.of(Kind.CAST)
        if record.payload == payload.__name__ and evidence.phases.load_us <= at_us < until_us
    ]


def _transfers(
    evidence: Evidence, casts: list[tuple[int, Record]], until_us: float = math.inf
) -> dict[CastId | None, int]:
    transfers: dict[CastId | None, int] = {record.cast: 0 for _, record in casts}
    for at_us, record in evidence.of(Kind.FORWARD):
        if record.cast in transfers and at_us < until_us:
            transfers[record.cast] += 1
    return transfers


def check_reached_once(evidence: Evidence) -> Iterator[Finding]:
    """S11: between the load's start and the first fault no cast comes to a cluster by two ways."""
    reached: set[tuple[NodeId, CastId | None]] = set()
    for at_us, record in evidence.of(Kind.RECEIVE):
        if record.cast is None or not evidence.phases.load_us <= at_us < evidence.phases.faults_us:
            continue
        if (record.node, record.cast) in reached:
            yield Finding("S11", "one cast came to a cluster by two ways in a settled cube", record, at_us)
        reached.add((record.node, record.cast))


def check_transfers(evidence: Evidence) -> Iterator[Finding]:
    """S11: between the load's start and the first fault a broadcast costs one transfer per other cluster.

    One that slow links hold up may go on when faults begin: what is repeated then is not counted.
    """
    clusters = len({record.cluster for at_us, record in evidence.of(Kind.ROLE) if at_us < evidence.phases.load_us})
    settled = _settled(evidence, ChangePayload)
    in_calm, in_all = _transfers(evidence, settled, evidence.phases.faults_us), _transfers(evidence, settled)
    for at_us, record in settled:
        count = max(in_calm[record.cast], min(in_all[record.cast], clusters - 1))
        if count != clusters - 1:
            text = f"{count} transfers for a broadcast to {clusters} clusters in a settled cube"
            yield Finding("S11", text, record, at_us)
