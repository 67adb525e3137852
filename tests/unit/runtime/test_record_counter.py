"""Every drop is counted, with its reason, whether it is traced or not."""

from __future__ import annotations

from p2psub.model.instants import Stamp
from p2psub.model.records import Kind, Record
from p2psub.runtime.record_counter import RecordCounter
from tests.unit.bench import node_at


def record(kind: Kind, reason: str | None = None, count: int | None = None) -> Record:
    """One happening."""
    return Record(kind, node_at(1), 1, 1, Stamp(1, 1), reason=reason, count=count)


def counted(*records: Record) -> dict[tuple[Kind, str], int]:
    """What is counted; and all of it was passed on."""
    written: list[Record] = []
    recorded = RecordCounter(written.append)
    for one in records:
        recorded.take(one)
    assert written == list(records)
    return recorded.counts


def test_drops_are_counted_by_reason() -> None:
    """One record may tell of many events."""
    drops = (record(Kind.DROP, "above_rate"), record(Kind.DROP, "above_rate", 4), record(Kind.DROP, "outbox_full"))
    assert counted(*drops) == {(Kind.DROP, "above_rate"): 5, (Kind.DROP, "outbox_full"): 1}


def test_what_was_not_sampled_counts_too() -> None:
    """As many as there were, whatever was traced of them."""
    published = (record(Kind.PUBLISH), record(Kind.PUBLISH, "untraced", 63))
    assert counted(*published) == {(Kind.PUBLISH, ""): 64}


def test_a_count_that_is_no_number_of_events_counts_once() -> None:
    """The count of an acknowledgement is that of its matches."""
    assert counted(record(Kind.ACKNOWLEDGE, count=7)) == {(Kind.ACKNOWLEDGE, ""): 1}
