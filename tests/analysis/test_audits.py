"""Every audit finds what was planted for it, exactly, and says `unknown` where a cut trace may hold the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.audits import sequences
from p2psub.analysis.audits.catalogue import AUDITS
from p2psub.analysis.audits.findings import told
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.doubts import Doubts
from p2psub.analysis.rematching import rematch
from p2psub.analysis.schemas import VIOLATIONS
from p2psub.analysis.tables import Tables
from p2psub.analysis.terms import Terms
from tests.analysis.planting import Planting
from tests.analysis.rows import Numbers
from tests.analysis.wrongs import Wrongs, peers


def kept(tables: Tables) -> Tables:
    """Tables that are asked many things."""
    return Tables(*(frame.coalesce(1).persist() for frame in tables))


def all_found(tables: Tables, *, is_rematched: bool) -> list[Any]:
    """What all audits find."""
    acks = acknowledged(tables).persist()
    pairs = rematch(tables, acks).persist() if is_rematched else None
    terms = Terms(pairs, acks=acks, doubts=Doubts.of(tables))
    found = []
    for audit in AUDITS:
        rows = audit.find(tables, terms)
        assert rows.schema == VIOLATIONS or rows.schema.simpleString() == VIOLATIONS.simpleString()
        several = rows.collect()
        assert {row.invariant for row in several} <= set(audit.promises)
        found += several
    return told(tables, tables.records.sparkSession.createDataFrame(found, VIOLATIONS)).collect()


def compared(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Of findings what is known beforehand."""
    columns = ("invariant", "verdict", "process", "sequence", "event", "subscription", "cast")
    return sorted((tuple(row[column] for column in columns) for row in rows), key=repr)


@pytest.mark.parametrize("is_rematched", [False, True], ids=["by counts", "rematched"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["whole", "cut"])
def test_audits_find_what_was_planted_and_nothing_else(spark: SparkSession, is_cut: bool, is_rematched: bool) -> None:
    """Every broken promise, with its records; the kept ones beside them are passed over."""
    wrongs = Wrongs(is_cut=is_cut)
    found = all_found(kept(wrongs.trace.tables(spark)), is_rematched=is_rematched)
    assert compared(found) == wrongs.found(is_rematched=is_rematched)
    assert not any("{" in row.text or "?" in row.text for row in found)
    spark.catalog.clearCache()


def test_sequences_tell_holes_silence_and_clocks_that_run_back(spark: SparkSession) -> None:
    """Holes that nothing accounts for break the trace's own rule; those a peer owns up to are unknown."""
    trace = Planting()
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
    early = whole.records[0].stamp
    whole.records[2] = msgspec.structs.replace(whole.records[2], stamp=early)
    numbers, tables = Numbers.of(trace.records), trace.tables(spark)
    found = {
        (row.verdict, row.process, row.sequence): row.text for row in told(tables, sequences.audit(tables)).collect()
    }
    number = {process: numbers.processes[process.node, 1] for process in (whole, holed, honest, silent)}
    assert found == {
        ("violated", number[holed], 5): f"2 records of {peers(holed)[0]} are not there, and nothing says why",
        (
            "unknown",
            number[honest],
            6,
        ): f"2 records of {peers(honest)[0]} are not there, and it says that it dropped them",
        ("unknown", number[silent], None): f"others speak of {peers(silent)[0]}, of which there is no trace",
        ("violated", number[whole], 3): f"the stamp of record 3 of {peers(whole)[0]} is not after the one before it",
    }
