"""A process of the fleet: what it says is heard, and its end is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from p2psub.demo.leash import leashed
from p2psub.demo.process import FleetProcess, ProcessEnded

SAYS = 'echo \'{"address": "a", "ready": false, "stage": "joining", "missing": "luck"}\'; '


@pytest.fixture
def group() -> Iterator[int]:
    """A process group on a leash."""
    with leashed() as number:
        yield number


def shell(program: str, log: Path, group: int) -> FleetProcess:
    """A process that is a shell with this program."""
    return FleetProcess("p", ["/bin/sh", "-c", program], log, group)


async def test_its_last_word_is_known(tmp_path: Path, group: int) -> None:
    """Stage, and what it waits for."""
    process = shell(SAYS + "exec sleep 600", tmp_path / "log", group)
    async with trio.open_nursery() as nursery:
        assert process.state == "silent"
        await nursery.start(process.run)
        await process.spoken.wait()
        assert (process.state, process.is_ready) == ("joining (luck)", False)
        assert not process.readied.is_set()
        nursery.cancel_scope.cancel()
    assert process.ended.is_set()


async def test_readiness_is_noticed_when_it_is_said(tmp_path: Path, group: int) -> None:
    """And remembered, though it says something else later."""
    ready = 'echo \'{"address": "a", "ready": true, "stage": "ready"}\'; '
    process = shell(SAYS + ready + SAYS + "exec sleep 600", tmp_path / "log", group)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run)
        await process.readied.wait()
        assert process.spoken.is_set()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("end", [FleetProcess.kill, FleetProcess.terminate])
async def test_whoever_is_told_to_end_may(tmp_path: Path, group: int, end: Callable[[FleetProcess], None]) -> None:
    """The run goes on without it."""
    process = shell("exec sleep 600", tmp_path / "log", group)
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run)
        end(process)
    assert process.ended.is_set()


async def test_whoever_ends_by_itself_ends_the_run(tmp_path: Path, group: int) -> None:
    """The error says how it ended, and what its log said last."""
    process = shell(SAYS + "echo ouch >&2; exit 7", tmp_path / "log", group)
    with pytest.raises(ProcessEnded, match=r"(?s)p ended with 7.*ouch"):
        await process.run()


async def test_a_process_that_is_started_again_goes_on_in_its_log(tmp_path: Path, group: int) -> None:
    """What the one said that was killed is still there."""
    for word in ("first", "second"):
        with pytest.raises(ProcessEnded, match=word):
            await shell(f"echo {word} >&2; exit 7", tmp_path / "log", group).run()
    assert (tmp_path / "log").read_text(encoding="utf-8") == "first\nsecond\n"


async def test_its_memory_is_known_while_it_lives(tmp_path: Path, group: int) -> None:
    """Before and after it has none."""
    process = shell("exec sleep 600", tmp_path / "log", group)
    assert process.rss_bytes == 0
    async with trio.open_nursery() as nursery:
        await nursery.start(process.run)
        assert process.rss_bytes > 0
        process.kill()
    assert process.rss_bytes == 0
