"""Failovers and duplicates, counted out of trace records."""

from __future__ import annotations

from p2psub.demo.trace_counts import WallSpan, count_records
from p2psub.model.ids import ClusterId, Epoch, EventId, NodeId
from p2psub.model.instants import Stamp
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from tests.unit.bench import node_at

ONE, OTHER = ClusterId("one"), ClusterId("other")
A, B, C = node_at(1), node_at(2), node_at(3)
RUN = WallSpan(100, 200)


def term(
    at_us: int, node: NodeId, counter: int, cluster: ClusterId = ONE, reason: Reason = Reason.SUPER_NODE
) -> Record:
    """The record of a node that begins to lead, or of another change of its role."""
    return Record(Kind.ROLE, node, 1, 1, Stamp(at_us, 0), cluster=cluster, epoch=Epoch(counter, node, 1), reason=reason)


def test_a_failover_is_a_change_of_the_leading_peer() -> None:
    """Not its first term, and not a second term of the same peer."""
    records = [term(50, A, 1), term(120, B, 2), term(121, B, 3), term(150, C, 4), term(60, B, 1, OTHER)]
    assert count_records(records, {ONE: A.hex(), OTHER: B.hex()}, RUN).failovers == 2


def test_a_term_above_ones_own_is_no_failover() -> None:
    """A super-node may rise above a term that is over but remembered."""
    assert count_records([term(120, A, 5)], {ONE: A.hex()}, RUN).failovers == 0


def test_what_happens_before_and_after_the_run_is_no_failover() -> None:
    """Founders that compete, and the end of everything, do not count."""
    records = [term(99, B, 2), term(201, C, 3), term(150, C, 3, reason=Reason.RESIGNED)]
    assert count_records(records, {ONE: A.hex()}, RUN).failovers == 0


def test_every_duplicate_counts() -> None:
    """Whatever came again over a link, whenever it did."""
    records = [
        Record(Kind.DUPLICATE, A, 1, n, Stamp(at_us, 0), reason=Reason.DELIVERED_BEFORE)
        for n, at_us in enumerate((1, 150, 999))
    ]
    assert count_records(records, {}, RUN).wire_duplicates == 3
    event = EventId(B, 1, 1)
    again = Record(Kind.DUPLICATE, A, 1, 4, Stamp(1, 0), event=event, run=5, reason=Reason.DELIVERED_BEFORE)
    counted = Record(Kind.DUPLICATE, A, 1, 5, Stamp(2, 0), count=2, reason=Reason.PARCEL_REPEATED)
    assert count_records([*records, again, counted], {}, RUN).wire_duplicates == 10, "one record, many events"
