"""Retention: as long as the class says and no longer, bounded, the oldest make room."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Event
from p2psub.model.instants import Micros
from p2psub.model.seals import Signature
from p2psub.owner.retention import Recent
from tests.unit.bench import event_of, parcel_of


def everything(_: Event) -> bool:
    """A subscription that wants all."""
    return True


def retained(recent: Recent, now: int) -> list[tuple[int, int]]:
    """Sequence and age of what is retained."""
    wanted = recent.wanted(everything, Micros(now))
    return [(event.id.sequence, age) for parcel, age in wanted for event in parcel.events]


def retain(recent: Recent, event: Event, born_us: int, now: int) -> None:
    """A parcel of one event is discharged."""
    recent.retain(parcel_of(event), 1, Micros(born_us), Micros(now))


def test_event_is_kept_until_its_retention_ends() -> None:
    """Counted from its birth, not from when it was discharged (QoS 3.1)."""
    recent = Recent(10)
    retain(recent, event_of("x", 1, retain_us=100), 1_000, 1_050)
    assert retained(recent, 1_099) == [(1, 99)]
    assert retained(recent, 1_100) == []
    assert len(recent) == 0


def test_class_zero_and_what_is_over_are_not_kept() -> None:
    """Nothing is kept that nobody may get."""
    recent = Recent(10)
    retain(recent, event_of("x", 1), 0, 0)
    retain(recent, event_of("x", 2, retain_us=100), 0, 100)
    assert len(recent) == 0


def test_part_without_a_proof_is_not_kept() -> None:
    """No subscriber takes a part of a parcel whose proof is wrong, however often it is discharged."""
    recent = Recent(10)
    whole = parcel_of(event_of("x", 1, retain_us=100), event_of("x", 2, retain_us=100))
    forged = msgspec.structs.replace(whole, signature=Signature(bytes(64), b"forged"), proof=(bytes(16),))
    for places in (0b01, 0b10):
        recent.retain(forged, places, Micros(0), Micros(0))
    assert retained(recent, 0) == []
    assert retained(recent, 200) == []
    assert len(recent) == 0


def test_only_what_is_wanted_comes_back_oldest_first() -> None:
    """By the filter of who asks."""
    recent = Recent(10)
    for n in (1, 2, 3, 4):
        retain(recent, event_of("x" if n % 2 else "y", n, retain_us=100), n, n)
    wanted = recent.wanted(lambda event: event.topic == "x", Micros(5))
    assert [event.id.sequence for parcel, _ in wanted for event in parcel.events] == [1, 3]


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 5))
def test_never_more_than_the_limit_and_no_event_twice(sequences: list[int], most: int) -> None:
    """The last ones retained are the ones that are kept."""
    recent = Recent(most)
    for now, sequence in enumerate(sequences):
        retain(recent, event_of("x", sequence, retain_us=1_000), 0, now)
        assert len(recent) <= most
    kept = [sequence for sequence, _ in retained(recent, 100)]
    assert len(set(kept)) == len(kept) == min(most, len(set(sequences)))
    assert set(sequences[-1:]) <= set(kept)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 255)), max_size=12), st.integers(1, 9))
def test_parts_of_parcels_are_kept_as_single_events_would_be(parts: list[tuple[int, int]], most: int) -> None:
    """However a parcel is cut when it is discharged: no event twice, never more than the limit, the latest stay."""
    recent, oracle = Recent(most), list[int]()
    parcels = [parcel_of(*(event_of("x", 8 * n + k, retain_us=1_000) for k in range(8)), number=n) for n in range(3)]
    for number, places in parts:
        recent.retain(parcels[number], places, Micros(0), Micros(0))
        fresh = [8 * number + k for k in range(8) if places >> k & 1 and 8 * number + k not in oracle]
        oracle = (oracle + fresh)[-most:]
    assert [sequence for sequence, _ in retained(recent, 1)] == oracle
    assert len(recent) == len(oracle)
