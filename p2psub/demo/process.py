"""One process of a fleet: a bootstrap or a peer, and what it says of itself."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from p2psub.demo.memory import rss_bytes_of
from p2psub.errors import P2psubError

LOG_TAIL_LINES: Final = 20


class ProcessEnded(P2psubError):
    """A process ended that should run on."""


class ProcessStatus(msgspec.Struct, frozen=True):
    """What a process says of itself in a line of JSON; a bootstrap says less than a peer."""

    address: str
    ready: bool
    stage: str = "serving"
    missing: str | None = None


class FleetProcess:
    """A process, and its last word. `run` it in a nursery; it ends when it is told to, or with the nursery."""

    def __init__(self, name: str, command: list[str], log: Path, group: int) -> None:
        self.name = name
        self.status: ProcessStatus | None = None
        """What it said last."""
        self.spoken = trio.Event()
        """It has said a word."""
        self.readied = trio.Event()
        """It has said once that it is ready."""
        self.ended = trio.Event()
        self._command = command
        self._log = log
        self._group = group
        self._process: trio.Process | None = None
        self._may_end = False

    @property
    def is_ready(self) -> bool:
        """Whether it said so last."""
        return self.status is not None and self.status.ready

    @property
    def state(self) -> str:
        """What it said last, in words."""
        if self.status is None:
            return "silent"
        return f"{self.status.stage} ({self.status.missing})" if self.status.missing else self.status.stage

    @property
    def rss_bytes(self) -> int:
        """What it has in memory; 0 before it was started, and when it is gone."""
        return 0 if self._process is None or self.ended.is_set() else rss_bytes_of(self._process.pid)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until the process ends; ProcessEnded, with the end of its log, unless it was told to."""
        options: dict[str, Any] = {"process_group": self._group, "stdin": subprocess.DEVNULL}
        # A peer that was killed and started again goes on in its log.
        with self._log.open("ab") as log:
            process = await trio.lowlevel.open_process(
                self._command, stdout=subprocess.PIPE, stderr=log.fileno(), **options
            )
        self._process = process
        task_status.started()
        try:
            await self._listen(process)
            await process.wait()
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
            self.ended.set()
        if not self._may_end:
            raise ProcessEnded(
                f"{self.name} ended with {process.returncode}; its log {self._log} ends so:\n{self._tail()}"
            )

    async def _listen(self, process: trio.Process) -> None:
        assert process.stdout is not None
        async with process.stdout as said:
            rest = b""
            async for piece in said:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._note(msgspec.json.decode(line, type=ProcessStatus))

    def _note(self, status: ProcessStatus) -> None:
        self.status = status
        self.spoken.set()
        if status.ready:
            self.readied.set()

    def _tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def kill(self) -> None:
        """End it as a power failure would."""
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end gracefully."""
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        self._may_end = True
        if self._process is not None:
            self._process.send_signal(number)
