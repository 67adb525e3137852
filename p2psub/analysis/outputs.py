"""What an analysis leaves behind: the page, the figures, and every table as Parquet and as JSON lines.

report.html
figures.json
tables/NAME.parquet
tables/NAME.json       one object per line
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from p2psub.errors import ConfigError

REPORT: Final = "report.html"
FIGURES: Final = "figures.json"
TABLES: Final = "tables"
WORK: Final = ".p2psub-work"
"""The workspace of a run, while it runs."""
_ROWS_AT_ONCE: Final = 16_384


def make_out(out: Path) -> Path:
    """The directory for results, new or empty."""
    try:
        if out.is_dir() and [path.name for path in out.iterdir()] == [WORK]:
            # Left by a run that was killed.
            shutil.rmtree(out / WORK)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ConfigError("out", f"{out} is not empty; name a directory that is, or a new one")
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError("out", f"{out} cannot be written ({error.strerror}); name another directory") from error
    return out.resolve()


def keep(frame: DataFrame, path: Path) -> DataFrame:
    """The same rows, computed once: as Parquet in the workspace of the run."""
    frame.write.parquet(str(path))
    return frame.sparkSession.read.schema(frame.schema).parquet(str(path))


def settling(workspace: Path) -> Callable[[DataFrame], DataFrame]:
    """For `AuditContext.settle`: each frame is kept under a name of its own."""
    numbers = itertools.count()
    return lambda frame: keep(frame, workspace / f"settled-{next(numbers)}")


def write_table(name: str, kept: Path, out: Path) -> None:
    """One file each as Parquet and as JSON lines, of what was kept in parts; piece by piece, whatever its size."""
    (out / TABLES).mkdir(exist_ok=True)
    parts = sorted(kept.rglob("*.parquet"))
    with ExitStack() as stack:
        schema = pq.read_schema(parts[0])
        table = stack.enter_context(pq.ParquetWriter(out / TABLES / f"{name}.parquet", schema))
        lines = stack.enter_context((out / TABLES / f"{name}.json").open("w", encoding="utf-8"))
        for part in parts:
            for batch in pq.ParquetFile(part).iter_batches(_ROWS_AT_ONCE):
                table.write_batch(batch)
                lines.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def write_figures(figures: Mapping[str, object], out: Path) -> None:
    """All headline figures, as `--json` prints them."""
    (out / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def write_report(page: str, out: Path) -> None:
    """The page."""
    (out / REPORT).write_text(page, encoding="utf-8")
