"""`p2psub bench analyze`: all questions on Spark, and the same questions to DuckDB over the same files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from p2psub.analysis.benchmark.engines import ANSWERS
from p2psub.analysis.benchmark.traces import write_trace
from p2psub.analysis.benchmark.worker import Run
from p2psub.errors import P2psubError

_BYTES_PER_ROW = 60
"""Of a trace on the disk, what is kept of it meanwhile, and what sorting it takes, at most."""


class EngineFailed(P2psubError):
    """A measurement did not come to an end."""


class Side(msgspec.Struct, frozen=True):
    """One engine, all questions or one."""

    cpu_s: float
    wall_s: float
    rows_per_s: float


class Comparison(msgspec.Struct, frozen=True):
    """Spark and DuckDB; `ratio` is of CPU seconds."""

    spark: Side
    duckdb: Side
    ratio: float


class Size(msgspec.Struct, frozen=True):
    """One trace."""

    rows: int
    written_s: float
    questions: dict[str, Comparison]
    answers: Comparison
    """The answers together."""
    audits: Comparison
    """The audits together, with what they rest on."""
    all: Comparison
    spark_start_cpu_s: float
    spark_peak_mib: float
    duckdb_peak_mib: float
    differing: list[str]
    """Questions to which the two gave different answers: none, or one of them is wrong."""


class AnalyzeReport(msgspec.Struct, frozen=True):
    """All sizes, on this machine."""

    threads: int
    memory_mib: int
    cpus: int
    load_average: float
    sizes: list[Size]


def bench_analyze(sizes: list[int], threads: int, memory_mib: int, tell: Callable[[str], None]) -> AnalyzeReport:
    """Measure every size, smallest first; each engine is a process of its own, one after the other."""
    load_average = os.getloadavg()[0]
    measured = [_measure(rows, threads, memory_mib, tell) for rows in sorted(sizes)]
    return AnalyzeReport(threads, memory_mib, os.cpu_count() or 1, load_average, measured)


def _measure(rows: int, threads: int, memory_mib: int, tell: Callable[[str], None]) -> Size:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if rows * _BYTES_PER_ROW > free:
        needed = rows * _BYTES_PER_ROW >> 30
        raise EngineFailed(
            f"{rows:,} rows need about {needed} GiB in {tempfile.gettempdir()}; set TMPDIR, or ask for less"
        )
    with tempfile.TemporaryDirectory(prefix="p2psub-bench-") as directory:
        path = Path(directory)
        tell(f"{rows:,} rows: writing them")
        began_s = time.monotonic()
        count = write_trace(path, rows)
        written_s = time.monotonic() - began_s
        runs = []
        for engine in ("duckdb", "spark"):
            tell(f"{count:,} rows: asking {engine}")
            runs.append(_run(engine, path, count, threads, memory_mib))
        return _compared(count, written_s, *runs)


def _run(engine: str, path: Path, rows: int, threads: int, memory_mib: int) -> Run:
    arguments = [engine, str(path), str(rows), str(threads), str(memory_mib)]
    command = [sys.executable, "-m", "p2psub.analysis.benchmark.worker", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise EngineFailed(f"{engine} gave up: {said[-1] if said else 'it said nothing'}; more memory may help")
    return msgspec.json.decode(done.stdout, type=Run)


def _compared(rows: int, written_s: float, duckdb: Run, spark: Run) -> Size:

    def together(names: Iterable[str]) -> Comparison:
        several = list(names)
        return _comparison(rows, _sums(spark, several), _sums(duckdb, several))

    return Size(
        rows,
        written_s,
        {name: together([name]) for name in spark.questions},
        together(name for name in spark.questions if name in ANSWERS),
        together(name for name in spark.questions if name not in ANSWERS),
        together(spark.questions),
        spark.start_cpu_s,
        spark.peak_mib,
        duckdb.peak_mib,
        [name for name, ours in spark.questions.items() if ours.answer != duckdb.questions[name].answer],
    )


def _comparison(rows: int, spark: tuple[float, float], duckdb: tuple[float, float]) -> Comparison:
    return Comparison(
        Side(*spark, rows / max(spark[1], 1e-9)),
        Side(*duckdb, rows / max(duckdb[1], 1e-9)),
        spark[0] / max(duckdb[0], 1e-9),
    )


def _sums(run: Run, names: Iterable[str]) -> tuple[float, float]:
    costs = [run.questions[name] for name in names]
    return sum(cost.cpu_s for cost in costs), sum(cost.wall_s for cost in costs)
