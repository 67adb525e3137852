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

from p2psub.api.settings import PeerConfig
from p2psub.api.status import PeerStatus
from p2psub.cli.peer import _enrol, _tell_stages
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


async def test_token_that_is_not_needed_is_not_used_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever gave it may have wanted other rights."""
    node = ForgingAuthority().node(tmp_path / "node")
    node.enrol()
    await _enrol(PeerConfig(tmp_path / "node", "127.0.0.1:1", "some.token.here", name="ann"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ann needs no token: its certificate has 7.0 days left; ")
    assert "enrolment.msgpack" in line
    await _enrol(PeerConfig(tmp_path / "node", name="ann"))
    assert capsys.readouterr().err == ""
