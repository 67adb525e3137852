"""One small Spark for all tests of a process: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.session import open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session for tests: two threads, few partitions, and a compiler that is quick rather than thorough."""
    session = open_session("local[2]", memory_mib=1024, shuffle_partitions=2, quick=True)
    yield session
    session.stop()
