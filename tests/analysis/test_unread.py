"""Files that cannot be read, or are not there: what they held is unknown, and nobody is blamed for it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from p2psub.analysis.audits import copies, losses, sequences
from p2psub.analysis.audits.findings import told, united
from p2psub.analysis.compaction import Compacted, compact
from p2psub.analysis.headline import headline
from p2psub.traces.segments import segments_of, short_name
from tests.analysis.planted_trace import PlantedTrace


def shop() -> PlantedTrace:
    """Ann publishes, Bob owns and does nothing else, Dan subscribes; of two events one ended otherwise."""
    trace = PlantedTrace()
    ann, bob, dan = (trace.process(name, at_ms=0) for name in ("ann", "bob", "dan"))
    wanted = dan.subscribe(at_ms=10)
    dan.verdict(wanted, at_ms=20)
    for number, at_ms in enumerate((100.0, 200.0)):
        event = ann.publish(at_ms=at_ms)
        bob.store(event, owed=1, at_ms=at_ms + 1)
        ann.acknowledge(event, count=1, peer=bob.node, at_ms=at_ms + 2)
        if number:
            bob.outcome(event, wanted, outcome="expired", at_ms=at_ms + 3)
        else:
            dan.deliver(event, wanted, at_ms=at_ms + 3)
        bob.discharge(event, at_ms=at_ms + 4)
    for process in trace.processes:
        process.close(at_ms=500)
    return trace


def segments_below(directory: Path, short: str) -> list[Path]:
    """The segments of one peer, in order."""
    return [path for segment, path in segments_of(directory.rglob("*.ndjson")) if segment.node == short]


def judged(compacted: Compacted) -> dict[str, set[str]]:
    """What audits say, by verdict."""
    found: dict[str, set[str]] = {}
    findings = united([audit.audit(compacted.tables) for audit in (copies, losses, sequences)])
    for row in told(compacted.tables, findings).collect():
        found.setdefault(row.verdict, set()).add(row.text)
    return found


def test_what_damaged_files_held_is_unknown(spark: SparkSession, tmp_path: Path) -> None:
    """Nobody names a start of Bob's: the names of his damaged files do. One of Ann's explains the hole in her trace."""
    trace = shop()
    trace.write(tmp_path / "in", batch=2)
    ann, bob = (short_name(process.node) for process in trace.processes[:2])
    for path in [segments_below(tmp_path / "in", ann)[1], *segments_below(tmp_path / "in", bob)]:
        path.write_bytes(path.read_bytes()[:-9])
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    figures, found = headline(compacted), judged(compacted)
    assert [figures[name] for name in ("delivered", "ended", "lost", "unknown", "still_owed")] == [1, 0, 0, 1, 0]
    assert (figures["processes"], figures["cut"], figures["unheard"]) == (2, 0, 1)
    assert figures["files_skipped"] == 1 + len(segments_below(tmp_path / "in", bob))
    assert found.keys() == {"unknown"}
    assert f"all files of {bob[:8]}.1 were skipped" in found["unknown"]
    assert f"2 records of {ann[:8]}.1 are not there, and files of it were skipped" in found["unknown"]


def test_an_owner_whose_first_start_is_missing_is_unknown_and_not_accused(spark: SparkSession, tmp_path: Path) -> None:
    """Bob came back, and only what he wrote then was handed in."""
    trace = shop()
    bob = trace.processes[1]
    trace.process("bob", bob.incarnation + 1).close()
    trace.write(tmp_path / "in")
    for path in segments_below(tmp_path / "in", short_name(bob.node))[:1]:
        path.unlink()
    assert judged(compact(spark, [tmp_path / "in"], tmp_path / "out")).keys() == {"unknown"}


def test_an_owner_without_any_file_is_unknown_and_not_accused(spark: SparkSession, tmp_path: Path) -> None:
    """Nobody handed Bob's files in; that he acknowledged is all that is known of him."""
    trace = shop()
    trace.write(tmp_path / "in")
    for path in segments_below(tmp_path / "in", short_name(trace.processes[1].node)):
        path.unlink()
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    figures = headline(compacted)
    assert [figures[name] for name in ("delivered", "ended", "lost", "unknown", "still_owed")] == [1, 0, 0, 1, 0]
    assert judged(compacted).keys() == {"unknown"}
