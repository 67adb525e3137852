"""What slow tests share: the compiled wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.wheels import compiled_packages


@pytest.fixture(scope="session")
def compiled(pytestconfig: pytest.Config) -> Path:
    """A directory with what the compiled wheel holds; .pytest_cache keeps it for later runs."""
    assert pytestconfig.cache is not None
    return compiled_packages(pytestconfig.cache.mkdir("wheel"))
