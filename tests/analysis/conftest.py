"""One small Spark for all tests of a process: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.session import open_session

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""For some dozens of rows it takes longer to compile a query than to run it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever shares Spark shares a process: each further one would start and warm up a JVM of its own."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session for tests: two threads, few partitions, and a compiler that is quick rather than thorough."""
    session = open_session("local[2]", memory_mib=1024, shuffle_partitions=1, quick=True, settings=INTERPRETED)
    yield session
    session.stop()
