"""The two engines of the benchmark, each over one trace: Spark as an analysis uses it, and DuckDB beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb
import pyspark.sql.functions as F  # noqa: N812, as everybody calls it
from pyspark.sql import SparkSession

from p2psub.analysis.answers import QUESTIONS
from p2psub.analysis.answers.coverage import coverage
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.catalogue import AUDITS
from p2psub.analysis.benchmark.audit_queries import AUDIT_QUERIES
from p2psub.analysis.benchmark.ground import GROUND, GROUND_SUMMED
from p2psub.analysis.benchmark.queries import MACROS, QUERIES
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.outputs import keep, settling
from p2psub.analysis.schemas import NODES, PROCESSES, RECORDS
from p2psub.analysis.session import make_room_for, open_session
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables

Rows = list[tuple[Any, ...]]

GROUND_OF_AUDITS: Final = "ground of audits"
"""What audits share, asked before them: silent spans, debts, coverage by event."""
ANSWERS: Final = tuple(QUERIES)
AUDITED: Final = (GROUND_OF_AUDITS, *(f"audit {name}" for name in AUDIT_QUERIES))
"""What can be asked, in this order. An audit is answered by how many findings there are of each kind."""


class QueryEngine(NamedTuple):
    """One that is ready to be asked, and the processes it runs in."""

    ask: Callable[[str], Rows]
    pids: list[int]


@contextmanager
def spark_engine(path: Path, rows: int, threads: int, memory_mib: int) -> Iterator[QueryEngine]:
    """Spark, on this machine."""
    spark = open_session(f"local[{threads}]", memory_mib=memory_mib)
    make_room_for(spark, rows)
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session without JVM"
    yield QueryEngine(_Spark(spark, path).ask, [os.getpid(), int(jvm.java.lang.ProcessHandle.current().pid())])
    spark.stop()


class _Spark:
    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._tables = Tables(
            spark.read.schema(RECORDS).parquet(str(path / "records")).select(*RECORDS.names),
            spark.read.schema(PROCESSES).parquet(str(path / "processes")),
            spark.read.schema(NODES).parquet(str(path / "nodes")),
        )
        self._workspace = path / "spark"
        self._columns = _columns()
        self._context = NO_CONTEXT
        self._audits = {f"audit {audit.name}": audit for audit in AUDITS}

    def ask(self, name: str) -> Rows:
        if name == GROUND_OF_AUDITS:
            answer = self._lay_ground()
        elif name in self._audits:
            answer = self._audits[name].find(self._tables, self._context).groupBy("invariant", "verdict").count()
        else:
            answer = QUESTIONS[name](self._tables).select(*self._columns[name])
        return [tuple(row) for row in answer.collect()]

    def _lay_ground(self) -> Any:
        acks = keep(acknowledged(self._tables), self._workspace / "acknowledged")
        context = AuditContext(acks=acks, silent_spans=SilentSpans.of(self._tables), settle=settling(self._workspace))
        self._context = context._replace(covered=keep(coverage(self._tables, context), self._workspace / "covered"))
        return acks.agg(F.count("*"), F.sum("owed"), F.count("stored_us"), F.count("discharged_us"))


@contextmanager
def duckdb_engine(path: Path, _: int, threads: int, memory_mib: int) -> Iterator[QueryEngine]:
    """DuckDB, in this process."""
    with duckdb.connect(config={"threads": threads, "memory_limit": f"{memory_mib}MiB"}) as connection:
        connection.execute(f"set temp_directory = '{path / 'duckdb'}'")
        for name in ("records", "processes", "nodes"):
            files = path / name / ("*/*.parquet" if name == "records" else "*.parquet")
            source = f"read_parquet('{files}', hive_partitioning = {name == 'records'})"
            connection.execute(f"create view {name} as select * from {source}")
        for macro in MACROS:
            connection.execute(macro)

        def ask(name: str) -> Rows:
            for statement in GROUND if name == GROUND_OF_AUDITS else ():
                connection.execute(statement)
            return connection.execute(_sql_of(name)).fetchall()

        yield QueryEngine(ask, [os.getpid()])


def _sql_of(name: str) -> str:
    if name == GROUND_OF_AUDITS:
        return GROUND_SUMMED
    if name in QUERIES:
        return QUERIES[name]
    findings = AUDIT_QUERIES[name.removeprefix("audit ")]
    return f"select invariant, verdict, count(*) from ({findings}) group by all"


def _columns() -> dict[str, list[str]]:
    """The columns of each answer that the queries have too, from empty tables."""
    with duckdb.connect() as connection:
        types = {"int": "integer", "binary": "blob", "string": "varchar"}
        for name, schema in (("records", RECORDS), ("processes", PROCESSES), ("nodes", NODES)):
            columns = ((field.name, field.dataType.simpleString()) for field in schema)
            listed = ", ".join(f'"{column}" {types.get(type_, type_)}' for column, type_ in columns)
            connection.execute(f"create table {name} ({listed})")
        for macro in MACROS:
            connection.execute(macro)
        return {
            name: [column[0] for column in connection.execute(query).description] for name, query in QUERIES.items()
        }
