"""`p2psub peer` says each thing once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest
import trio
import trio.testing
from typer.testing import CliRunner

from p2psub.api.settings import PeerConfig
from p2psub.api.status import PeerStatus
from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app
from p2psub.cli.peer import _enrol, _tell_stages
from p2psub.identity.enrolment import FINGERPRINT_BYTES, SECRET_BYTES, JoinToken
from p2psub.model.status import LifeStage
from p2psub.runtime.peer import Peer
from tests.runtime.certified_nodes import ForgingAuthority
from tests.unit.runtime.control.fakes import STATUS


class Changing:
    """A peer whose status changes with every look, and then no more."""

    def __init__(self, statuses: Sequence[PeerStatus]) -> None:
        self._statuses = list(statuses)

    def status(self) -> PeerStatus:
        return self._statuses.pop(0)

    async def wait_status(self, is_wanted: Callable[[PeerStatus], bool]) -> PeerStatus:
        while self._statuses:
            if is_wanted(status := self.status()):
                return status
        return await trio.sleep_forever()


async def test_each_stage_is_told_once(capsys: pytest.CaptureFixture[str], nursery: trio.Nursery) -> None:
    """The first line also says where the control API is; a status that says the same is no news."""
    seeking = msgspec.structs.replace(STATUS, stage="seeking", ready=False)
    peer = cast("Peer", Changing([seeking, seeking, STATUS, STATUS]))
    nursery.start_soon(_tell_stages, peer, True, "http://here")
    await trio.testing.wait_all_tasks_blocked()
    nursery.cancel_scope.cancel()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["stage"], line.get("control")) for line in lines] == [
        ("seeking", "http://here"),
        (STATUS.stage, None),
    ]


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (LifeStage.SEEKING, "is seeking cluster blue: luck, control http://here"),
        (LifeStage.JOINING, "is joining cluster blue: luck, control http://here"),
        ("ready", "is ready, candidate of cluster blue: luck, control http://here"),
    ],
)
async def test_a_line_says_what_the_peer_does_with_its_cluster(
    stage: str, told: str, capsys: pytest.CaptureFixture[str], nursery: trio.Nursery
) -> None:
    """Its role is told once it has one."""
    peer = cast("Peer", Changing([msgspec.structs.replace(STATUS, stage=stage, missing="luck")]))
    nursery.start_soon(_tell_stages, peer, False, "http://here")
    await trio.testing.wait_all_tasks_blocked()
    nursery.cancel_scope.cancel()
    assert capsys.readouterr().out.endswith(f" at ann.test:7400 {told}\n")


def test_a_bootstrap_that_is_down_is_told_in_one_line(tmp_path: Path) -> None:
    """With what to do about it, and no word of a peer that never was."""
    token = JoinToken("overlay", bytes(SECRET_BYTES), bytes(FINGERPRINT_BYTES)).format()
    words = ["peer", "--data", str(tmp_path / "ann"), "--bootstrap", "127.0.0.1:1", "--token", token]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == EXIT_REFUSED
    enrolling, told = result.stderr.splitlines()
    assert enrolling.endswith("is enrolling at 127.0.0.1:1")
    advice = "start the bootstrap, or correct --bootstrap"
    assert told == f"p2psub: no bootstrap answers at 127.0.0.1:1 (Connection refused): {advice}"


async def test_token_that_is_not_needed_is_not_used_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The operator may have wanted other rights."""
    node = ForgingAuthority().node(tmp_path / "node")
    node.enrol()
    await _enrol(PeerConfig(tmp_path / "node", "127.0.0.1:1", "some.token.here", name="ann"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ann needs no token: its certificate has 7.0 days left; ")
    assert "enrolment.msgpack" in line
    await _enrol(PeerConfig(tmp_path / "node", name="ann"))
    assert capsys.readouterr().err == ""
