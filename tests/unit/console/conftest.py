"""What tests of the console share: a session with a served fake peer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from p2psub.cli.client import ControlClient
from p2psub.cli.endpoint import find_peer
from p2psub.console.session import ConsoleSession
from tests.unit.console.screens import Screen
from tests.unit.runtime.control.served import Served, served


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Served]:
    """A served fake peer."""
    with served(tmp_path / "data") as serving:
        yield serving


@pytest.fixture
def screen() -> Screen:
    """Where the session prints."""
    return Screen()


@pytest.fixture
def session(peer: Served, screen: Screen) -> Iterator[ConsoleSession]:
    """A session of the console."""
    with ControlClient(find_peer(peer.data)) as client:
        session = ConsoleSession(client, Console(file=screen, width=200, soft_wrap=True))
        yield session
        session.close()
