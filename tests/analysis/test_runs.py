"""Traces by runs: figures, answers and audits are those of the same trace with a record for each event."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.audits import sequences
from p2psub.analysis.compaction import Compacted, compact, open_compacted
from p2psub.analysis.follower import Follower
from p2psub.analysis.job import Orders, run_analysis
from p2psub.analysis.progress import no_progress
from p2psub.analysis.runs import apart
from p2psub.analysis.schemas import RECORDS
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.records import Kind, Record
from p2psub.traces.segments import SegmentDamaged, SegmentName, read_segment
from tests.analysis.planted_trace import PlantedTrace
from tests.analysis.test_compaction import assert_same

BATCH = 7
"""Records in a segment."""
RUN = 8
COPIES = 3
OF_RECORDS = ("sequence", "ticks", "place")
"""Columns that tell records apart, not what they say."""
PROMISES = {"S1", "S2", "S3", "S4", "S5", "S13", "conservation", "liveness", "trace"}
Say = Callable[..., Record]


class Bakery:
    """Eight events for each topic: all sound in the first; in each of the others some inside the run are not."""

    def __init__(self, *, is_by_runs: bool) -> None:
        self.is_by_runs = is_by_runs
        self.trace = PlantedTrace()
        self.ann, self.owner, self.holder, self.dan = (
            self.trace.process(name, at_ms=0) for name in ("ann", "owner", "holder", "dan")
        )
        for process in self.trace.processes:
            process.ring(at_ms=1)
        self.owner.role(at_ms=2)
        self._numbered = 0
        self._now_ms = 30_000.0
        self.events: dict[str, list[EventId]] = {}
        self._sound()
        self._lost()
        self._delivered_wrongly()
        self._held_by_too_few()
        self._unwanted()
        spare = self.trace.process("spare", cluster="c1")
        spare.lose(2)
        spare.ring()
        for process in self.trace.processes:
            process.close(at_ms=200_000)

    def say(self, say: Say, events: list[EventId], *what: Any, **fields: Any) -> None:
        """The same of events in a row: in one record, or in one for each."""
        if self.is_by_runs:
            say(events[0], *what, run=len(events), **fields)
            return
        hashes = fields.pop("digest", None)
        for n, event in enumerate(events):
            own = {} if hashes is None else {"digest": hashes[16 * n : 16 * n + 16]}
            say(event, *what, **fields, **own)

    def _store(self, topic: str, *, owed: int = 1, kept: int = RUN) -> tuple[list[EventId], SubscriptionId]:
        wanted = self.dan.subscribe(topic, at_ms=self._now_ms)
        self._numbered += 1
        self.owner.number(wanted, self._numbered)
        self.dan.verdict(wanted)
        self._now_ms += 1_000
        named = topic if owed else "nobody's"
        events = [self.ann.publish(named, {"n": n}, at_ms=self._now_ms + n) for n in range(RUN)]
        self.events[topic] = events
        at_ms = self._now_ms + 10
        self.say(self.owner.match, events, owed, at_ms=at_ms)
        vector = self.owner.vector_to(self._numbered if owed else 0)
        self.say(self.owner.store, events, owed=owed, vector=vector, at_ms=at_ms + 1)
        self.say(self.holder.keep, events[:kept], at_ms=at_ms + 2)
        self.say(self.dan.keep, events, at_ms=at_ms + 2)
        self.say(self.ann.acknowledge, events, count=owed, copies=COPIES, peer=self.owner.node, at_ms=at_ms + 3)
        self._now_ms += 100
        return events, wanted

    def _end(self, events: list[EventId], wanted: SubscriptionId) -> None:
        self.say(self.owner.outcome, events, wanted, at_ms=self._now_ms + 1)
        self.say(self.owner.discharge, events, at_ms=self._now_ms + 2)

    def _sound(self) -> None:
        events, wanted = self._store("sound")
        self.say(self.dan.deliver, events, wanted, at_ms=self._now_ms)
        self._end(events, wanted)

    def _lost(self) -> None:
        events, wanted = self._store("lost")
        for part in (events[:3], events[4:]):
            self.say(self.dan.deliver, part, wanted, at_ms=self._now_ms)
        self._end(events, wanted)

    def _delivered_wrongly(self) -> None:
        events, wanted = self._store("twice")
        self.say(self.dan.deliver, events, wanted, at_ms=self._now_ms)
        self.say(self.dan.deliver, events[5:7], wanted, at_ms=self._now_ms + 1)
        self._end(events, wanted)
        events, wanted = self._store("altered")
        hashes = b"".join(content_hash(self.trace.events[event]) for event in events)
        self.say(self.dan.deliver, events, wanted, digest=hashes[:32] + bytes(16) + hashes[48:], at_ms=self._now_ms)
        self._end(events, wanted)
        strange = [events[-1]._replace(sequence=900 + n) for n in range(2)]
        self.say(self.dan.deliver, strange, wanted, digest=bytes(32), at_ms=self._now_ms + 1)
        events, wanted = self._store("late")
        self.say(self.dan.deliver, events[:6], wanted, at_ms=self._now_ms)
        self._now_ms += 61_000
        self.say(self.dan.deliver, events[6:], wanted, at_ms=self._now_ms)
        self._end(events, wanted)

    def _held_by_too_few(self) -> None:
        events, wanted = self._store("few", kept=6)
        self.say(self.dan.deliver, events, wanted, at_ms=self._now_ms)
        self._end(events, wanted)

    def _unwanted(self) -> None:
        events, wanted = self._store("nobody", owed=0)
        self.say(self._again, events, at_ms=self._now_ms)
        self.say(self._drop, events[2:4], wanted, at_ms=self._now_ms + 1)

    def _again(self, event: EventId, **fields: Any) -> Record:
        return self.owner.duplicate("publish_repeated", event=event, **fields)

    def _drop(self, event: EventId, subscription: SubscriptionId, **fields: Any) -> Record:
        return self.dan.drop(None, event=event, subscription=subscription, **fields)


def said(records: DataFrame) -> list[str]:
    """What rows say, whatever record they come from."""
    return sorted(map(repr, records.drop(*OF_RECORDS).collect()))


def analysed(spark: SparkSession, directory: Path, *, is_by_runs: bool) -> tuple[Any, dict[str, list[str]]]:
    """Figures and tables of the bakery."""
    Bakery(is_by_runs=is_by_runs).trace.write(directory / "in")
    orders = Orders([directory / "in"], directory / "out", is_rematched=True)
    results = run_analysis(spark, orders, no_progress)
    results.figures.pop("report")
    spark.catalog.clearCache()
    tables = {
        path.stem: sorted(json.dumps(unnumbered(json.loads(line))) for line in path.read_text().splitlines())
        for path in (directory / "out" / "tables").glob("*.json")
    }
    return unnumbered(results.figures), tables


def unnumbered(said: Any) -> Any:
    """The same without the numbers of records, which are others where there are fewer records."""
    if isinstance(said, list):
        return [unnumbered(one) for one in said]
    if isinstance(said, dict):
        return {name: unnumbered(value) for name, value in said.items() if name != "sequence"}
    return said


@pytest.fixture(scope="module")
def by_runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Bakery, Compacted, Path]:
    """The bakery by runs, compacted, and where that is."""
    bakery, place = Bakery(is_by_runs=True), tmp_path_factory.mktemp("runs")
    bakery.trace.write(place / "in", batch=BATCH)
    return bakery, compact(spark, [place / "in"], place / "out"), place


def test_a_run_becomes_a_row_for_each_event(spark: SparkSession, by_runs: tuple[Bakery, Compacted, Path]) -> None:
    """Spark takes runs apart as plain Python does, and as a trace by events is; the records still count once."""
    bakery, compacted, place = by_runs
    assert_same(compacted.tables, bakery.trace.tables(spark))
    one_by_one = Bakery(is_by_runs=False).trace
    assert said(compacted.tables.records) == said(one_by_one.tables(spark).records)
    assert compacted.rows == len(one_by_one.records) > 3 * len(bakery.trace.records)
    assert open_compacted(spark, place / "out").rows == compacted.rows
    counted = compacted.tables.processes.agg(F.sum("records"), F.sum("missing")).collect()[0]
    assert tuple(counted) == (len(bakery.trace.records), 2)


def test_runs_are_taken_apart_once_however_often_they_are_read(
    spark: SparkSession, by_runs: tuple[Bakery, Compacted, Path]
) -> None:
    """Segments that overlap, and a compaction beside the segments it was made of."""
    bakery, compacted, place = by_runs
    bakery.trace.write(place / "more", batch=BATCH + 2)
    again = compact(spark, [place / "more", place / "in", place / "out"], place / "again")
    assert_same(again.tables, compacted.tables)
    assert again.rows == compacted.rows


def test_runs_are_followed_as_they_are_read_afterwards(
    spark: SparkSession, by_runs: tuple[Bakery, Compacted, Path], tmp_path: Path
) -> None:
    """Live figures count every event of a run."""
    _, compacted, place = by_runs
    follower = Follower(spark, [place / "in"], tmp_path)
    assert follower.read()
    followed = follower.compacted()
    assert (followed.rows, followed.files) == (compacted.rows, compacted.files)
    assert said(
        followed.tables.records.drop("node", "process", "event", "subscription", "peer", "epoch_process")
    ) == said(compacted.tables.records.drop("node", "process", "event", "subscription", "peer", "epoch_process"))


def test_taking_runs_apart_moves_no_row(spark: SparkSession, by_runs: tuple[Bakery, Compacted, Path]) -> None:
    """One narrow step: the plan hands nothing on between tasks."""
    rows = by_runs[1].tables.records.withColumn("run", F.lit(3).cast("long"))
    plan = apart(rows)._jdf.queryExecution().executedPlan().toString()
    assert "Generate explode" in plan
    assert "Exchange" not in plan
    assert apart(rows).columns == RECORDS.names


def test_a_gap_is_a_gap_whatever_records_speak_of(spark: SparkSession, by_runs: tuple[Bakery, Compacted, Path]) -> None:
    """Two numbers of records are missing; that the rows of a run share one is no gap, and no clock that ran back."""
    (found,) = sequences.audit(by_runs[1].tables).collect()
    assert found.text == "2 records of {process} are not there, and nothing says why"


@pytest.mark.slow
def test_figures_answers_and_audits_are_those_of_the_trace_by_events(spark: SparkSession, tmp_path: Path) -> None:
    """The same events inside the runs are found lost, late, altered, invented, handed over twice, in too few copies."""
    found, tables = analysed(spark, tmp_path / "runs", is_by_runs=True)
    wanted, others = analysed(spark, tmp_path / "events", is_by_runs=False)
    assert found == wanted
    assert set(tables) == set(others)
    for name in set(tables) - {"processes"}:
        assert tables[name] == others[name], name
    violations = [json.loads(line) for line in tables["violations"]]
    assert {one["invariant"] for one in violations} == PROMISES
    events = Bakery(is_by_runs=True).events
    accused = {(one["invariant"], int(one["event"].rsplit(".")[-1])) for one in violations if one.get("event")}
    for invariant, topic, places in (
        ("S1", "lost", (3,)),
        ("S2", "twice", (5, 6)),
        ("S4", "altered", (2,)),
        ("S5", "few", (6, 7)),
        ("S13", "nobody", (2, 3)),
    ):
        assert {number for name, number in accused if name == invariant} == {
            events[topic][place].sequence for place in places
        }


WRONG: list[dict[str, Any]] = [
    {"event": None},
    {"run": 0},
    {"run": 65_537},
    {"count": 2},
    {"digest": "AAAAAAAAAAAAAAAAAAAAAA=="},
    {"kind": "publish"},
]


def test_what_says_that_it_is_a_run_and_is_not_one_is_damaged(spark: SparkSession, tmp_path: Path) -> None:
    """Of no event, of none, of too many, with a count, with too few hashes, or of content: as for Python's reader."""
    trace = PlantedTrace()
    ann, bob = trace.process("ann"), trace.process("bob")
    event = ann.publish()
    kept = [bob.record(Kind.COPY, event=event, run=2) for _ in (*WRONG, "sound")]
    trace.write(tmp_path / "in", batch=1)
    damaged = [path for record in kept[:-1] for path in (tmp_path / "in").rglob(SegmentName.of(record).file_name)]
    for path, wrong in zip(damaged, WRONG, strict=True):
        line = {**json.loads(path.read_bytes()), **wrong}
        path.write_text(json.dumps({name: value for name, value in line.items() if value is not None}) + "\n")
        with pytest.raises(SegmentDamaged):
            list(read_segment(path))
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert [path for path, _ in compacted.skipped] == sorted(damaged)
    assert compacted.tables.of(Kind.COPY).count() == 2
