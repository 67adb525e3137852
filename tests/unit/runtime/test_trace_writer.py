"""Traces are whole files at every moment, hold every record or say how many are missing, and end with `close`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from p2psub.errors import ConfigError
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.runtime.trace_writer import TraceConfig, TraceWriter
from p2psub.traces.segments import read_segments
from tests.unit.bench import at
from tests.unit.runtime.full_disk import files_limited_to
from tests.unit.runtime.processes import process

NODE = at(1)
KIB = 1024


class Tracer:
    """A node as the writer sees it: whatever it records is numbered in one sequence."""

    def __init__(self, directory: Path, incarnation: int = 1, **config: Any) -> None:
        self.step = Step(NODE, incarnation, Random(1))
        self.writer = TraceWriter(directory, NODE.id, self.step.make_record, TraceConfig(**config))

    def write(self, count: int = 1, **fields: Any) -> None:
        """Some records of the node itself."""
        for _ in range(count):
            self.writer.write(self.step.make_record(Kind.RECEIVE, **fields))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The writer runs during the block, and stops without an end to the trace."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.writer.run)
            yield
            nursery.cancel_scope.cancel()


def sequences(directory: Path) -> list[int]:
    """The numbers of all records in a directory."""
    return [record.sequence for record in read_segments(directory)]


def names(directory: Path) -> list[str]:
    """The files in a directory, whatever they are."""
    return sorted(path.name for path in directory.iterdir())


async def wait_records(directory: Path, count: int) -> None:
    """Return when so many records can be read; a worker thread writes them, in time of its own."""
    while len(sequences(directory)) < count:
        await trio.sleep(0)


async def test_segments_are_read_in_the_order_of_writing(tmp_path: Path) -> None:
    """By process and number, in directories below too; drafts and other files are passed over."""
    for incarnation in (10, 9):
        tracer = Tracer(tmp_path / str(incarnation), incarnation, records_max=2)
        tracer.write(5)
        await tracer.writer.flush()
    for foreign in (".0100000000-9-000000000009.v5.ndjson", "notes.ndjson", "0100000000-9-000000000009.json"):
        (tmp_path / foreign).write_text("no record")
    found = [(record.incarnation, record.sequence) for record in read_segments(tmp_path)]
    assert found == [(incarnation, n) for incarnation in (9, 10) for n in range(1, 6)]
    assert names(tmp_path / "9") == [f"0100000000-9-00000000000{n}.v5.ndjson" for n in (1, 3, 5)]


# When


async def test_a_batch_is_written_when_it_is_full(tmp_path: Path, mock_clock: MockClock) -> None:
    """However little time has passed, and none before."""
    tracer = Tracer(tmp_path, records_max=10)
    async with tracer.running():
        tracer.write(9)
        await wait_all_tasks_blocked()
        assert names(tmp_path) == []
        tracer.write()
        await wait_records(tmp_path, 10)


async def test_a_batch_is_written_when_it_is_old(tmp_path: Path, mock_clock: MockClock) -> None:
    """However few records it has; without records nothing is written, whatever time passes."""
    tracer = Tracer(tmp_path, age_s_max=1.0)
    async with tracer.running():
        await wait_all_tasks_blocked()
        mock_clock.jump(100)
        await wait_all_tasks_blocked()
        tracer.write(2)
        await wait_all_tasks_blocked()
        mock_clock.jump(0.9)
        await wait_all_tasks_blocked()
        assert names(tmp_path) == []
        mock_clock.jump(0.2)
        await wait_records(tmp_path, 2)


async def test_a_burst_becomes_segments_of_one_batch_each(tmp_path: Path) -> None:
    """What came at once is cut into batches, in order."""
    tracer = Tracer(tmp_path, records_max=100)
    tracer.write(250)
    await tracer.writer.flush()
    assert [len(path.read_bytes().splitlines()) for path in sorted(tmp_path.iterdir())] == [100, 100, 50]
    assert sequences(tmp_path) == list(range(1, 251))


async def test_the_orderly_end_is_the_last_record(tmp_path: Path) -> None:
    """`close` makes everything durable and ends with a record that says so; after it nothing is taken."""
    tracer = Tracer(tmp_path)
    async with tracer.running():
        tracer.write(3)
        await tracer.writer.close()
    found = list(read_segments(tmp_path))
    assert [record.sequence for record in found] == [1, 2, 3, 4]
    assert [record.kind for record in found].index(Kind.CLOSE) == 3
    with pytest.raises(AssertionError):
        tracer.write()


async def test_a_cancelled_writer_keeps_what_is_open(tmp_path: Path) -> None:
    """Without `close` there is no closing record, and a last flush still writes what was open."""
    tracer = Tracer(tmp_path)
    async with tracer.running():
        tracer.write(3)
        await wait_all_tasks_blocked()
    assert tracer.writer.buffered == 3
    await tracer.writer.flush()
    assert {record.kind for record in read_segments(tmp_path)} == {Kind.RECEIVE}


# Whole files


async def test_no_half_file_is_ever_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two steps of writing every segment that can be seen is complete, and it was synced before."""
    seen: list[tuple[str, list[int], list[str]]] = []

    def watched(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> Any:
            seen.append((name, sequences(tmp_path), [file for file in names(tmp_path) if file.startswith(".")]))
            return real(*arguments)

        monkeypatch.setattr(os, name, call)

    for step in ("open", "fsync", "replace", "close"):
        watched(step)
    tracer = Tracer(tmp_path)
    tracer.write(5)
    await tracer.writer.flush()
    draft, whole = [".0100000000-1-000000000001.v5.ndjson"], [1, 2, 3, 4, 5]
    assert seen == [
        ("open", [], []),
        ("fsync", [], draft),
        ("replace", [], draft),
        ("open", whole, []),
        ("fsync", whole, []),
        ("close", whole, []),
    ]


def test_a_kill_loses_at_most_the_open_batch(tmp_path: Path) -> None:
    """Killed in the middle of writing, a process leaves whole segments without a hole, with all that it called durable.

    The next process removes the draft that may be left, and nothing else.
    """
    for incarnation in range(1, 5):
        with process("tests.unit.runtime.trace_process", tmp_path, incarnation) as output:
            for _ in range(incarnation):
                durable = int(output.readline().split()[1])
        found = [record.sequence for record in read_segments(tmp_path) if record.incarnation == incarnation]
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= durable
    (tmp_path / ".0100000000-4-000000000777.v5.ndjson").touch()
    before = sequences(tmp_path)
    Tracer(tmp_path, incarnation=5)
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    assert sequences(tmp_path) == before


# Limits


async def trouble_of(writer: TraceWriter) -> str:
    """What the writer says as soon as it is in trouble."""
    while writer.trouble is None:
        await trio.sleep(0.01)
    return writer.trouble


async def test_overflow_is_counted_and_told(tmp_path: Path, autojump_clock: MockClock) -> None:
    """While the disk takes nothing, what memory does not hold is dropped; a record says how many, next to the hole."""
    tracer = Tracer(tmp_path, records_max=7, buffered_max=100)
    async with tracer.running():
        with files_limited_to(0):
            tracer.write(60)
            assert "free some space" in await trouble_of(tracer.writer)
            tracer.write(90)
            await trio.sleep(60)
            assert sequences(tmp_path) == []
        await tracer.writer.flush()
        assert tracer.writer.trouble is None
        tracer.write(5)
        await tracer.writer.close()
    found = {record.sequence: record for record in read_segments(tmp_path)}
    assert list(found) == [*range(1, 101), *range(151, 158)]
    assert (found[151].kind, found[151].reason, found[151].count) == (Kind.DROP, "trace_overflow", 50)
    assert found[157].kind is Kind.CLOSE


async def test_the_oldest_segments_are_discarded_and_told(tmp_path: Path) -> None:
    """Above the size limit the oldest go, those of earlier processes first; what is missing is counted exactly.

    Other nodes' segments are not touched, and telling of it never makes the trace larger than it may be.
    """
    stranger = tmp_path / "ffffffffff-1-000000000001.v5.ndjson"
    stranger.write_bytes(bytes(2 * KIB * KIB))
    old = Tracer(tmp_path)
    old.write(500, payload="x" * KIB)
    await old.writer.close()
    tracer = Tracer(tmp_path, incarnation=2, records_max=50, bytes_max=KIB * KIB)
    for _ in range(40):
        tracer.write(50, payload="x" * KIB)
        await tracer.writer.flush()
        mine = [path.stat().st_size for path in tmp_path.glob("0100000000-*")]
        assert sum(mine) <= KIB * KIB
    await tracer.writer.close()
    assert stranger.exists()
    stranger.unlink()
    found = list(read_segments(tmp_path))
    told = [record.count or 0 for record in found if record.reason == "trace_discarded"]
    first, last = found[0], found[-1]
    assert last.kind is Kind.CLOSE
    assert [record.sequence for record in found] == list(range(first.sequence, last.sequence + 1))
    assert first.incarnation == 2
    # The records that told of the first discards may be among those that were discarded later.
    assert 0 < sum(told) <= 501 + first.sequence - 1


def put_small_segments(directory: Path, count: int) -> None:
    """Segments of an earlier process, of one record and one block of the disk each."""
    for n in range(count):
        (directory / f"0100000000-1-{n:012d}.v5.ndjson").write_text("{}\n")


async def test_discarding_ends(tmp_path: Path) -> None:
    """A node that has nothing to say does not go on discarding because it says what it discarded."""
    put_small_segments(tmp_path, 256)
    tracer = Tracer(tmp_path, incarnation=2, bytes_max=KIB * KIB)
    tracer.write()
    flushes = 0
    while tracer.writer.buffered:
        await tracer.writer.flush()
        flushes += 1
    assert flushes == 2
    assert len(names(tmp_path)) == 256 * 7 // 8 + 1


async def test_nothing_is_discarded_after_the_last_record(tmp_path: Path) -> None:
    """The closing record may be one too many for the limit: the next process discards for it, and can say so."""
    put_small_segments(tmp_path, 256)
    await Tracer(tmp_path, incarnation=2, bytes_max=KIB * KIB).writer.close()
    assert len(names(tmp_path)) == 257
    tracer = Tracer(tmp_path, incarnation=3, bytes_max=KIB * KIB)
    tracer.write()
    await tracer.writer.close()
    mine = {name for name in names(tmp_path) if name.startswith("0100000000-3-")}
    counts = [msgspec.json.decode((tmp_path / name).read_bytes().splitlines()[0]).get("count") for name in sorted(mine)]
    assert counts == [None, 258 - 256 * 7 // 8]


@pytest.mark.parametrize("wrong", [{"records_max": 0}, {"buffered_max": 10}, {"age_s_max": 0.0}, {"bytes_max": 1000}])
def test_impossible_limits_are_refused(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    with pytest.raises(ConfigError, match="trace"):
        TraceConfig(**wrong)
