"""One engine, one trace, all questions: what each cost. A process of its own, so that CPU and memory are its own.

    python -m p2psub.analysis.benchmark.worker spark|duckdb DIRECTORY ROWS THREADS MEMORY_MIB

Prints one JSON object. CPU seconds are of all threads of the process; for Spark of the JVM and of the Python beside it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from p2psub.analysis.benchmark.engines import ANSWERS, AUDITED, QueryEngine, Rows, duckdb_engine, spark_engine

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


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
    open_engine = {"spark": spark_engine, "duckdb": duckdb_engine}[engine]
    with open_engine(Path(directory), int(rows), int(threads), int(memory_mib)) as opened:
        start_cpu_s = cpu_s(opened.pids)
        questions = {name: _measured(opened, name) for name in (*ANSWERS, *AUDITED)}
        peak = sum(map(peak_mib, opened.pids))
    sys.stdout.buffer.write(msgspec.json.encode(Run(engine, start_cpu_s, peak, questions)))


def _measured(engine: QueryEngine, name: str) -> Cost:
    began_cpu_s, began_s = cpu_s(engine.pids), time.monotonic()
    answer = engine.ask(name)
    return Cost(cpu_s(engine.pids) - began_cpu_s, time.monotonic() - began_s, _plain(answer))


def _plain(answer: Rows) -> Rows:
    """In one order and one kind of number: engines may differ in both, and in the last bits of a quotient."""
    rounded = [tuple(round(float(v), 6) if isinstance(v, int | float) else v for v in row) for row in answer]
    return sorted(rounded, key=repr)


def cpu_s(pids: list[int]) -> float:
    """CPU seconds of processes so far; Linux only."""
    return sum(_ticks(pid) for pid in pids) / _TICKS_PER_S


def _ticks(pid: int) -> int:
    # After the name in brackets, which may hold anything: fields 14 and 15 of the whole.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def peak_mib(pid: int) -> float:
    """The most memory that a process had."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(*sys.argv[1:])
