"""Gray codes and subcubes against brute force on a small cube."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.graycode import (
    Prefix,
    contains,
    covers,
    gray_of,
    label_of,
    overlaps,
    owns_label,
    padded_flip,
    position_of,
    sibling_half,
)

DIMENSIONS = 6
LABELS = ["".join(bits) for bits in product("01", repeat=DIMENSIONS)]
PREFIXES = st.text("01", max_size=DIMENSIONS).map(Prefix)
BENT_PREFIXES = st.text("01", min_size=1, max_size=DIMENSIONS).map(Prefix)


def labels_of(prefix: Prefix) -> set[str]:
    """All labels of a subcube."""
    return {label for label in LABELS if label[: len(prefix)] == prefix}


@given(st.integers(0, 2**80))
def test_gray_and_position_are_inverse(number: int) -> None:
    """Each position has one code word and each code word one position."""
    assert position_of(gray_of(number)) == number
    assert gray_of(position_of(number)) == number


@given(st.integers(0, 2**80))
def test_neighbouring_positions_differ_in_one_bit(position: int) -> None:
    """One step changes one bit."""
    assert (gray_of(position) ^ gray_of(position + 1)).bit_count() == 1


@given(st.integers(0, 9))
def test_labels_form_a_closed_walk(dimensions: int) -> None:
    """The labels of the positions are all labels, and the last is a neighbour of the first."""
    walk = [label_of(position, dimensions) for position in range(1 << dimensions)]
    assert sorted(walk) == ["".join(bits) for bits in product("01", repeat=dimensions)]
    if dimensions:
        assert sum(a != b for a, b in zip(walk[0], walk[-1], strict=True)) == 1


@given(PREFIXES, PREFIXES)
def test_contains_and_overlaps_are_about_labels(one: Prefix, other: Prefix) -> None:
    """Subcubes contain each other, or overlap, exactly if their sets of labels do."""
    assert contains(one, other) == (labels_of(other) <= labels_of(one))
    assert overlaps(one, other) == bool(labels_of(one) & labels_of(other))


@given(st.lists(PREFIXES, max_size=8), PREFIXES)
def test_covers_is_about_labels(parts: list[Prefix], whole: Prefix) -> None:
    """Subcubes cover another exactly if their labels together include its labels."""
    together = set[str]().union(*map(labels_of, parts))
    assert covers(parts, whole) == (labels_of(whole) <= together)


@given(PREFIXES, st.data())
def test_a_partition_covers_and_without_a_part_it_does_not(whole: Prefix, data: st.DataObject) -> None:
    """Splitting keeps a subcube covered; taking any one part away uncovers it."""
    parts = [whole]
    for _ in range(data.draw(st.integers(0, 12))):
        split = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts += [Prefix(split + "0"), Prefix(split + "1")]
    assert covers(parts, whole)
    parts.pop(data.draw(st.integers(0, len(parts) - 1)))
    assert not covers(parts, whole)


@given(PREFIXES, PREFIXES)
def test_owns_label_is_about_the_padded_label(prefix: Prefix, label: Prefix) -> None:
    """A subcube owns a short label exactly if it has that label filled up with zeros."""
    assert owns_label(prefix, label) == (label.ljust(DIMENSIONS, "0") in labels_of(prefix))


@given(BENT_PREFIXES, st.data())
def test_sibling_halves_share_all_before_the_bit(prefix: Prefix, data: st.DataObject) -> None:
    """A half across a dimension and the half the prefix is in make up the subcube before it."""
    d = data.draw(st.integers(0, len(prefix) - 1))
    here, there = labels_of(Prefix(prefix[: d + 1])), labels_of(sibling_half(prefix, d))
    assert here | there == labels_of(Prefix(prefix[:d]))
    assert not here & there


@given(BENT_PREFIXES, st.data())
def test_flipping_moves_to_the_sibling_half_and_back(prefix: Prefix, data: st.DataObject) -> None:
    """A flipped label lies in the sibling half; flipping twice is no change."""
    d = data.draw(st.integers(0, len(prefix) - 1))
    flipped = padded_flip(prefix, d)
    assert contains(sibling_half(prefix, d), flipped)
    assert padded_flip(flipped, d) == prefix
