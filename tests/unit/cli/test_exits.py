"""Errors of ours end a command with advice and a code; anything else shows itself."""

from __future__ import annotations

import json

import pytest
import typer

from p2psub.cli.endpoint import BadUsage, NoPeer
from p2psub.cli.exits import EXIT_BAD_INPUT, EXIT_NO_PEER, EXIT_REFUSED, explained
from p2psub.errors import ConfigError, P2psubError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("listen", "it is taken; choose another"), EXIT_REFUSED),
        (BadUsage("nothing is named", "name it"), EXIT_BAD_INPUT),
        (NoPeer("no peer answers", "start one"), EXIT_NO_PEER),
    ],
)
def test_error_is_advice_and_a_code(error: P2psubError, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """By itself, or out of the tasks of a program."""
    for raised in (error, ExceptionGroup("tasks", [ExceptionGroup("more", [error])])):
        with pytest.raises(typer.Exit) as end, explained():
            raise raised
        assert end.value.exit_code == code
        first, second = capsys.readouterr().err.splitlines()
        assert first.startswith("p2psub: ")
        assert second.startswith("  ")


def test_error_without_advice_is_told_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The operator is not sent to a peer that never started."""
    with pytest.raises(typer.Exit), explained(as_json=True):
        raise ConfigError("public_address", "no peer can dial it: say by which address others reach this machine")
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["advice"] == ""
    assert error["message"].startswith("public_address: no peer")


def test_all_of_several_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Two tasks may fail at once."""
    with pytest.raises(typer.Exit), explained():
        raise ExceptionGroup("tasks", [ConfigError("a", "one"), ConfigError("b", "two")])
    assert capsys.readouterr().err == "p2psub: a: one\np2psub: b: two\n"


@pytest.mark.parametrize(
    "error", [ValueError("a bug"), ExceptionGroup("tasks", [ConfigError("a", "one"), ValueError("a bug")])]
)
def test_what_is_not_ours_is_not_hidden(error: Exception) -> None:
    """Not even behind one of ours."""
    with pytest.raises(type(error)), explained():
        raise error
