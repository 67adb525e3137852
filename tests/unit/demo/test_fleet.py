"""How peers of a fleet are started, and started again, with shells that pretend to be peers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from p2psub.demo import fleet as fleet_module
from p2psub.demo.directories import RunDirectories
from p2psub.demo.fleet import Fleet, Seat
from p2psub.demo.leash import leashed

SAYS_ITS_ARGUMENTS = (
    "/bin/sh",
    "-c",
    'echo "$@" >&2; echo \'{"address": "127.0.0.1:7401", "ready": true}\'; exec sleep 600',
)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """A fleet of such peers."""
    monkeypatch.setattr(fleet_module, "COMMAND", SAYS_ITS_ARGUMENTS)
    with leashed() as group:
        yield Fleet(RunDirectories.make(tmp_path / "run"), group)


async def test_a_killed_peer_comes_back_where_it_was(fleet: Fleet, tmp_path: Path) -> None:
    """With its data, its name, its cluster, its right to lead and its address, and without a token."""
    async with trio.open_nursery() as nursery:
        first = fleet.peer(Seat("ann", "tea", may_lead=False), "127.0.0.1:7400", "secret")
        await nursery.start(first.run)
        await first.readied.wait()
        await fleet.kill("ann")
        assert fleet.peers == {}
        second = fleet.again("ann")
        assert fleet.peers == {"ann": second}
        await nursery.start(second.run)
        await second.readied.wait()
        nursery.cancel_scope.cancel()
    before, after = (tmp_path / "run" / "logs" / "ann.log").read_text(encoding="utf-8").splitlines()
    same = f"--data {tmp_path}/run/peers/ann --name ann --cluster tea --no-super-node"
    assert before == f"{same} --bootstrap 127.0.0.1:7400 --token secret --json"
    assert after == f"{same} --listen 127.0.0.1:7401 --json"
