"""Two opinions on the same tables: of Spark, as an analysis asks it, and of DuckDB, with SQL of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
from pyspark.sql import Row

from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits.catalogue import AUDITS
from p2psub.analysis.benchmark.audit_queries import AUDIT_QUERIES, COLUMNS
from p2psub.analysis.benchmark.ground import GROUND
from p2psub.analysis.benchmark.queries import MACROS
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.rematch import rematch
from p2psub.analysis.schemas import VIOLATIONS
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables


def audited_by_spark(tables: Tables, *, is_rematched: bool = False) -> dict[str, list[Row]]:
    """What each audit finds, as rows of `schemas.VIOLATIONS`."""
    acks = acknowledged(tables).persist()
    pairs = rematch(tables, acks).persist() if is_rematched else None
    context = AuditContext(pairs, acks=acks, silent_spans=SilentSpans.of(tables))
    found = {}
    for audit in AUDITS:
        rows = audit.find(tables, context)
        assert rows.schema == VIOLATIONS or rows.schema.simpleString() == VIOLATIONS.simpleString()
        found[audit.name] = rows.collect()
        assert {row.invariant for row in found[audit.name]} <= set(audit.promises)
    return found


def compared(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Of findings what both say, in one order."""
    return sorted((tuple(row[column] for column in COLUMNS) for row in rows), key=repr)


def second_opinion(tables: Tables) -> duckdb.DuckDBPyConnection:
    """DuckDB over the rows of the tables."""
    connection = duckdb.connect()
    for name, frame in tables._asdict().items():
        connection.register(f"{name}_arrow", frame.toArrow())
        connection.execute(f"create table {name} as select * from {name}_arrow")
    for macro in MACROS:
        connection.execute(macro)
    return connection


def audited_by_duckdb(tables: Tables) -> dict[str, list[tuple[Any, ...]]]:
    """What each audit finds, as `compared` has it."""
    with second_opinion(tables) as connection:
        for statement in GROUND:
            connection.execute(statement)
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        return {
            name: sorted(connection.execute(f"select {columns} from ({query})").fetchall(), key=repr)
            for name, query in AUDIT_QUERIES.items()
        }
