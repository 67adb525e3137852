"""Sets of sequence numbers remember exactly what a plain list of entries would, for as long as was asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.parcels.remembered import Remembered
from tests.unit.bench import node_at

SPAN_US = Micros(80)
EVENTS = st.builds(
    EventId, st.sampled_from([node_at(1), node_at(2)]), st.integers(1, 2), st.sampled_from([1, 2, 3, 7, 70_000, 2**40])
)
NOTES = st.lists(st.tuples(EVENTS, st.sampled_from("ab"), st.integers(0, 30)), max_size=40)


@given(NOTES, EVENTS, st.integers(0, 200))
def test_an_event_is_remembered_for_the_span_and_not_much_longer(
    notes: list[tuple[EventId, str, int]], asked: EventId, later_us: int
) -> None:
    """Under each of its labels and under no other; after a span and an eighth it is forgotten."""
    memory: Remembered[str] = Remembered(SPAN_US)
    noted: list[tuple[EventId, str, int]] = []
    now = 1_000
    for event, label, passed_us in notes:
        now += passed_us
        memory.forget(Micros(now))
        memory.note(event, label, Micros(now))
        noted.append((event, label, now))
    now += later_us
    memory.forget(Micros(now))
    for label in "ab":
        ages_us = [now - at for event, known, at in noted if (event, known) == (asked, label)]
        if any(age_us < SPAN_US for age_us in ages_us):
            assert memory.has(asked, label)
        if not any(age_us < SPAN_US + SPAN_US // 8 for age_us in ages_us):
            assert not memory.has(asked, label)
        assert memory.has(asked, label) == (label in memory.labels_of(asked))


@given(NOTES)
def test_the_label_of_the_latest_slice_comes_last(notes: list[tuple[EventId, str, int]]) -> None:
    """What was told last is told again."""
    memory: Remembered[str] = Remembered(SPAN_US)
    now, last = 1_000, ""
    event = EventId(node_at(1), 1, 1)
    for _, label, passed_us in notes:
        now += passed_us + SPAN_US // 8
        memory.note(event, label, Micros(now))
        last = label
    assert memory.labels_of(event)[-1:] == ([last] if last else [])
