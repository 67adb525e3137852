"""`p2psub bootstrap token` and `deny`: for people and programs, also when it goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bootstrap.authority import Authority
from p2psub.cli.main import app
from tests.unit.bench import node_at

NODE = node_at(7).hex()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of an authority."""
    Authority.load_or_create(tmp_path / "ca", "demo").close()
    return tmp_path / "ca"


def run(*words: str, code: int = 0) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, ["bootstrap", *words])
    assert result.exit_code == code, result.output
    return result.stdout


def picture(*words: str, code: int = 0) -> Any:
    """The same for programs."""
    return json.loads(run(*words, "--json", code=code))


def test_revoked_token_is_shown_as_it_stands(data: Path) -> None:
    """As `token list` shows it."""
    assert picture("token", "new", "--data", str(data), "--note", "x")["token"].startswith("demo.")
    (listed,) = picture("token", "list", "--data", str(data))
    revoked = picture("token", "revoke", "--data", str(data), listed["name"])
    assert revoked == listed | {"state": "revoked"}
    assert picture("token", "list", "--data", str(data)) == [revoked]


def test_denial_tells_whom_and_since_which_list(data: Path) -> None:
    """The number is what peers show as theirs."""
    said = picture("deny", "--data", str(data), NODE)
    assert said["denied"] == NODE
    assert said["list_issued_s"] > 0
    assert run("deny", "--data", str(data), NODE) == f"denied {NODE}\n"


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [("--days", "nan", 1), ("--days", "1e300", 1), ("--days", "0", 1), ("--note", "\udcff", 2)],
)
def test_token_that_the_ledger_cannot_hold_is_refused(data: Path, option: str, value: str, code: int) -> None:
    """With the option's name, and no token is made."""
    assert (
        option.strip("-") in picture("token", "new", "--data", str(data), option, value, code=code)["error"]["message"]
    )
    assert picture("token", "list", "--data", str(data)) == []


@pytest.mark.parametrize("words", [("token", "revoke", "nothing"), ("deny", "nobody")])
def test_what_goes_wrong_is_one_object_too(data: Path, words: tuple[str, ...]) -> None:
    """With advice, and the same exit code."""
    error = picture(*words, "--data", str(data), code=1)["error"]
    assert error["reason"] == "config_error"
    assert error["advice"]
