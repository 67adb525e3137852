"""Whatever cuts and losses left in the directories, super-nodes that hear each other partition the labels again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.graycode import Prefix, overlaps, uncovered
from p2psub.model.places import Entry, Standing
from tests.oracles.cube import is_partition
from tests.unit.bench import tick
from tests.unit.overlay.test_hypercube import Seat, entry

NAMES = "abcdefghi"
ROUNDS = 30
"""A move for every vacancy, and one for every prefix that a move left; then nothing may move any more."""

prefixes = st.text("01", max_size=5).map(Prefix)
places = st.tuples(prefixes, st.integers(1, 4), st.sampled_from(Standing))
views = st.lists(st.tuples(st.sampled_from(NAMES), places), max_size=12)


def place_of(name: str) -> int:
    """Where the super-node of a cluster of that name stands on the circle."""
    return 10 * (1 + NAMES.index(name))


def entries_of(view: list[tuple[str, tuple[Prefix, int, Standing]]]) -> list[Entry]:
    """What one super-node knows, true or not."""
    return [entry(name, prefix, place_of(name), version, standing) for name, (prefix, version, standing) in view]


@given(st.lists(views, min_size=1, max_size=len(NAMES)))
def test_super_nodes_that_hear_each_other_partition_the_labels(
    known: list[list[tuple[str, tuple[Prefix, int, Standing]]]],
) -> None:
    """No label is vacant and none is held twice, as soon as they have told each other and acted often enough."""
    seats = [Seat(name, place_of(name)) for name in NAMES[: len(known)]]
    for seated, view in zip(seats, known, strict=True):
        others = [told for told in entries_of(view) if told.cluster in {seat.cluster for seat in seats}]
        seated.know(entry(seated.cluster, "", place_of(seated.cluster)), *others)
    for _ in range(ROUNDS):
        for seated in seats:
            for other in seats:
                seated.know(*other.directory.entries())
        for seated in seats:
            tick(seated.step, seated.cube.tick)
    assert len({seated.directory.digest for seated in seats}) == 1
    held = [found.prefix for found in seats[0].directory.present()]
    assert not held or is_partition(held)


@given(st.lists(prefixes, max_size=9))
def test_uncovered_is_the_rest_of_the_cube(parts: list[Prefix]) -> None:
    """With the parts it covers every label, it touches none of them, and no two of its subcubes are one."""
    rest = uncovered(parts, Prefix(""))
    assert not any(overlaps(part, hole) for part in parts for hole in rest)
    assert not uncovered(parts + rest, Prefix(""))
    twins = {Prefix(hole[:-1] + ("1" if hole[-1] == "0" else "0")) for hole in rest if hole}
    assert not twins & set(rest)
