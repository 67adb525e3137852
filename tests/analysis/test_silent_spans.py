"""What may lie in a missing part of a trace is unknown, up to the very edge of it; one step further it is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.answers.casts import casts
from p2psub.analysis.answers.coverage import coverage
from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits import losses
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.silent_spans import ALWAYS_US, NEVER_US, SilentSpan, SilentSpans
from p2psub.model.ids import EventId
from tests.analysis.planted_trace import BEGIN_US, PlantedTrace, Process
from tests.analysis.rows import Numbers

Spoil = Callable[[PlantedTrace, Process], None]
"""What becomes of Bob's trace."""
EDGE_MS = 100
"""When everything that he may have said is said, unless it is never."""


def start_again(trace: PlantedTrace, bob: Process, at_ms: float) -> Process:
    """His second start."""
    again = Process(trace, bob.node, 2, bob.cluster)
    trace.processes.append(again)
    again.start(at_ms=at_ms)
    return again


def closed(_: PlantedTrace, bob: Process) -> None:
    """Nothing is missing: a record that was not made is not there."""
    bob.drop("ended", at_ms=EDGE_MS)
    bob.close(at_ms=900)


def killed(trace: PlantedTrace, bob: Process) -> None:
    """He wrote his last record long before, was killed, and had entered his ring again at the edge."""
    bob.drop("ended", at_ms=30)
    again = start_again(trace, bob, at_ms=EDGE_MS - 40)
    again.ring(at_ms=EDGE_MS)
    again.close(at_ms=900)


def killed_for_good(_: PlantedTrace, bob: Process) -> None:
    """He was killed, and never came back."""
    bob.drop("ended", at_ms=30)


def killed_before_a_ring(trace: PlantedTrace, bob: Process) -> None:
    """He came back and found nobody: he may not know how late it was when he was killed."""
    bob.drop("ended", at_ms=30)
    start_again(trace, bob, at_ms=EDGE_MS).close(at_ms=900)


def ahead(trace: PlantedTrace, bob: Process) -> None:
    """He had followed clocks that are ahead of his own: his last stamp is later than those of his next start."""
    bob.drop("ended", at_ms=EDGE_MS)
    again = start_again(trace, bob, at_ms=40)
    again.ring(at_ms=50)
    again.close(at_ms=60)


def gap(_: PlantedTrace, bob: Process) -> None:
    """Records in the middle are missing; the last one that is there is at the edge."""
    bob.drop("ended", at_ms=20)
    bob.lose(2)
    bob.drop("ended", at_ms=30)
    bob.close(at_ms=EDGE_MS)


def overflow(_: PlantedTrace, bob: Process) -> None:
    """A full disk kept records out, and he says so."""
    bob.lose(2)
    bob.drop("trace_overflow", count=2, at_ms=30)
    bob.close(at_ms=EDGE_MS)


def discarded(_: PlantedTrace, bob: Process) -> None:
    """His first segments had to go: his first record is at the edge, and what follows is whole."""
    bob.records.clear()
    bob.drop("ended", at_ms=EDGE_MS)
    bob.drop("trace_discarded", count=9, at_ms=800)
    bob.close(at_ms=900)


def discarded_start(trace: PlantedTrace, bob: Process) -> None:
    """A whole start of his is gone, which nobody names; he says so in the next, which entered its ring at the edge."""
    trace.processes.remove(bob)
    again = start_again(trace, bob, at_ms=EDGE_MS - 40)
    again.ring(at_ms=EDGE_MS)
    again.drop("trace_discarded", count=9, at_ms=800)
    again.close(at_ms=900)


SPANS: dict[Spoil, SilentSpan | None] = {
    closed: None,
    killed: SilentSpan(30, EDGE_MS),
    killed_for_good: SilentSpan(30, NEVER_US),
    killed_before_a_ring: SilentSpan(30, NEVER_US),
    ahead: SilentSpan(EDGE_MS, EDGE_MS),
    gap: SilentSpan(ALWAYS_US, EDGE_MS),
    overflow: SilentSpan(ALWAYS_US, EDGE_MS),
    discarded: SilentSpan(ALWAYS_US, EDGE_MS),
    discarded_start: SilentSpan(ALWAYS_US, EDGE_MS),
}
"""Where something may lie, in milliseconds of the trace."""


TIMES_MS = (10.0, 50.0, float(EDGE_MS), EDGE_MS + 0.001)
"""Before the last record of whoever is killed, in his tail, at the edge, and one microsecond later."""


WHOLE: tuple[Spoil, ...] = (closed, killed_for_good, discarded_start)
"""One for each end that a span may have: none, never, and the edge, here for a start that is in no table."""


def planted(spoil: Spoil) -> tuple[PlantedTrace, list[EventId]]:
    """At each time an event that is acknowledged and let go of without a hand-over, and a cast that reaches nobody."""
    trace = PlantedTrace()
    alice, far = trace.process("alice", at_ms=0), trace.process("far", cluster="far", at_ms=0)
    for process in (alice, far):
        process.ring(at_ms=1)
        process.role(at_ms=2)
    bob = trace.process("bob", at_ms=3)
    bob.ring(at_ms=4)
    spoil(trace, bob)
    events = []
    for at_ms in TIMES_MS:
        events.append(alice.publish(at_ms=at_ms))
        alice.cast(at_ms=at_ms)
    for event in events:
        alice.store(event, owed=1, at_ms=200)
        alice.acknowledge(event, count=1)
        alice.discharge(event)
    for process in (alice, far):
        process.close(at_ms=900)
    return trace, events


def test_every_process_is_silent_up_to_its_edge(spark: SparkSession) -> None:
    """In one trace, each of a peer of its own; of a start that is gone whole there is no process to say it of."""
    trace = PlantedTrace()
    spoiled = {spoil: trace.process(spoil.__name__, at_ms=3) for spoil in SPANS if spoil is not discarded_start}
    for spoil, bob in spoiled.items():
        bob.ring(at_ms=4)
        spoil(trace, bob)
    numbers = Numbers.of(trace.records)
    found = SilentSpans.of(trace.tables(spark)).of_process
    assert found == {
        numbers.processes[bob.node, 1]: SilentSpan(*map(_on_the_wall_us, span))
        for spoil, bob in spoiled.items()
        if (span := SPANS[spoil]) is not None
    }


@pytest.mark.parametrize(
    "spoil",
    [pytest.param(spoil, marks=[] if spoil in WHOLE else [pytest.mark.slow], id=spoil.__name__) for spoil in SPANS],
)
def test_a_missing_part_reaches_to_its_edge_and_no_further(spark: SparkSession, spoil: Spoil) -> None:
    """Coverage, casts and the audit of losses agree on every event; what cannot lie in the span is lost."""
    trace, events = planted(spoil)
    tables = trace.tables(spark)
    span = SPANS[spoil]
    context = AuditContext(acks=acknowledged(tables), silent_spans=SilentSpans.of(tables))
    assert context.silent_spans is not None
    silent = SilentSpan.around([]) if span is None else SilentSpan(*map(_on_the_wall_us, span))
    assert context.silent_spans.anywhere == silent
    is_unknown = [span is not None and at_ms <= span.until_us for at_ms in TIMES_MS]
    assert is_unknown.count(False) == (4 if span is None else int(span.until_us == EDGE_MS))
    judged = {row.event: (row.lost, row.unknown) for row in coverage(tables, context).collect()}
    keys = [Numbers.of(trace.records).key(event) for event in events]
    assert [judged[key] for key in keys] == [(0, 1) if unknown else (1, 0) for unknown in is_unknown]
    started = casts(tables, context).orderBy("started_us").collect()
    assert [(row.missing, row.unknown) for row in started] == [(1, int(unknown)) for unknown in is_unknown]
    found = {row.event: row.verdict for row in losses.audit(tables, context).collect()}
    assert [found[key] for key in keys] == ["unknown" if unknown else "violated" for unknown in is_unknown]


def _on_the_wall_us(at_ms: int) -> int:
    return at_ms if at_ms in (ALWAYS_US, NEVER_US) else BEGIN_US + at_ms * 1_000
