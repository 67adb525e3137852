"""S12: an owner whose disk takes nothing acknowledges nothing that it would have had to store."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.ids import EventId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence, Finding


def check_full_disks(evidence: Evidence) -> Iterator[Finding]:
    """S12: what was published and acknowledged while the owner's disk was full cannot be durable there."""
    full_disks = [(d.node, d.at_us, d.until_us or evidence.phases.end_us) for d in evidence.faults.full_disks]
    published: dict[EventId | None, int] = {}
    retained: set[EventId | None] = set()
    for at_us, record in evidence.of(Kind.PUBLISH):
        published[record.event] = at_us
        if record.published is not None and record.published.retain_us:
            retained.add(record.event)
    for at_us, record in evidence.of(Kind.ACKNOWLEDGE):
        if record.matched or record.event in retained:
            began_us = published.get(record.event, 0)
            if any(node == record.peer and since < began_us and at_us < until for node, since, until in full_disks):
                yield Finding("S12", "acknowledged by an owner whose disk was full all the while", record, at_us)


def check_refusals(evidence: Evidence) -> Iterator[Finding]:
    """S12: what an owner refuses because its disk is full, no holder pays.

    A publisher that is the owner itself writes the same record whether it heeds the refusal or publishes on: it is not
    judged.
    """
    refused: dict[EventId | None, int] = {}
    for at_us, record in evidence.of(Kind.DROP):
        is_told = record.event is not None and record.node == record.event.node and record.peer != record.node
        if record.reason is Reason.DISK_FULL and is_told:
            refused[record.event] = at_us
    for at_us, record in evidence.of(Kind.DELIVER):
        if at_us > refused.get(record.event, at_us):
            yield Finding("S12", "handed over, though its publisher was told that it is refused", record, at_us)


def disk_full_refusals(evidence: Evidence) -> int:
    """How many events owners refused because their disks were full."""
    return sum(record.reason is Reason.DISK_FULL for _, record in evidence.of(Kind.DROP))
