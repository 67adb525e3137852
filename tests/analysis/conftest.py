"""One small Spark for all tests of a process: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.session import open_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever shares Spark shares a process: each further one would start and warm up a JVM of its own."""
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


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session for tests: two threads, and quick, as for any small trace."""
    session = open_session("local[2]", memory_mib=1024, quick=True)
    yield session
    session.stop()
