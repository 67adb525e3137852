"""Every audit finds what was planted for it, exactly, and says `unknown` where a cut trace may hold the answer."""

from __future__ import annotations

import msgspec
import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.audits import copies, deliveries, sequences
from p2psub.analysis.audits.findings import told
from p2psub.analysis.schemas import VIOLATIONS
from p2psub.model.records import Kind
from tests.analysis.opinions import audited_by_duckdb, audited_by_spark, compared
from tests.analysis.planted_trace import PlantedTrace
from tests.analysis.rows import Numbers
from tests.analysis.wrongs import Wrongs, peers


@pytest.mark.parametrize(
    "is_rematched",
    [pytest.param(False, id="by counts"), pytest.param(True, id="rematched", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "is_cut", [pytest.param(False, id="whole"), pytest.param(True, id="cut", marks=pytest.mark.slow)]
)
def test_audits_find_what_was_planted_and_nothing_else(spark: SparkSession, is_cut: bool, is_rematched: bool) -> None:
    """Every broken promise, with its records; the kept ones beside them are passed over. DuckDB finds the same."""
    wrongs = Wrongs(is_cut=is_cut)
    tables = wrongs.trace.tables(spark)
    found = [row for rows in audited_by_spark(tables, is_rematched=is_rematched).values() for row in rows]
    assert compared(found) == wrongs.found(is_rematched=is_rematched)
    if not is_rematched:
        theirs = [row for rows in audited_by_duckdb(tables).values() for row in rows]
        assert sorted(theirs, key=repr) == wrongs.found(is_rematched=False)
    said = told(tables, spark.createDataFrame(found, VIOLATIONS)).collect()
    assert not any("{" in row.text or "?" in row.text for row in said)
    spark.catalog.clearCache()


@pytest.mark.parametrize(
    ("start", "found"), [({}, 1), ({"copies_required": 2}, 0), ({"heartbeat_us": 20_000_000, "copies_required": 3}, 0)]
)
def test_peers_are_held_to_what_they_were_set_to(spark: SparkSession, start: dict[str, int], found: int) -> None:
    """Two copies in a ring of five: too few, unless two were asked for, or the members had joined just now."""
    trace = PlantedTrace()
    members = [trace.process(name, started=False) for name in ("owner", "ann", "bob", "cid", "dan")]
    for member in members:
        member.record(Kind.START, at_ms=0, **start)
        member.ring(at_ms=1)
    owner, ann, *_ = members
    event = ann.publish(at_ms=30_000)
    owner.store(event, owed=1)
    ann.keep(event)
    ann.acknowledge(event, count=1, copies=2)
    for member in members:
        member.close(at_ms=90_000)
    assert [row.invariant for row in copies.audit(trace.tables(spark)).collect()] == ["S5"] * found


def test_who_leaves_in_good_order_is_no_member_any_more(spark: SparkSession) -> None:
    """Its super-node counts it out before it writes its last record: one copy is enough for the one that stays."""
    trace = PlantedTrace()
    owner, leaver = (trace.process(name, at_ms=0) for name in ("owner", "leaver"))
    for member in (owner, leaver):
        member.ring(at_ms=1)
    event = owner.publish(at_ms=30_000)
    owner.store(event, owed=1)
    owner.acknowledge(event, count=1, copies=1)
    leaver.close(at_ms=31_000)
    owner.close(at_ms=90_000)
    assert copies.audit(trace.tables(spark)).collect() == []


def test_what_was_discarded_long_before_excuses_nothing(spark: SparkSession) -> None:
    """A copy that is missing was not made in a part of the trace that is older than its event."""
    trace = PlantedTrace()
    owner, holder = trace.process("owner", at_ms=0), trace.process("holder", started=False)
    holder.lose(9)
    holder.ring(at_ms=60)
    holder.drop("trace_discarded", count=9)
    event = owner.publish(at_ms=20_000)
    owner.store(event, owed=1)
    owner.acknowledge(event, count=1, copies=2)
    for member in (owner, holder):
        member.close(at_ms=90_000)
    assert [row.verdict for row in copies.audit(trace.tables(spark)).collect()] == ["violated"]


def test_one_event_handed_over_by_two_processes_is_shown_by_a_record_that_there_is(spark: SparkSession) -> None:
    """The last one; not the number of one record under the name of the other's process."""
    trace = PlantedTrace()
    ann, bob = trace.process("ann"), trace.process("bob")
    wanted = ann.subscribe()
    event = bob.publish()
    for _ in range(9):
        ann.ring()
    ann.deliver(event, wanted)
    last = bob.deliver(event, wanted)
    numbers = Numbers.of(trace.records)
    (twice,) = [row for row in deliveries.audit(trace.tables(spark)).collect() if row.invariant == "S2"]
    assert (twice.process, twice.sequence) == (numbers.processes[last.node, 1], last.sequence)


def test_sequences_tell_holes_silence_and_clocks_that_run_back(spark: SparkSession) -> None:
    """Holes that nothing accounts for break the trace's own rule; those a peer owns up to are unknown."""
    trace = PlantedTrace()
    whole, holed, honest, cut = (trace.process(name) for name in ("whole", "holed", "honest", "cut"))
    for process in (holed, honest):
        process.lose(2)
        process.ring()
    honest.drop("trace_overflow", count=2)
    whole.ring()
    whole.ring()
    silent = trace.process("silent", started=False)
    whole.drop("ended", event=silent.publish())
    for process in (whole, holed, honest):
        process.close()
    cut.ring()
    trace.processes.remove(silent)
    # A peer that has run for long discards also what told of earlier discarding.
    old = trace.process("old", started=False)
    old.lose(4_000)
    old.ring()
    old.drop("trace_discarded", count=20)
    old.close()
    early = whole.records[0].stamp
    whole.records[2] = msgspec.structs.replace(whole.records[2], stamp=early)
    numbers, tables = Numbers.of(trace.records), trace.tables(spark)
    found = {
        (row.verdict, row.process, row.sequence): row.text for row in told(tables, sequences.audit(tables)).collect()
    }
    number = {process: numbers.processes[process.node, 1] for process in (whole, holed, honest, silent, old)}
    assert found == {
        (
            "unknown",
            number[old],
            4003,
        ): f"4000 records of {peers(old)[0]} are not there, and it says that it dropped them",
        ("violated", number[holed], 5): f"2 records of {peers(holed)[0]} are not there, and nothing says why",
        (
            "unknown",
            number[honest],
            6,
        ): f"2 records of {peers(honest)[0]} are not there, and it says that it dropped them",
        ("unknown", number[silent], None): f"others speak of {peers(silent)[0]}, of which there is no trace",
        ("violated", number[whole], 3): f"the stamp of record 3 of {peers(whole)[0]} is not after the one before it",
    }
