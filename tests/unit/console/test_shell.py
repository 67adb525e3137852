"""The console's loop, with keys from a pipe in place of a keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from p2psub.cli.client import ControlClient
from p2psub.cli.endpoint import find_peer
from p2psub.console.shell import history_in, run_prompt
from p2psub.model.content import Draft
from tests.unit.runtime.control.served import Served


@pytest.mark.parametrize("leaving", ["quit\r", "\x04"])
def test_lines_are_obeyed_until_the_user_leaves(peer: Served, leaving: str) -> None:
    """By quit or Ctrl-D; a line that Ctrl-C gave up is not obeyed."""
    with (
        create_pipe_input() as keys,
        create_app_session(input=keys, output=DummyOutput()),
        ControlClient(find_peer(peer.data)) as client,
    ):
        keys.send_text("publish a n=1\rpublish b\x03nonsense\r" + leaving)
        run_prompt(client, peer.data)
    assert peer.peer.published == [Draft("a", {"n": 1})]


def test_without_a_data_directory_history_is_not_kept(tmp_path: Path) -> None:
    """With one, it is kept there."""
    assert isinstance(history_in(None), InMemoryHistory)
    history = history_in(tmp_path)
    history.append_string("publish a")
    assert "publish a" in (tmp_path / "console.history").read_text()
