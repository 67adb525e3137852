"""Every audit finds what was planted for it, exactly, and says `unknown` where a cut trace may hold the answer."""

from __future__ import annotations

import msgspec
import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.audits import sequences
from p2psub.analysis.audits.findings import told
from p2psub.analysis.schemas import VIOLATIONS
from tests.analysis.opinions import audited_by_duckdb, audited_by_spark, compared, kept
from tests.analysis.planting import Planting
from tests.analysis.rows import Numbers
from tests.analysis.wrongs import Wrongs, peers


@pytest.mark.parametrize("is_rematched", [False, True], ids=["by counts", "rematched"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["whole", "cut"])
def test_audits_find_what_was_planted_and_nothing_else(spark: SparkSession, is_cut: bool, is_rematched: bool) -> None:
    """Every broken promise, with its records; the kept ones beside them are passed over. DuckDB finds the same."""
    wrongs = Wrongs(is_cut=is_cut)
    tables = kept(wrongs.trace.tables(spark))
    found = [row for rows in audited_by_spark(tables, is_rematched=is_rematched).values() for row in rows]
    assert compared(found) == wrongs.found(is_rematched=is_rematched)
    if not is_rematched:
        theirs = [row for rows in audited_by_duckdb(tables).values() for row in rows]
        assert sorted(theirs, key=repr) == wrongs.found(is_rematched=False)
    said = told(tables, spark.createDataFrame(found, VIOLATIONS)).collect()
    assert not any("{" in row.text or "?" in row.text for row in said)
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
