"""`p2psub trace`: one order for all records, one event's way, and tables for Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from p2psub.analysis.compaction import open_compacted
from p2psub.api.values import id_to_text
from p2psub.cli.exits import EXIT_BAD_INPUT, EXIT_REFUSED
from p2psub.cli.main import app
from p2psub.model.ids import EventId
from p2psub.traces.reader import find_segments, merge_traces
from tests.analysis.planted_trace import PlantedTrace


def invoke(*words: object, code: int = 0) -> str:
    """What `p2psub trace` prints to stdout."""
    ran = CliRunner().invoke(app, ["trace", *map(str, words)])
    assert ran.exit_code == code, ran.output
    return ran.stdout if code == 0 else ran.output


def planted(directory: Path) -> EventId:
    """An event that is kept twice, delivered to one subscription, and dropped for another."""
    trace = PlantedTrace()
    alice, bob, carol, owner = (trace.process(name, at_ms=0) for name in ("alice", "bob", "carol", "owner"))
    first, second = bob.subscribe(at_ms=1), carol.subscribe(at_ms=1)
    event = alice.publish("bread", {"price": 3}, at_ms=10)
    owner.store(event, owed=2, at_ms=12)
    owner.match(event, 2, at_ms=12.5)
    bob.keep(event, at_ms=14)
    carol.keep(event, at_ms=15)
    alice.acknowledge(event, count=2, copies=3, at_ms=16)
    bob.deliver(event, first, at_ms=17)
    carol.drop("channel_full", event=event, subscription=second, at_ms=17)
    owner.outcome(event, first, at_ms=18)
    owner.discharge(event, count=2, at_ms=20)
    alice.publish("butter", at_ms=21)
    trace.write(directory, batch=2)
    return event


def test_records_of_all_peers_come_in_the_order_of_the_clock(tmp_path: Path) -> None:
    """Each record once, even of copied directories; readable by people, or by programs as JSON."""
    planted(tmp_path / "in")
    shutil.copytree(tmp_path / "in", tmp_path / "copy")
    said = [json.loads(line) for line in invoke("merge", tmp_path, "--json").splitlines()]
    assert len(said) == 17
    assert [(one["wall_us"], one["ticks"]) for one in said] == sorted((one["wall_us"], one["ticks"]) for one in said)
    assert len({(one["node"], one["sequence"]) for one in said}) == 17
    lines = invoke("merge", tmp_path, "--kind", "publish").splitlines()
    assert [line.split(" content: ")[1] for line in lines] == ["bread price=3", "butter"]


def test_one_event_is_shown_with_its_way(tmp_path: Path) -> None:
    """From publish to every subscription, with the time since publish; the pair that got nothing stands out."""
    event = planted(tmp_path)
    tree = invoke("show", id_to_text(event), tmp_path)
    ways = [(line.strip("├└│─ ").split()[0], line.split()[-2]) for line in tree.splitlines()[3:]]
    assert [way for way in ways if way[0] != "subscription"] == [
        ("store", "+2.000"),
        ("copy", "+4.000"),
        ("copy", "+5.000"),
        ("match", "+2.500"),
        ("discharge", "+10.000"),
        ("acknowledge", "+6.000"),
        *[way for way in ways if way[0] in {"deliver", "outcome", "drop"}],
    ]
    assert [name for name, _ in ways].count("subscription") == 2
    assert "bread price=3 (effectively_once)" in tree
    assert tree.count("not delivered, as far as these traces tell") == 1
    assert "drop at" in tree
    assert "(channel_full) +7.000 ms" in tree
    assert "+7.000 ms" in next(line for line in tree.splitlines() if "deliver at" in line)


def test_one_event_is_shown_to_programs(tmp_path: Path) -> None:
    """The same, as one object."""
    event = planted(tmp_path)
    shown: dict[str, Any] = json.loads(invoke("show", id_to_text(event), tmp_path, "--json"))
    assert (shown["event"], shown["content"]["topic"]) == (id_to_text(event), "bread")
    counts = {name: len(shown[name]) for name in ("store", "match", "copy", "acknowledge", "discharge", "others")}
    assert counts == {"store": 1, "match": 1, "copy": 2, "acknowledge": 1, "discharge": 1, "others": 0}
    assert sorted(len(arrival["deliver"]) for arrival in shown["arrivals"]) == [0, 1]


def test_an_event_is_shown_wherever_it_stands_in_a_run(tmp_path: Path) -> None:
    """`merge` prints the record as it is; `show` says of the event what a record of its own would, and no more."""
    trace = PlantedTrace()
    alice, bob, owner = (trace.process(name, at_ms=0) for name in ("alice", "bob", "owner"))
    wanted = bob.subscribe(at_ms=1)
    events = [alice.publish(topic, at_ms=10) for topic in ("bread", "butter", "beer")]
    owner.store(events[0], owed=1, run=3, at_ms=12)
    bob.deliver(events[0], wanted, run=2, at_ms=17)
    trace.write(tmp_path)
    assert "run=2" in invoke("merge", tmp_path, "--kind", "deliver")
    (merged,) = invoke("merge", tmp_path, "--kind", "store", "--json").splitlines()
    assert (json.loads(merged)["event"], json.loads(merged)["run"]) == (id_to_text(events[0]), 3)
    butter, beer = (json.loads(invoke("show", id_to_text(one), tmp_path, "--json")) for one in events[1:])
    assert (butter["content"]["topic"], len(butter["store"]), len(butter["arrivals"])) == ("butter", 1, 1)
    (delivered,) = butter["arrivals"][0]["deliver"]
    assert (delivered["event"], delivered["digest"]) == (id_to_text(events[1]), butter["publish"]["digest"])
    assert "run" not in delivered
    assert (beer["content"]["topic"], len(beer["store"]), beer["arrivals"]) == ("beer", 1, [])


def test_without_its_publisher_an_event_has_no_content(tmp_path: Path) -> None:
    """Owners do not repeat it; their records are shown all the same."""
    event = planted(tmp_path)
    shutil.rmtree(tmp_path / event.node.hex()[:10])
    tree = invoke("show", id_to_text(event), tmp_path)
    assert "publish: not in these traces, and with it the content" in tree
    assert "store at" in tree


def test_what_cannot_be_shown_is_explained(tmp_path: Path) -> None:
    """No id, an unknown event, no directory, no traces; a damaged segment is named and passed over."""
    event = planted(tmp_path / "in")
    assert "hex.number.number" in invoke("show", "bread", tmp_path, code=EXIT_BAD_INPUT)
    unknown = id_to_text(event._replace(sequence=99))
    assert "traces of more peers" in invoke("show", unknown, tmp_path, code=EXIT_REFUSED)
    assert "there is no directory" in invoke("merge", tmp_path / "nowhere", code=EXIT_BAD_INPUT)
    (tmp_path / "empty").mkdir()
    assert "DATA/traces" in invoke("merge", tmp_path / "empty", code=EXIT_REFUSED)
    damaged = min((tmp_path / "in").rglob("*.ndjson"))
    damaged.write_bytes(damaged.read_bytes() + b"half a li")
    ran = CliRunner().invoke(app, ["trace", "merge", str(tmp_path)])
    assert (ran.exit_code, len(ran.stdout.splitlines())) == (0, 15)
    assert f"skipped a segment: {damaged}, line 3" in ran.stderr


def test_a_segment_that_is_gone_when_its_turn_comes_is_passed_over(tmp_path: Path) -> None:
    """A peer that writes discards its oldest segments; the others are read all the same."""
    planted(tmp_path)
    segments = find_segments([tmp_path])
    gone = segments[0][0]
    gone.unlink()
    skipped: list[str] = []
    assert len(list(merge_traces(segments, lambda error: skipped.append(str(error))))) == 15
    assert [text.partition(";")[0] for text in skipped] == [f"{gone} cannot be read: No such file or directory"]


@pytest.mark.usefixtures("_lent")
def test_compact_tells_what_it_did(spark: SparkSession, tmp_path: Path) -> None:
    """Figures and every skipped file, in words or as JSON."""
    planted(tmp_path / "in")
    (tmp_path / "in" / "other.ndjson").touch()
    said = json.loads(invoke("compact", tmp_path / "in", "--out", tmp_path / "out", "--json"))
    assert (said["rows"], said["files_skipped"], said["repeated"]) == (17, 1, 0)
    assert said["skipped"][0]["reason"] == "not the name of a segment"
    assert open_compacted(spark, tmp_path / "out").tables.records.count() == 17
    assert "17 rows" in invoke("compact", tmp_path / "in", "--out", tmp_path / "out")


def test_without_spark_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is imported that is not there."""
    monkeypatch.setattr("p2psub.cli.spark_extra.find_spec", lambda _: None)
    said = invoke("compact", tmp_path, "--out", tmp_path / "out", code=EXIT_REFUSED)
    assert "pip install 'p2psub[spark]'" in said
