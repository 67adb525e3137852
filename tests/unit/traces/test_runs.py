"""Runs: one record stands for events in a row, and tells of each what a record of its own would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import EventId
from p2psub.model.instants import Stamp
from p2psub.model.records import IN_RUNS, Kind, Record
from p2psub.traces.reader import journey_of
from p2psub.traces.runs import happening_of, happenings, is_run
from tests.unit.bench import node_at

FIRST = EventId(node_at(9), 3, 40)
HASHES = [bytes([n]) * 16 for n in range(3)]
ALONE = Record(Kind.ROLE, node_at(1), 1, 1, Stamp(1, 0))


def record(
    kind: Kind, sequence: int, run: int | None = 3, first: EventId = FIRST, digest: bytes | None = None
) -> Record:
    """What one node says of events in a row."""
    said = Record(kind, node_at(1), 1, sequence, Stamp(sequence, 0), event=first, digest=digest, run=run, matched=2)
    assert run is None or is_run(said)
    return said


def test_a_run_stands_for_each_of_its_events_in_order() -> None:
    """Number, stamp and all that was said are the record's; the event and its hash are its own."""
    run = record(Kind.DELIVER, 7, digest=b"".join(HASHES))
    assert list(happenings(run)) == [
        record(Kind.DELIVER, 7, None, FIRST._replace(sequence=40 + n), HASHES[n]) for n in range(3)
    ]
    assert (run.happenings, [one.happenings for one in happenings(run)]) == (3, [1, 1, 1])


def test_a_record_without_a_run_stands_for_itself() -> None:
    """Of one event, of none, or of as many as it counts."""
    counting = Record(Kind.DROP, node_at(1), 1, 1, Stamp(1, 0), count=9)
    for one in (record(Kind.COPY, 1, None), ALONE, counting):
        assert list(happenings(one)) == [one]
    assert (ALONE.happenings, counting.happenings) == (1, 9)


@given(st.sampled_from(sorted(IN_RUNS)), st.integers(1, 9), st.integers(0, 60), st.integers(1, 60))
def test_an_event_is_found_where_the_run_is_gone_over_one_by_one(kind: Kind, run: int, wanted: int, first: int) -> None:
    """`happening_of` and `happenings` tell the same of every event, inside the run, at its edges and outside."""
    said = record(kind, 1, run, FIRST._replace(sequence=first))
    for event in (FIRST._replace(sequence=wanted), EventId(FIRST.node, 4, wanted), EventId(node_at(8), 3, wanted)):
        alone = [one for one in happenings(said) if one.event == event]
        assert happening_of(event, said) == (alone[0] if alone else None)


def test_the_way_of_an_event_is_the_same_by_runs() -> None:
    """Whether its records speak of it alone or of its neighbours too."""
    wanted = FIRST._replace(sequence=41)
    kinds = sorted(IN_RUNS)
    by_runs = [record(kind, n, digest=b"".join(HASHES)) for n, kind in enumerate(kinds, 1)]
    alone = [record(kind, n, None, wanted, HASHES[1]) for n, kind in enumerate(kinds, 1)]
    assert journey_of(wanted, [ALONE, *by_runs]) == journey_of(wanted, alone)
    assert journey_of(FIRST._replace(sequence=43), by_runs).is_empty
