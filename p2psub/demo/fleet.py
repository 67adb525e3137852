"""The processes of a run: a bootstrap and its peers, each started as a person would start it."""

from __future__ import annotations

import json
import sys
from typing import Final, NamedTuple

import trio

from p2psub.demo.directories import RunDirectories
from p2psub.demo.process import FleetProcess

COMMAND: Final = (sys.executable, "-m", "p2psub")
"""`p2psub`, by the interpreter that runs us."""

ENDING_S_MAX: Final = 20.0
"""A peer that has not left gracefully by then is killed: longer than a peer itself takes before it gives up."""


class Seat(NamedTuple):
    """A peer to be."""

    name: str
    cluster: str
    may_lead: bool = True
    """Whether it may become super-node."""


class Fleet:
    """Makes the processes, for others to run, and ends them."""

    def __init__(self, directories: RunDirectories, group: int) -> None:
        self._directories = directories
        self._group = group
        self.peers: dict[str, FleetProcess] = {}
        """Those that were not killed."""
        self._seats: dict[str, Seat] = {}
        self._addresses: dict[str, str] = {}
        """Where those listened that were killed."""

    def bootstrap(self) -> FleetProcess:
        """The bootstrap; it takes any free port."""
        arguments = ["bootstrap", "--data", str(self._directories.bootstrap), "--listen", "127.0.0.1:0", "--json"]
        return self._process("bootstrap", arguments)

    async def token(self) -> str:
        """A join token for all peers; the bootstrap must have started."""
        arguments = ["bootstrap", "token", "new", "--data", str(self._directories.bootstrap), "--reusable", "--json"]
        made = await trio.run_process([*COMMAND, *arguments], capture_stdout=True)
        return str(json.loads(made.stdout)["token"])

    def peer(self, seat: Seat, bootstrap: str, token: str) -> FleetProcess:
        """One more peer."""
        self._seats[seat.name] = seat
        return self._peer(seat, ["--bootstrap", bootstrap, "--token", token])

    def again(self, name: str) -> FleetProcess:
        """A peer that was killed, to be started again: with what is on its disk, where it listened before."""
        return self._peer(self._seats[name], ["--listen", self._addresses[name]])

    def _peer(self, seat: Seat, more: list[str]) -> FleetProcess:
        leads = "--super-node" if seat.may_lead else "--no-super-node"
        arguments = ["peer", "--data", str(self._directories.peers / seat.name), "--name", seat.name]
        process = self._process(seat.name, [*arguments, "--cluster", seat.cluster, leads, *more, "--json"])
        self.peers[seat.name] = process
        return process

    def _process(self, name: str, arguments: list[str]) -> FleetProcess:
        return FleetProcess(name, [*COMMAND, *arguments], self._directories.logs / f"{name}.log", self._group)

    async def kill(self, name: str) -> None:
        """End a peer as a power failure would."""
        victim = self.peers.pop(name)
        if victim.status is not None:
            self._addresses[name] = victim.status.address
        victim.kill()
        await victim.ended.wait()

    async def end(self, *others: FleetProcess) -> None:
        """Ask all to leave gracefully, and give them some time for it."""
        leaving = [*self.peers.values(), *others]
        for process in leaving:
            process.terminate()
        with trio.move_on_after(ENDING_S_MAX):
            for process in leaving:
                await process.ended.wait()
