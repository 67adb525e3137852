"""The processes of a run: a bootstrap and its peers, each started as a person would start it."""

from __future__ import annotations

import json
import sys
from typing import Final

import trio

from p2psub.demo.directories import RunDirectories
from p2psub.demo.process import DemoProcess

COMMAND: Final = (sys.executable, "-m", "p2psub")
"""`p2psub`, by the interpreter that runs us."""

ENDING_S_MAX: Final = 20.0
"""A peer that has not left gracefully by then is killed: longer than a peer itself takes before it gives up."""


class Fleet:
    """Makes the processes, for others to run, and ends them."""

    def __init__(self, directories: RunDirectories, group: int) -> None:
        self._directories = directories
        self._group = group
        self.peers: dict[str, DemoProcess] = {}
        """Those that were not killed."""

    def bootstrap(self) -> DemoProcess:
        """The bootstrap; it takes any free port."""
        arguments = ["bootstrap", "--data", str(self._directories.bootstrap), "--listen", "127.0.0.1:0", "--json"]
        return self._process("bootstrap", arguments)

    async def token(self) -> str:
        """A join token for all peers; the bootstrap must have started."""
        arguments = ["bootstrap", "token", "new", "--data", str(self._directories.bootstrap), "--reusable", "--json"]
        made = await trio.run_process([*COMMAND, *arguments], capture_stdout=True)
        return str(json.loads(made.stdout)["token"])

    def peer(self, name: str, cluster: str, bootstrap: str, token: str) -> DemoProcess:
        """One more peer."""
        arguments = ["peer", "--data", str(self._directories.peers / name), "--name", name, "--cluster", cluster]
        self.peers[name] = self._process(name, [*arguments, "--bootstrap", bootstrap, "--token", token, "--json"])
        return self.peers[name]

    def _process(self, name: str, arguments: list[str]) -> DemoProcess:
        return DemoProcess(name, [*COMMAND, *arguments], self._directories.logs / f"{name}.log", self._group)

    async def kill(self, name: str) -> None:
        """End a peer as a power failure would."""
        victim = self.peers.pop(name)
        victim.kill()
        await victim.ended.wait()

    async def end(self, *others: DemoProcess) -> None:
        """Ask all to leave gracefully, and give them some time for it."""
        leaving = [*self.peers.values(), *others]
        for process in leaving:
            process.terminate()
        with trio.move_on_after(ENDING_S_MAX):
            for process in leaving:
                await process.ended.wait()
