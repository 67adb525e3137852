"""Checkers find in records that speak of runs what they find in records of one event each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from p2psub.model.content import Event
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.traces.runs import happenings
from sims.checkers.judge import Judgement, judge
from sims.engine.trace import Trace
from tests.simulation.trails import CLUSTER, STREAM, SUBSCRIPTION, H, Trail, evidence_of, node, sound_trail

EVENTS = [Event(EventId(node(4), 1, n), "t", {"x": n}) for n in range(1, 5)]
OF_EVENTS = (
    Kind.PUBLISH,
    Kind.COPY,
    Kind.STORE,
    Kind.ACKNOWLEDGE,
    Kind.DELIVER,
    Kind.OUTCOME,
    Kind.DISCHARGE,
)
VECTOR = ((STREAM, 1),)


class RunTrail(Trail):
    """The sound run with four events for one subscription, each step one record; `parts` of a kind cut its run."""

    def __init__(self, parts: dict[Kind, list[list[Event]]], events: list[Event]) -> None:
        super().__init__()
        self._parts = parts
        for at_us, record in sound_trail(without=OF_EVENTS).entries:
            fields = msgspec.structs.asdict(record)
            who, kind = record.node[0], fields.pop("kind")
            named = {name: value for name, value in fields.items() if name not in ("node", "sequence", "stamp")}
            self.add(at_us, kind, who, **named)
        for event in events:
            self.add(20 * H + 10, Kind.PUBLISH, 4, event=event.id, digest=content_hash(event), published=event)
        for who in (1, 2):
            self.run(Kind.COPY, who)
        self.run(Kind.STORE, 0, vector=VECTOR, matched=1, cluster=CLUSTER)
        self.run(Kind.ACKNOWLEDGE, 4, copies=3, matched=1)
        self.run(Kind.DELIVER, 3, subscription=SUBSCRIPTION.id)
        self.run(Kind.OUTCOME, 0, subscription=SUBSCRIPTION.id, outcome=Outcome.DELIVERED)
        self.run(Kind.DISCHARGE, 0, matched=1)

    def run(self, kind: Kind, who: int, **fields: Any) -> None:
        """One record for each part."""
        for part in self._parts.get(kind, [EVENTS]):
            hashes = b"".join(map(content_hash, part)) if kind is Kind.DELIVER else None
            self.add(20 * H + 11, kind, who, event=part[0].id, run=len(part), digest=hashes, **fields)


def by_events(trail: Trail) -> Trail:
    """The same, with a record for each event."""
    alone = Trail()
    for at_us, record in trail.entries:
        for happening in happenings(record):
            fields = msgspec.structs.asdict(happening)
            for name in ("kind", "node", "sequence", "stamp"):
                fields.pop(name)
            alone.add(at_us, record.kind, record.node[0], **fields)
    return alone


def figures(judgement: Judgement) -> dict[str, Any]:
    """All that a report shows; of a finding everything but the number of its record."""
    shown = {name: getattr(judgement, name) for name in Judgement.__slots__ if name != "findings"}
    said = [(one.invariant, one.text, one.record and one.record.event, one.at_us) for one in judgement.findings]
    return {**shown, "findings": sorted(said, key=repr)}


ONE, TWO, THREE, FOUR = EVENTS
ALTERED = msgspec.structs.replace(THREE, body=b"other")
STRANGE = Event(EventId(node(4), 1, 5), "t", {})
WITHOUT_THREE = [[ONE, TWO], [FOUR]]


@pytest.mark.parametrize(
    ("parts", "found", "event"),
    [
        ({}, set(), None),
        ({kind: [[ONE], [TWO, THREE, FOUR]] for kind in OF_EVENTS}, set(), None),
        ({Kind.DELIVER: WITHOUT_THREE, Kind.OUTCOME: WITHOUT_THREE}, {"S1", "conservation"}, None),
        ({Kind.DELIVER: WITHOUT_THREE}, {"S1", "conservation"}, None),
        ({Kind.DELIVER: [EVENTS, [THREE]]}, {"S2"}, THREE),
        ({Kind.DELIVER: [[*EVENTS, STRANGE]]}, {"S3"}, STRANGE),
        ({Kind.DELIVER: [[ONE, TWO, ALTERED, FOUR]]}, {"S4"}, THREE),
        ({Kind.COPY: WITHOUT_THREE}, {"S5"}, THREE),
        ({Kind.STORE: WITHOUT_THREE}, {"S5"}, THREE),
        ({Kind.DISCHARGE: WITHOUT_THREE}, {"conservation"}, THREE),
    ],
    ids=[
        "sound",
        "cut elsewhere",
        "lost",
        "untrue outcome",
        "handed over twice",
        "invented",
        "altered",
        "without copies",
        "not stored",
        "forgotten",
    ],
)
def test_a_fault_inside_a_run_is_found_as_if_each_event_had_its_record(
    parts: dict[Kind, list[list[Event]]], found: set[str], event: Event | None
) -> None:
    """Every figure and every finding is that of the same trace by events."""
    trail = RunTrail(parts, EVENTS)
    judgement = judge(evidence_of(trail))
    assert {finding.invariant for finding in judgement.findings} == found
    if event is not None:
        assert {finding.record and finding.record.event for finding in judgement.findings} == {event.id}
    assert figures(judgement) == figures(judge(evidence_of(by_events(trail))))
    assert (judgement.published, judgement.acknowledged) == (4, 4)


def test_a_run_that_one_filter_does_not_want_whole_is_found() -> None:
    """S3: the second of four is of another topic, and was handed over with its neighbours."""
    other = msgspec.structs.replace(TWO, topic="other")
    judgement = judge(evidence_of(RunTrail({Kind.DELIVER: [[ONE, other, THREE, FOUR]]}, [ONE, other, THREE, FOUR])))
    assert [(one.invariant, one.record and one.record.event) for one in judgement.findings] == [("S3", TWO.id)]


def test_hooks_hear_of_each_event_of_a_run() -> None:
    """A schedule strikes as often as if each event had a record of its own; the trace keeps one."""
    trace, heard = Trace(), list[EventId | None]()
    trace.hook(Kind.STORE, lambda _, record: heard.append(record.event))
    (stored,) = [entry for entry in RunTrail({}, EVENTS).entries if entry[1].kind is Kind.STORE]
    trace.add(*stored)
    assert heard == [event.id for event in EVENTS]
    assert (trace.count, len(trace.happenings(Kind.STORE)), len(trace.happenings(Kind.STORE, since=1))) == (1, 4, 0)


def unwanted(*, retain_us: int = 0, matched: int = 0) -> list[Record]:
    """An event that no subscription wants, acknowledged at once without a copy in a settled ring of five."""
    trail = sound_trail()
    for who in range(5):
        trail.add(2 * H, Kind.RING, who, cluster=CLUSTER)
    event = msgspec.structs.replace(STRANGE, topic="nobody's", retain_us=retain_us)
    trail.add(21 * H, Kind.PUBLISH, 4, event=event.id, digest=content_hash(event), published=event)
    trail.add(21 * H + 1, Kind.STORE, 0, event=event.id, vector=VECTOR, matched=matched, cluster=CLUSTER)
    trail.add(21 * H + 2, Kind.ACKNOWLEDGE, 4, event=event.id, copies=0, matched=0)
    trail.entries.sort(key=lambda entry: entry[0])
    findings = judge(evidence_of(trail)).findings
    return [one.record for one in findings if one.record is not None and one.invariant == "S5"]


@pytest.mark.parametrize(
    ("said", "is_found"),
    [(unwanted, False), (lambda: unwanted(retain_us=1), True), (lambda: unwanted(matched=1), True)],
    ids=["nobody wants it", "retained", "owed after all"],
)
def test_only_what_is_owed_or_retained_needs_copies(said: Callable[[], list[Record]], is_found: bool) -> None:
    """S5: without a copy may be acknowledged what no subscription wants, by the word of the storing."""
    assert [record.kind for record in said()] == [Kind.ACKNOWLEDGE] * is_found


def test_a_run_may_arrive_again_and_be_dropped() -> None:
    """What was new before and what says why it was dropped breaks nothing."""
    trail = RunTrail({}, EVENTS)
    trail.add(22 * H, Kind.DUPLICATE, 3, event=ONE.id, run=4, reason=Reason.DELIVERED_BEFORE)
    trail.add(22 * H, Kind.DROP, 3, event=ONE.id, run=4, reason=Reason.OLDER_THAN_TTL)
    assert judge(evidence_of(trail)).findings == []
