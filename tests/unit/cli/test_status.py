"""`p2psub status`, `ring` and `cube` against a served fake peer."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from p2psub.api.pages import status_page
from p2psub.api.status import Capability, Trouble
from p2psub.cli.exits import EXIT_CODES, EXIT_NO_PEER
from p2psub.cli.status import cube, ring, score_text, status, status_table
from p2psub.runtime.capability import UNFIT
from tests.unit.runtime.control.fakes import STATUS, node_id
from tests.unit.runtime.control.served import Served

app = typer.Typer()
for command in (status, ring, cube):
    app.command(epilog=EXIT_CODES)(command)

TEXTS = [
    ("status", ["peer ann", "in the ring", "blue", "candidate", "6.5 days left", "bob.test:7400"]),
    ("ring", ["cluster blue", "super-node", "successor 2", "owner 3"]),
    ("cube", ["red", "ours"]),
]


@pytest.mark.parametrize(("name", "words"), TEXTS)
def test_looks_are_tables(peer: Served, name: str, words: list[str]) -> None:
    """With everything that matters in them."""
    result = CliRunner().invoke(app, [name, "--data", str(peer.data)])
    assert result.exit_code == 0
    assert not [word for word in words if word not in result.stdout]


def test_score_is_shown_with_its_parts() -> None:
    """Not for one who may not lead: it is not ranked."""
    capability = Capability(online=0.5, storage=1.0, memory=0.25, processors=0.1, goodput=0.3, nearness=0.9)
    page = status_page(msgspec.structs.replace(STATUS, capability=capability, score=capability.score))
    assert score_text(page).startswith("3.050 = online 0.50, storage 1.00, memory 0.25")
    assert score_text(msgspec.structs.replace(page, score=UNFIT)) == "-1.000"


def test_troubles_are_rows_of_the_status() -> None:
    """Beside what is missing; a peer may be ready with them."""
    page = status_page(msgspec.structs.replace(STATUS, troubles={Trouble.DAMAGE: "rows were damaged; check the disk"}))
    console = Console(width=100)
    with console.capture() as shown:
        console.print(status_table(page))
    assert re.search(r"trouble: damage .*rows were damaged; check the disk", shown.get())


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("status", ("ring", "id"), node_id("ann").hex()),
        ("ring", ("super_node", "address"), "queen.test:7400"),
        ("cube", ("clusters", 1), {"cluster": "red", "prefix": "1"}),
    ],
)
def test_looks_are_json_if_asked_for(peer: Served, name: str, path: tuple[str | int, ...], value: object) -> None:
    """One object, as the control API gives it."""
    said = json.loads(CliRunner().invoke(app, [name, "--json", "--data", str(peer.data)]).stdout)
    for step in path:
        said = said[step]
    assert said == value


def test_no_peer_is_exit_code_4_in_json_too(tmp_path: object) -> None:
    """The problem is the one object."""
    result = CliRunner().invoke(app, ["status", "--json", "--data", str(tmp_path)])
    assert result.exit_code == EXIT_NO_PEER
    assert json.loads(result.stdout)["error"]["reason"] == "no_peer"
