"""Every drop is counted, with its reason, whether it is traced or not."""

from __future__ import annotations

from p2psub.model.ids import EventId
from p2psub.model.instants import Stamp
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.runtime.record_counter import RecordCounter
from tests.unit.bench import node_at


def record(kind: Kind, reason: Reason | None = None, count: int | None = None) -> Record:
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
    drops = (
        record(Kind.DROP, Reason.ABOVE_RATE),
        record(Kind.DROP, Reason.ABOVE_RATE, 4),
        record(Kind.DROP, Reason.OUTBOX_FULL),
    )
    assert counted(*drops) == {(Kind.DROP, "above_rate"): 5, (Kind.DROP, "outbox_full"): 1}


def test_what_was_not_sampled_counts_too() -> None:
    """As many as there were, whatever was traced of them."""
    published = (record(Kind.PUBLISH), record(Kind.PUBLISH, Reason.UNTRACED, 63))
    assert counted(*published) == {(Kind.PUBLISH, ""): 64}


def test_a_run_counts_every_event() -> None:
    """As if each had a record of its own."""
    event = EventId(node_at(9), 1, 5)
    kept = Record(Kind.COPY, node_at(1), 1, 1, Stamp(1, 1), event=event, run=256)
    assert counted(kept, record(Kind.COPY)) == {(Kind.COPY, ""): 257}


def test_an_acknowledgement_counts_once_however_much_it_matched() -> None:
    """Its matches are no happenings of their own."""
    acknowledged = Record(Kind.ACKNOWLEDGE, node_at(1), 1, 1, Stamp(1, 1), matched=7)
    assert counted(acknowledged) == {(Kind.ACKNOWLEDGE, ""): 1}


def test_outcomes_are_counted_by_how_they_ended() -> None:
    """An outcome has no reason of its own: how it ended says all."""
    ended = [Record(Kind.OUTCOME, node_at(1), 1, n, Stamp(n, 1), outcome=Outcome.EXPIRED) for n in (1, 2)]
    assert counted(*ended) == {(Kind.OUTCOME, "expired"): 2}
