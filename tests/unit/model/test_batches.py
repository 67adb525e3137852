"""Batches keep the order, lose nothing, and are no larger than they may be."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.batches import batches_of


@given(st.lists(st.integers(0, 20)), st.integers(1, 5), st.integers(1, 30))
def test_batches_are_bounded_and_whole(items: list[int], count_max: int, bytes_max: int) -> None:
    """Only an item that is too heavy by itself makes a batch that is."""
    batches = list(batches_of(items, lambda item: item, count_max, bytes_max))
    assert [item for batch in batches for item in batch] == items
    for batch in batches:
        assert 1 <= len(batch) <= count_max
        assert sum(batch) <= bytes_max or len(batch) == 1


@given(st.lists(st.integers(0, 20)), st.integers(1, 5), st.integers(1, 30))
def test_no_two_neighbours_could_have_been_one(items: list[int], count_max: int, bytes_max: int) -> None:
    """A new batch begins only where the next item did not fit."""
    batches = list(batches_of(items, lambda item: item, count_max, bytes_max))
    for batch, following in itertools.pairwise(batches):
        assert len(batch) == count_max or sum(batch) + following[0] > bytes_max
