"""Sets of places of a parcel, each an int."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.place_sets import lowest, part_of, places_in


@given(st.integers(1, (1 << 256) - 1), st.integers(1, 300))
def test_parts_of_a_parcel_are_the_same_for_all_that_want_some_of_it(places: int, size: int) -> None:
    """What falls into one part goes in one message, whoever wants more or less of it; nothing is lost or doubled."""
    rest, parts = places, 0
    while rest:
        part = part_of(rest, size)
        window = lowest(rest) // size
        assert places_in(part) == [place for place in places_in(rest) if place // size == window]
        parts |= part
        rest &= ~part
    assert parts == places
