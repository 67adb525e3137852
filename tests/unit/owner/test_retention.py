"""Retention: as long as the class says and no longer, bounded, the oldest make room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Event
from p2psub.model.instants import Micros
from p2psub.owner.retention import Recent
from tests.unit.bench import event_of


def everything(_: Event) -> bool:
    """A subscription that wants all."""
    return True


def retained(recent: Recent, now: int) -> list[tuple[int, int]]:
    """Sequence and age of what is retained."""
    return [(event.id.sequence, age) for event, age in recent.wanted(everything, Micros(now))]


def test_event_is_kept_until_its_retention_ends() -> None:
    """Counted from its birth, not from when it was discharged (QoS 3.1)."""
    recent = Recent(10)
    recent.retain(event_of("x", 1, retain_us=100), Micros(1_000), Micros(1_050))
    assert retained(recent, 1_099) == [(1, 99)]
    assert retained(recent, 1_100) == []
    assert len(recent) == 0


def test_class_zero_and_what_is_over_are_not_kept() -> None:
    """Nothing is kept that nobody may get."""
    recent = Recent(10)
    recent.retain(event_of("x", 1), Micros(0), Micros(0))
    recent.retain(event_of("x", 2, retain_us=100), Micros(0), Micros(100))
    assert len(recent) == 0


def test_only_what_is_wanted_comes_back_oldest_first() -> None:
    """By the filter of who asks."""
    recent = Recent(10)
    for n in (1, 2, 3, 4):
        recent.retain(event_of("x" if n % 2 else "y", n, retain_us=100), Micros(n), Micros(n))
    wanted = recent.wanted(lambda event: event.topic == "x", Micros(5))
    assert [event.id.sequence for event, _ in wanted] == [1, 3]


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 5))
def test_never_more_than_the_limit_and_no_event_twice(sequences: list[int], most: int) -> None:
    """The last ones retained are the ones that are kept."""
    recent = Recent(most)
    for now, sequence in enumerate(sequences):
        recent.retain(event_of("x", sequence, retain_us=1_000), Micros(0), Micros(now))
        assert len(recent) <= most
    kept = [sequence for sequence, _ in retained(recent, 100)]
    assert len(set(kept)) == len(kept) == min(most, len(set(sequences)))
    assert set(sequences[-1:]) <= set(kept)
