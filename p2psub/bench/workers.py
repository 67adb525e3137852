"""The measuring side: processes that carry out orders, and die with us."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import trio

from p2psub.bench.orders import Done, DumpProfileOrder, LookOrder, WorkerAnswer, WorkerOrder, WorkerStatus, encode_line
from p2psub.demo.leash import leashed
from p2psub.demo.memory import rss_bytes_of
from p2psub.errors import P2psubError

LOG_TAIL_LINES: Final = 20

A = TypeVar("A", bound=WorkerAnswer)


class WorkerEnded(P2psubError):
    """A process ended that should run on."""


class Worker:
    """One process; it is told one thing at a time."""

    def __init__(self, name: str, process: trio.Process, log: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.name = name
        self._pid = process.pid
        self._orders = process.stdin
        self._answers = process.stdout
        self._log = log
        self._heard = b""

    async def ask(self, order: WorkerOrder, kind: type[A]) -> A:
        """What it answers; WorkerEnded, with the end of its log, if it does not."""
        try:
            await self._orders.send_all(encode_line(order))
        except trio.BrokenResourceError as error:
            raise self._ended() from error
        return msgspec.json.decode(await self._line(), type=kind)

    async def tell(self, order: WorkerOrder) -> None:
        """Return when it is carried out."""
        await self.ask(order, Done)

    async def look(self) -> WorkerStatus:
        """How it is."""
        return await self.ask(LookOrder(), WorkerStatus)

    @property
    def rss_bytes(self) -> int:
        """What it has in memory now, whatever it is busy with."""
        return rss_bytes_of(self._pid)

    async def _line(self) -> bytes:
        while b"\n" not in self._heard:
            piece = await self._answers.receive_some()
            if not piece:
                raise self._ended()
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        return line

    def _ended(self) -> WorkerEnded:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return WorkerEnded(f"{self.name} ended; its log ends so:\n" + "\n".join(lines[-LOG_TAIL_LINES:]))


class Crew:
    """Starts processes; all are killed when the crew is dismissed, or when we are."""

    def __init__(self, stack: AsyncExitStack, logs: Path, group: int) -> None:
        self._stack = stack
        self._logs = logs
        self._group = group

    async def hire(self, name: str, module: str, machine: Sequence[str] = ()) -> Worker:
        """One more; `machine` is what runs a command where it shall be, if that is not here."""
        log = self._logs / f"{name}.log"
        return await self._stack.enter_async_context(
            _working([*machine, sys.executable, "-m", module], name, log, self._group)
        )


@asynccontextmanager
async def open_crew(logs: Path) -> AsyncIterator[Crew]:
    """A crew, while the block runs."""
    with leashed() as group:
        async with AsyncExitStack() as stack:
            yield Crew(stack, logs, group)


@asynccontextmanager
async def _working(command: list[str], name: str, log: Path, group: int) -> AsyncIterator[Worker]:
    options: dict[str, Any] = {"process_group": group}
    with log.open("wb") as said:
        process = await trio.lowlevel.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said.fileno(),
            **options,
        )
    try:
        yield Worker(name, process, log)
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        assert process.stdio is not None
        await trio.aclose_forcefully(process.stdio)


async def dump_profiles(directory: Path | None, title: str, workers: Sequence[Worker]) -> None:
    """Have each write where its time went to TITLE-NAME.txt in a directory, if one is given."""
    if directory is not None:
        for worker in workers:
            await worker.tell(DumpProfileOrder(str(directory / f"{title}-{worker.name}")))
