"""Sets of sequence numbers remember exactly what a plain list of entries would, for as long as was asked."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.model.place_sets import places_in
from p2psub.parcels.remembered import Remembered
from tests.unit.bench import node_at
from tests.unit.unsound import NUMBER_MAX

SPAN_US = Micros(80)
BOUNDARY = 1 << 32
"""Beyond it a number belongs to another set."""

FIRSTS = st.builds(
    EventId,
    st.sampled_from([node_at(1), node_at(2)]),
    st.integers(1, 2),
    st.sampled_from([0, 1, 3, 70_000, BOUNDARY - 3, BOUNDARY - 1, BOUNDARY, 5 * BOUNDARY - 2, NUMBER_MAX - 7]),
)
PLACES = st.integers(1, 255)


class Note(NamedTuple):
    """Events that are remembered from an instant on."""

    first: EventId
    places: int
    label: str
    waited_us: int


NOTES = st.lists(st.builds(Note, FIRSTS, PLACES, st.sampled_from("ab"), st.integers(0, 30)), max_size=30)


class Plain:
    """The oracle: an entry for every event and label, with its instant."""

    def __init__(self) -> None:
        self._entries: list[tuple[EventId, str, int]] = []

    def note(self, first: EventId, places: int, label: str, now: int) -> None:
        self._entries += [(event, label, now) for event in events_at(first, places)]

    def within(self, event: EventId, label: str, span_us: int, now: int) -> bool:
        """Whether it was noted within a span."""
        return any((event, label) == (e, known) and now - at < span_us for e, known, at in self._entries)


def events_at(first: EventId, places: int) -> list[EventId]:
    """The events at some places of a row."""
    return [EventId(first.node, first.incarnation, first.sequence + place) for place in places_in(places)]


@given(NOTES, FIRSTS, PLACES, st.integers(0, 200))
def test_an_event_is_remembered_for_the_span_and_not_much_longer(
    notes: list[Note], asked: EventId, places: int, later_us: int
) -> None:
    """Under each of its labels and under no other; after a span and an eighth it is forgotten."""
    memory: Remembered[str] = Remembered(SPAN_US)
    plain, now = Plain(), 1_000
    for first, some, label, waited_us in notes:
        now += waited_us
        memory.forget(Micros(now))
        memory.note(first, some, label, Micros(now))
        plain.note(first, some, label, now)
    now += later_us
    memory.forget(Micros(now))
    told = memory.labels_of(asked, places)
    for label in "ab":
        found = memory.has(asked, places, label)
        assert found & ~places == 0
        for place, event in zip(places_in(places), events_at(asked, places), strict=True):
            if plain.within(event, label, SPAN_US, now):
                assert found >> place & 1
            if not plain.within(event, label, SPAN_US + SPAN_US // 8, now):
                assert not found >> place & 1
        together = 0
        for _, some in [one for one in told if one[0] == label]:
            together |= some
        assert together == found


@given(FIRSTS, st.lists(st.tuples(st.integers(-9, 9), PLACES), min_size=1, max_size=6), st.integers(-9, 9), PLACES)
def test_rows_that_begin_elsewhere_name_the_same_events(
    first: EventId, rows: list[tuple[int, int]], shift: int, places: int
) -> None:
    """Parts of parcels overlap as they like, also where numbers pass from one set to the next."""
    memory: Remembered[str] = Remembered(SPAN_US)
    noted: set[EventId] = set()
    for by, some in rows:
        row = shifted(first, by)
        memory.note(row, some, "a", Micros(0))
        noted.update(events_at(row, some))
    asked = shifted(first, shift)
    found = memory.has(asked, places, "a")
    assert events_at(asked, found) == [event for event in events_at(asked, places) if event in noted]
    assert memory.has(asked, places, "b") == 0
    assert memory.has(asked._replace(incarnation=3), places, "a") == 0


def shifted(first: EventId, by: int) -> EventId:
    """A row that begins so much later; none begins below 0."""
    return first._replace(sequence=max(0, first.sequence + by))


@given(NOTES)
def test_the_label_of_the_latest_slice_comes_last(notes: list[Note]) -> None:
    """What was told last is told again."""
    memory: Remembered[str] = Remembered(SPAN_US)
    now, last = 1_000, ""
    event = EventId(node_at(1), 1, 1)
    for note in notes:
        now += note.waited_us + SPAN_US // 8
        memory.note(event, 1, note.label, Micros(now))
        last = note.label
    assert memory.labels_of(event, 1)[-1:] == ([(last, 1)] if last else [])
