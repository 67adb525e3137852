"""Every file that is no sound segment is named with a reason, and what it held is missing rather than wrong."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.compaction import compact
from p2psub.analysis.sources import MARK, NoTraces, find_sources, unread_starts
from p2psub.model.records import SCHEMA_VERSION
from p2psub.traces.segments import SegmentName
from tests.analysis.planted_trace import PlantedTrace


def planted(directory: Path) -> list[Path]:
    """A closed process with 10 records in 5 segments, in order."""
    trace = PlantedTrace()
    alice = trace.process("alice")
    for _ in range(8):
        alice.publish("t", body=b"x" * 40)
    alice.close()
    trace.write(directory, batch=2)
    return sorted(directory.rglob("*.ndjson"))


def test_what_is_no_sound_segment_is_skipped_and_named(spark: SparkSession, tmp_path: Path) -> None:
    """Truncated, corrupt, empty, of another version or foreign: named with a reason, and nothing half counts."""
    traces = tmp_path / "with [odd] *signs* and ünïcode"
    first, truncated, corrupt, garbled, last = planted(traces)
    truncated.write_bytes(truncated.read_bytes()[:-20])
    corrupt.write_bytes(corrupt.read_bytes().replace(b'"publish"', b'"perish!"', 1))
    garbled.write_bytes(b"\x00\xff\xfe\n\x80garbage" * 9)
    name = SegmentName.named(first.name)
    assert name is not None
    here = first.parent
    sound = json.loads(last.read_bytes().splitlines()[0])
    foreign = {
        here / name._replace(first=100).file_name: b"",
        here / name._replace(first=101).file_name: gzip.compress(first.read_bytes()),
        here / name._replace(first=102).file_name: first.read_bytes(),
        here / name._replace(first=103).file_name: b'{"event": [1, 2], "kind": "keep"}\n',
        here / name._replace(first=105).file_name: json.dumps(sound | {"node": "A" * 25 + "!!="}).encode(),
        here / name._replace(first=106).file_name: json.dumps(sound | {"digest": "A"}).encode(),
        here / name._replace(version=0).file_name: first.read_bytes(),
        here / name._replace(version=SCHEMA_VERSION + 1).file_name: b'{"kind": "of the future"}\n',
        here / "notes.ndjson": b'{"kind": "note"}\n',
        here / "notes.txt": b"read me",
        here / f"{first.name}.gz": gzip.compress(first.read_bytes()),
    }
    for path, content in foreign.items():
        path.write_bytes(content)
    (here / f".{first.name}").write_bytes(b"a draft")
    (here / name._replace(first=104).file_name).mkdir()
    compacted = compact(spark, [traces], tmp_path / "out")
    reasons = {path.name: reason for path, reason in compacted.skipped}
    assert reasons == {
        truncated.name: "1 of 2 lines are not records: truncated or damaged",
        corrupt.name: "1 of 2 lines are not records: truncated or damaged",
        garbled.name: "10 of 10 lines are not records: truncated or damaged",
        name._replace(first=100).file_name: "empty",
        name._replace(first=101).file_name: reasons[name._replace(first=101).file_name],
        name._replace(first=102).file_name: "begins with another record than its name says",
        name._replace(first=103).file_name: "1 of 1 lines are not records: truncated or damaged",
        name._replace(first=104).file_name: "a directory with the name of a file",
        name._replace(first=105).file_name: "1 of 1 lines are not records: truncated or damaged",
        name._replace(first=106).file_name: "1 of 1 lines are not records: truncated or damaged",
        name._replace(version=0).file_name: f"schema version 0, older than {SCHEMA_VERSION}, which this p2psub reads",
        name._replace(version=SCHEMA_VERSION + 1).file_name: (
            f"schema version {SCHEMA_VERSION + 1}, newer than {SCHEMA_VERSION}, which this p2psub reads"
        ),
        "notes.ndjson": "not the name of a segment",
        "notes.txt": "not the name of a segment",
        f"{first.name}.gz": "not the name of a segment",
    }
    assert "not records" in reasons[name._replace(first=101).file_name]
    # Four of ten records are left: the first two and the last two. The process shows the hole.
    assert (compacted.rows, compacted.files) == (4, 2)
    (process,) = compacted.tables.processes.collect()
    assert (process.first_sequence, process.last_sequence, process.missing, process.is_closed) == (1, 10, 6, True)
    assert last.exists()


def test_a_sound_looking_line_in_the_wrong_place_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    """A record that is there twice in one file, or of another process, makes the file unfit."""
    first, second, third, *_ = planted(tmp_path / "in")
    lines = first.read_bytes().splitlines(keepends=True)
    first.write_bytes(lines[0] + lines[0])
    foreign = PlantedTrace()
    foreign.process("mallory", incarnation=3)
    foreign.write(tmp_path / "other")
    (line,) = [path.read_bytes() for path in (tmp_path / "other").rglob("*.ndjson")]
    second.write_bytes(second.read_bytes() + line)
    third.write_bytes(third.read_bytes().replace(b'"sequence":6', b'"sequence":5'))
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert [(path.name, reason) for path, reason in compacted.skipped] == [
        (first.name, "numbers its records twice"),
        (second.name, "holds records of several processes"),
        (third.name, "numbers its records twice"),
    ]
    assert compacted.rows == 4


def test_a_trace_without_a_sound_segment_is_no_trace(spark: SparkSession, tmp_path: Path) -> None:
    """Where all is damaged nothing comes out, and the error names the damage."""
    for path in planted(tmp_path / "in"):
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(NoTraces, match="truncated or damaged"):
        compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_where_there_is_nothing_to_read_the_error_says_where_to_look(tmp_path: Path) -> None:
    """A missing directory, one without traces, and one with unreadable ones."""
    with pytest.raises(NoTraces, match="there is no directory"):
        find_sources([tmp_path / "nowhere"])
    (tmp_path / "peer.key").touch()
    with pytest.raises(NoTraces, match="DATA/traces"):
        find_sources([tmp_path])
    (tmp_path / "0123456789-1-000000000001.v7.ndjson").write_text("{}")
    with pytest.raises(NoTraces, match="schema version 7, newer than 5"):
        find_sources([tmp_path])


def test_a_peers_other_files_are_not_called_traces(tmp_path: Path) -> None:
    """Given a whole data directory, only what claims to be a trace is told of."""
    first, *_ = planted(tmp_path / "data" / "traces")
    (tmp_path / "data" / "peer.key").touch()
    (tmp_path / "data" / "log.ndjson").touch()
    found = find_sources([tmp_path, tmp_path / "data"])
    assert (len(found.segments), [path.name for path, _ in found.skipped]) == (5, ["log.ndjson"])
    first.unlink()
    first.symlink_to("nowhere")
    assert find_sources([tmp_path]).skipped[-1] == (first, "not a file")


def test_what_lies_behind_links_or_among_tables_is_found(tmp_path: Path) -> None:
    """A linked directory is read once, a loop ends; a segment that tables hide is named, and so is a packed one."""
    first, second, *_ = planted(tmp_path / "there")
    here = tmp_path / "here"
    (here / "tables").mkdir(parents=True)
    (here / "tables" / MARK).touch()
    shutil.copy(first, here / "tables" / first.name)
    (here / "link").symlink_to(tmp_path / "there")
    (tmp_path / "there" / "loop").symlink_to(here)
    second.rename(second.with_name(f"{second.name}.gz"))
    found = find_sources([here])
    assert (len(found.segments), found.compacted) == (4, [here / "tables"])
    named = {path.name: reason for path, reason in found.skipped}
    assert named == {first.name: "lies among compacted traces", f"{second.name}.gz": "not the name of a segment"}
    assert sum(unread_starts(found.skipped).values()) == 2


def test_a_directory_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows whose traces are in it, so no figure could be trusted."""
    planted(tmp_path)

    def deny(place: Path, *, onerror: Callable[[OSError], None], **_: object) -> Iterator[object]:
        onerror(PermissionError(13, "Permission denied", str(place / "closed")))
        yield from ()

    monkeypatch.setattr("os.walk", deny)
    with pytest.raises(NoTraces, match="closed cannot be read: Permission denied"):
        find_sources([tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """It is skipped with the system's own reason."""
    first, *_ = planted(tmp_path)
    first.chmod(0)
    assert find_sources([tmp_path]).skipped == [(first, "unreadable: Permission denied")]
