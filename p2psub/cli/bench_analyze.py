"""`p2psub bench analyze`: how fast the analysis is, beside DuckDB."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from p2psub.cli.exits import explained
from p2psub.cli.interrupts import ended_by_signal
from p2psub.errors import ConfigError

if TYPE_CHECKING:
    from p2psub.analysis.benchmark.comparison import AnalyzeReport, Comparison, Size

EXIT_DIFFERENT = 3


def bench_analyze(
    rows: Annotated[str, typer.Option(help="Sizes of the traces, such as 1e6,1e7.")] = "1e6,1e7",
    threads: Annotated[int, typer.Option(min=1, help="Of each engine.")] = min(os.cpu_count() or 1, 2),
    memory_mib: Annotated[int, typer.Option("--memory", min=512, help="MiB for Spark's heap, and for DuckDB.")] = 4096,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """All questions and audits of the analysis on Spark, beside the same to DuckDB over the same synthetic trace.

    Exit codes: 0 fine, 1 it could not be measured, 3 the two gave different answers.
    """
    with explained(as_json):
        sizes = _sizes(rows)
        try:
            from p2psub.analysis.benchmark.comparison import bench_analyze as measure  # noqa: PLC0415, Spark is an extra
        except ImportError as error:
            raise ConfigError(
                "bench analyze", f"{error.name} is missing; pip install 'p2psub[spark]' duckdb"
            ) from error
        console = Console(stderr=True)
        with ended_by_signal(), console.status("measuring") as status:
            report = measure(sizes, threads, memory_mib, status.update)
    if as_json:
        print(json.dumps(msgspec.to_builtins(report)))
    else:
        for table in _tables(report):
            Console().print(table)
    if any(size.differing for size in report.sizes):
        raise typer.Exit(EXIT_DIFFERENT)


def _lines(size: Size) -> list[tuple[str, Comparison]]:
    return [*size.questions.items(), ("all answers", size.answers), ("all audits", size.audits), ("all", size.all)]


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(float(part)) for part in text.split(",")]
    except (ValueError, OverflowError):
        sizes = []
    if not sizes or min(sizes) < 1:
        raise ConfigError("--rows", f"{text!r} is not a valid list of sizes; try 1e6,1e7")
    return sizes


def _tables(report: AnalyzeReport) -> list[Table]:
    tables = []
    for size in report.sizes:
        memory = f"peak memory: Spark {size.spark_peak_mib:,.0f} MiB, DuckDB {size.duckdb_peak_mib:,.0f} MiB"
        start = f"Spark's start took {size.spark_start_cpu_s:.1f} CPU s more"
        agreed = f"different answers: {', '.join(size.differing)}" if size.differing else "all answers agree"
        table = Table(title=f"{size.rows:,} rows, {report.threads} threads", caption=f"{memory}; {start}; {agreed}")
        for heading in ("question", "Spark CPU s", "DuckDB CPU s", "ratio", "Spark rows/s", "DuckDB rows/s"):
            table.add_column(heading, justify="left" if heading == "question" else "right")
        for name, found in _lines(size):
            table.add_row(
                name,
                f"{found.spark.cpu_s:.2f}",
                f"{found.duckdb.cpu_s:.2f}",
                f"{found.ratio:.2f}",
                f"{found.spark.rows_per_s:,.0f}",
                f"{found.duckdb.rows_per_s:,.0f}",
            )
        tables.append(table)
    return tables
