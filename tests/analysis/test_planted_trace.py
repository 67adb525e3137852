"""Planted traces are what real peers write: gapless, stamped, readable."""

from __future__ import annotations

from pathlib import Path

from p2psub.model.records import Kind
from p2psub.traces.segments import read_segments
from tests.analysis.planted_trace import BEGIN_US, PlantedTrace


def test_what_was_planted_is_read_again(tmp_path: Path) -> None:
    """Segments hold the records in order, however they were cut into files."""
    trace = PlantedTrace()
    alice, bob = trace.process("alice", at_ms=0), trace.process("bob", incarnation=3)
    event = alice.publish("bread", {"price": 3}, at_ms=5)
    bob.deliver(event, bob.subscribe("bread", at_ms=2), at_ms=9.5)
    bob.lose(2)
    bob.close()
    trace.write(tmp_path, batch=2)
    read = list(read_segments(tmp_path))
    assert sorted(map(repr, read)) == sorted(map(repr, trace.records))
    assert [record.sequence for record in bob.records] == [1, 2, 3, 6]
    assert bob.records[2].digest == alice.records[1].digest
    walls = [record.stamp.wall_us - BEGIN_US for record in bob.records]
    assert (bob.records[3].kind, walls) == (Kind.CLOSE, [1_000, 2_000, 9_500, 10_500])
