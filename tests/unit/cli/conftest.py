"""What tests of the commands share: a peer that is served, and the commands as `p2psub` has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.runtime.control.served import Served, served


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Served]:
    """A served fake peer."""
    with served(tmp_path / "data") as serving:
        yield serving


@pytest.fixture(autouse=True)
def _no_peer_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("P2PSUB_"):
            monkeypatch.delenv(name)
