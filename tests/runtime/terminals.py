"""What a person has who tries p2psub out: terminals with commands in them, real processes all of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from p2psub.demo.leash import leashed

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "p2psub")
PATIENCE_S = 120.0
"""A hang is red too; how long anything takes is no claim here, and the machine may be busy."""
LOOK_EVERY_S = 0.1
BRISK = {"P2PSUB_NODE_HEARTBEAT_US": "250000"}
"""A peer counts every patience in heartbeats: with four a second it does the same in a quarter of the time."""

Answer = TypeVar("Answer")
Picture = dict[str, Any]
"""What a command prints with --json."""


def eventually(
    look: Callable[[], Answer | None],
    claim: str,
    show: Callable[[], object] = lambda: "",
    patience_s: float = PATIENCE_S,
) -> Answer:
    """The first answer that is something; if none comes, red with the claim, and what there is to show instead."""
    deadline_s = time.monotonic() + patience_s
    while not (answer := look()):
        assert time.monotonic() < deadline_s, f"{claim}\n{show()}"
        time.sleep(LOOK_EVERY_S)
    return answer


class Terminal:
    """A command that runs, and all that it has printed."""

    def __init__(self, command: list[str], screen: Path, environment: dict[str, str], group: int) -> None:
        self._screen = screen
        self._errors = screen.with_suffix(".errors")
        with screen.open("wb") as said, self._errors.open("wb") as complained:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=complained,
                process_group=group,
            )

    def pictures(self) -> list[Picture]:
        """Every line so far; one that is still being written is none yet."""
        said = self._screen.read_bytes()
        return [json.loads(line) for line in said[: said.rfind(b"\n") + 1].splitlines()]

    def wait_picture(self, is_it: Callable[[Picture], bool], claim: str) -> Picture:
        """The first line of its kind, when it is there; red at once if the command ended without it."""

        def look() -> Picture | None:
            # Asked before its lines are read: what it said last is among them.
            is_over = self._process.poll() is not None
            found = next(filter(is_it, self.pictures()), None)
            assert found or not is_over, f"{claim}: it ended with {self._process.returncode}\n{self.text()}"
            return found

        return eventually(look, claim, self.text)

    def text(self) -> str:
        """All that can be seen, for whoever looks for a fault."""
        return self._screen.read_text(encoding="utf-8") + self._errors.read_text(encoding="utf-8")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; the exit code, once it is over."""
        self._process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """The exit code, once the command is over by itself."""
        return self._process.wait(PATIENCE_S)


class Desk:
    """Terminals on one machine, and a directory in which data and screens are kept."""

    def __init__(self, directory: Path, group: int, machine: tuple[str, ...], settings: dict[str, str]) -> None:
        self.directory = directory
        self._environment = os.environ | settings
        self._group = group
        self.machine = machine
        self._command = [*machine, *COMMAND]
        self._terminals: list[Terminal] = []

    def open(self, title: str, *words: object) -> Terminal:
        """Run a command in a terminal of its own, for programs to read."""
        screen = self.directory / f"{title}.{len(self._terminals)}.screen"
        terminal = Terminal([*self._command, *map(str, words), "--json"], screen, self._environment, self._group)
        self._terminals.append(terminal)
        return terminal

    def run(self, *words: object) -> Picture:
        """What a command prints that ends by itself."""
        done = subprocess.run(
            [*self._command, *map(str, words), "--json"],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            process_group=self._group,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout!r} {done.stderr!r}"
        picture: Picture = json.loads(done.stdout)
        return picture

    def clear(self) -> None:
        """Kill what still runs."""
        for terminal in self._terminals:
            terminal.end(signal.SIGKILL)


@contextmanager
def desk_in(directory: Path, machine: tuple[str, ...] = (), settings: dict[str, str] = BRISK) -> Iterator[Desk]:
    """A desk whose commands are run by way of `machine`; when the block ends, however it does, none of them runs on.

    `settings` are environment variables; they are those of brisk peers unless a test is about time.
    """
    with leashed() as group:
        desk = Desk(directory, group, machine, settings)
        try:
            yield desk
        finally:
            desk.clear()
