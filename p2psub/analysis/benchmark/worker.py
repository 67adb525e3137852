"""One engine, one trace, all questions: what each cost. A process of its own, so that CPU and memory are its own.

    python -m p2psub.analysis.benchmark_worker spark|duckdb DIRECTORY ROWS THREADS MEMORY_MIB

Prints one JSON object. CPU seconds are of all threads of the process; for Spark of the JVM and of the Python beside it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from p2psub.analysis.answers import QUESTIONS
from p2psub.analysis.benchmark_queries import MACROS, QUERIES
from p2psub.analysis.schemas import NODES, PROCESSES, RECORDS
from p2psub.analysis.session import open_session
from p2psub.analysis.tables import Tables

_ROWS_PER_PARTITION: Final = 2_000_000
"""Of a shuffle: what a task groups in memory without spilling."""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")

Rows = list[tuple[Any, ...]]


class Cost(msgspec.Struct, frozen=True):
    """What one question cost, and the answer, for the other engine to agree with."""

    cpu_s: float
    wall_s: float
    answer: Rows


class Run(msgspec.Struct, frozen=True):
    """All questions to one engine."""

    engine: str
    start_cpu_s: float
    """Before the first question: the interpreter, the JVM, the session."""
    peak_mib: float
    questions: dict[str, Cost]


def main(engine: str, directory: str, rows: str, threads: str, memory_mib: str) -> None:
    """Ask all questions, and print what they cost."""
    engines = {"spark": _spark, "duckdb": _duckdb}
    with engines[engine](Path(directory), int(rows), int(threads), int(memory_mib)) as (ask, pids):
        start_cpu_s = _cpu_s(pids)
        questions = {name: _measured(lambda name=name: ask(name), pids) for name in QUERIES}  # type: ignore[misc]
        peak_mib = sum(map(_peak_mib, pids))
    sys.stdout.buffer.write(msgspec.json.encode(Run(engine, start_cpu_s, peak_mib, questions)))


def _measured(ask: Callable[[], Rows], pids: list[int]) -> Cost:
    cpu_s, wall_s = _cpu_s(pids), time.monotonic()
    answer = ask()
    return Cost(_cpu_s(pids) - cpu_s, time.monotonic() - wall_s, _plain(answer))


def _plain(answer: Rows) -> Rows:
    """In one order and one kind of number: engines may differ in both, and in the last bits of a quotient."""
    rounded = [tuple(round(float(v), 6) if isinstance(v, int | float) else v for v in row) for row in answer]
    return sorted(rounded, key=repr)


@contextlib.contextmanager
def _spark(path: Path, rows: int, threads: int, memory_mib: int) -> Iterator[tuple[Callable[[str], Rows], list[int]]]:
    partitions = max(2 * threads, rows // _ROWS_PER_PARTITION)
    spark = open_session(f"local[{threads}]", memory_mib=memory_mib, shuffle_partitions=partitions)
    tables = Tables(
        spark.read.schema(RECORDS).parquet(str(path / "records")).select(*RECORDS.names),
        spark.read.schema(PROCESSES).parquet(str(path / "processes")),
        spark.read.schema(NODES).parquet(str(path / "nodes")),
    )
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session without JVM"
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    columns = _columns()

    def ask(name: str) -> Rows:
        return [tuple(row) for row in QUESTIONS[name](tables).select(*columns[name]).collect()]

    yield ask, [os.getpid(), pid]
    spark.stop()


@contextlib.contextmanager
def _duckdb(path: Path, _: int, threads: int, memory_mib: int) -> Iterator[tuple[Callable[[str], Rows], list[int]]]:
    with duckdb.connect(config={"threads": threads, "memory_limit": f"{memory_mib}MiB"}) as connection:
        connection.execute(f"set temp_directory = '{path / 'duckdb'}'")
        for name in ("records", "processes", "nodes"):
            files = path / name / ("*/*.parquet" if name == "records" else "*.parquet")
            source = f"read_parquet('{files}', hive_partitioning = {name == 'records'})"
            connection.execute(f"create view {name} as select * from {source}")
        for macro in MACROS:
            connection.execute(macro)
        yield lambda name: connection.execute(QUERIES[name]).fetchall(), [os.getpid()]


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


def _cpu_s(pids: list[int]) -> float:
    """CPU seconds of processes so far; Linux only."""
    return sum(_ticks(pid) for pid in pids) / _TICKS_PER_S


def _ticks(pid: int) -> int:
    # After the name in brackets, which may hold anything: fields 14 and 15 of the whole.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(*sys.argv[1:])
