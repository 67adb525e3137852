"""`p2psub console`: at a terminal, and from a pipe."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect  # type: ignore[import-untyped]
import pytest
import typer
from typer.testing import CliRunner

from p2psub.cli.console import console
from p2psub.cli.exits import EXIT_NO_PEER, EXIT_REFUSED
from p2psub.model.content import Draft
from tests.unit.runtime.control.served import Served

app = typer.Typer()
app.command()(console)


def test_a_script_is_obeyed_line_by_line(peer: Served) -> None:
    """Comments and blank lines are skipped; what comes after quit is not read."""
    lines = "# a comment\n\npublish a n=1 -- hello\nstatus\nquit\npublish b\n"
    result = CliRunner().invoke(app, ["--data", str(peer.data)], input=lines)
    assert result.exit_code == 0, result.output
    assert peer.peer.published == [Draft("a", {"n": 1}, b"hello")]
    assert "matched 0 subscriptions" in result.stdout
    assert "peer ann" in result.stdout


def test_a_script_with_a_fault_goes_on_and_fails(peer: Served) -> None:
    """Exit code 1, with advice for each fault."""
    result = CliRunner().invoke(app, ["--data", str(peer.data)], input="pubish a\npublish b\n")
    assert result.exit_code == EXIT_REFUSED
    assert "did you mean publish" in result.stdout
    assert peer.peer.published == [Draft("b")]


def test_a_console_without_peer_is_exit_code_4(tmp_path: Path) -> None:
    """With how to start one."""
    result = CliRunner().invoke(app, ["--data", str(tmp_path)], input="status\n")
    assert result.exit_code == EXIT_NO_PEER
    assert "p2psub peer --data" in result.stderr


@pytest.fixture
def terminal(peer: Served) -> Iterator[pexpect.spawn]:
    """The console at a terminal of its own, ready for commands."""
    code = "import typer; from p2psub.cli.console import console; typer.run(console)"
    child = pexpect.spawn(
        sys.executable,
        ["-c", code, "--data", str(peer.data)],
        encoding="utf-8",
        dimensions=(40, 160),
        env={"TERM": "xterm", "PATH": "/usr/bin:/bin", "PROMPT_TOOLKIT_NO_CPR": "1"},
        timeout=60,
    )
    child.expect_exact("help lists the commands")
    yield child
    child.close(force=True)


def test_notifications_arrive_while_one_types(peer: Served, terminal: pexpect.spawn) -> None:
    """They appear above the prompt, and what was being typed is still there to be entered."""
    terminal.sendline("subscribe topic = 'quotes'")
    terminal.expect_exact("not yet stored in red")
    subscription = peer.subscription(0)
    terminal.send("publish news")
    terminal.expect_exact("publish news")
    peer.wait(peer.peer.publish_many, [Draft("quotes", {"price": 12.5})])
    terminal.expect_exact("[1] quotes price=12.5")
    terminal.sendline(" n=7")
    terminal.expect_exact("matched 0 subscriptions")
    assert peer.peer.published[-1] == Draft("news", {"n": 7})
    terminal.sendline("unsubscribe 1")
    terminal.expect_exact("[1] unsubscribed")
    peer.wait(subscription.ended.wait)


def test_tab_completes_and_history_is_kept(peer: Served, terminal: pexpect.spawn) -> None:
    """A command and a topic by their first letters; lines are kept in the data directory, for the owner alone."""
    terminal.sendline("publish weather/today")
    terminal.expect_exact("matched 0")
    terminal.expect_exact("ann>")
    terminal.send("publ\t")
    terminal.expect_exact("ish")
    terminal.send("weat\t")
    terminal.expect_exact("her/today")
    terminal.sendline(" n=1")
    terminal.expect_exact("matched 0")
    assert peer.peer.published == [Draft("weather/today"), Draft("weather/today", {"n": 1})]
    terminal.sendline("quit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    history = peer.data / "console.history"
    assert "weather/today n=1" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_faults_and_ctrl_c_leave_the_console_alive(peer: Served, terminal: pexpect.spawn) -> None:
    """Each says what to do next; Ctrl-D ends it, and what it had subscribed."""
    terminal.sendline("subscribe price >")
    terminal.expect_exact("write one, such as price > 10")
    terminal.send("half a line")
    terminal.sendintr()
    terminal.expect_exact("quit or Ctrl-D leaves")
    terminal.sendline("subscribe topic = 'a'")
    terminal.expect_exact("subscribed as")
    terminal.expect_exact("ann>")
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    peer.wait(peer.subscription(0).ended.wait)


def test_a_peer_that_stops_is_noticed(peer: Served, terminal: pexpect.spawn) -> None:
    """The subscription is lost with advice; commands say the same; the console lives."""
    terminal.sendline("subscribe topic = 'a'")
    terminal.expect_exact("subscribed as")
    peer.stop()
    terminal.expect_exact("[1] subscription lost")
    terminal.expect_exact(f"p2psub peer --data {peer.data}")
    terminal.sendline("status")
    terminal.expect_exact(f"no peer runs with data directory {peer.data}")
    terminal.sendline("quit")
    terminal.expect(pexpect.EOF)
