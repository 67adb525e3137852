"""One small Spark for all tests of a process: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from p2psub.analysis.session import open_session
from p2psub.cli.main import app
from p2psub.traces.segments import SegmentName
from tests.analysis.planted_trace import PlantedTrace
from tests.analysis.traces import market


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that use Spark share a process: each further one would warm up a JVM of its own, for a minute of CPU.

    First, because xdist reads the groups; it would come before us where this directory is named on the command line.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


class Lent:
    """The session of the tests, for a command that thinks it is its own."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def stop(self) -> None:
        """Others go on with it."""


@pytest.fixture
def _lent(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2psub.analysis.session.open_session", lambda *_, **__: Lent(spark))


class Analysed(NamedTuple):
    """A planted trace, where it lies with a file that is skipped, and what `p2psub analyze` made of it."""

    trace: PlantedTrace
    traces: Path
    out: Path
    result: Result


@pytest.fixture(scope="session")
def analysed_market(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Analysed:
    """A whole analysis takes long: once for all tests that look at it."""
    trace, place = market(is_cut=False), tmp_path_factory.mktemp("market")
    traces, out = place / "traces", place / "out"
    trace.write(traces)
    newer = SegmentName.of(trace.processes[0].records[-1])._replace(version=9)
    (traces / newer.file_name).write_text("{}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("p2psub.analysis.session.open_session", lambda *_, **__: Lent(spark))
        result = CliRunner().invoke(app, ["analyze", str(traces), "--out", str(out), "--json"])
    return Analysed(trace, traces, out, result)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session for tests: two threads, and quick, as for any small trace."""
    session = open_session("local[2]", memory_mib=1024, quick=True)
    yield session
    session.stop()
