"""Arithmetic of the identifier circle, and who holds what on it, against naive walks."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.circle import CIRCLE, distance, is_between, is_in_arc, place_after
from p2psub.model.ids import ID_BYTES, Contact, Epoch, Key, NodeId, Place, digest_of
from p2psub.model.places import Table, TableVersion

SMALL = 7
"""Places of a small circle, spread over the large one; every triple of them is tried."""

PLACES = st.one_of(
    st.binary(min_size=ID_BYTES, max_size=ID_BYTES),
    st.integers(0, 5).map(lambda n: n.to_bytes(ID_BYTES, "big")),
    st.integers(1, 5).map(lambda n: (CIRCLE - n).to_bytes(ID_BYTES, "big")),
).map(Place)


def place_of(n: int) -> Place:
    """A place of the small circle."""
    return Place((n * 36).to_bytes(1, "big").ljust(ID_BYTES, b"\0"))


def test_between_and_arc_are_clockwise_walks() -> None:
    """For all triples of a small circle, walking step by step finds the same places."""
    for low, place, high in product(range(SMALL), repeat=3):
        walked = [(low + step) % SMALL for step in range(1, ((high - low) % SMALL or SMALL) + 1)]
        assert is_in_arc(place_of(low), place_of(place), place_of(high)) == (place in walked)
        assert is_between(place_of(low), place_of(place), place_of(high)) == (place in walked[:-1])


@given(PLACES, PLACES, PLACES)
def test_arcs_agree_with_distances(low: Place, place: Place, high: Place) -> None:
    """A place is in the arc exactly if it is met on the way, the whole way round where the arc is the circle."""
    way = distance(low, high) or CIRCLE
    assert is_in_arc(low, place, high) == (0 < (distance(low, place) or CIRCLE) <= way)
    assert is_between(low, place, high) == (0 < distance(low, place) < way)


@given(PLACES, PLACES, PLACES)
def test_distances_add_up(one: Place, two: Place, three: Place) -> None:
    """Going on from a place on the way gets there, modulo the circle."""
    assert (distance(one, two) + distance(two, three)) % CIRCLE == distance(one, three)
    assert distance(one, one) == 0


@given(PLACES, PLACES, st.integers(-CIRCLE, 2 * CIRCLE))
def test_place_after_undoes_distance(start: Place, end: Place, steps: int) -> None:
    """Walking the distance arrives; a place always has 20 bytes."""
    assert place_after(start, distance(start, end)) == end
    assert distance(start, place_after(start, steps)) == steps % CIRCLE
    assert len(place_after(start, steps)) == ID_BYTES


@given(st.lists(st.binary(max_size=3), max_size=3), st.lists(st.binary(max_size=3), max_size=3))
def test_digest_tells_lists_apart(one: list[bytes], other: list[bytes]) -> None:
    """Two lists of parts have one digest only if they are the same list."""
    assert (digest_of(*one) == digest_of(*other)) == (one == other)


def table_of(ids: list[Place]) -> Table:
    """A table of these members."""
    owners = tuple(Contact(NodeId(place), place.hex()) for place in sorted(ids))
    return Table(TableVersion(Epoch(1, NodeId(Place(bytes(ID_BYTES))), 1), 1), owners, len(owners))


MEMBERS = st.lists(PLACES, min_size=1, max_size=12, unique=True)


@given(MEMBERS, PLACES, st.integers(0, 15))
def test_holders_are_the_nearest_clockwise(ids: list[Place], place: Place, count: int) -> None:
    """The owner of a key is the first member at or after it, the other holders are those that follow."""
    table, key = table_of(ids), Key(place)
    nearest = sorted(ids, key=lambda member: distance(key, member))
    assert table.owner_of(key).id == nearest[0]
    assert [holder.id for holder in table.holders_of(key, count)] == nearest[:count]


@given(MEMBERS, PLACES)
def test_arcs_are_what_owners_own(ids: list[Place], place: Place) -> None:
    """A member's arc begins at the member before it, and holds exactly the keys that are its own."""
    table, key = table_of(ids), Key(place)
    for member in map(NodeId, ids):
        start = table.arc_start_of(member)
        assert start == min(ids, key=lambda other: distance(other, member) or CIRCLE)
        assert is_in_arc(start, key, member) == (table.owner_of(key).id == member)


@given(MEMBERS, PLACES)
def test_strangers_have_no_arc(ids: list[Place], place: Place) -> None:
    """Only members of the table hold keys."""
    assert (table_of(ids).arc_start_of(NodeId(place)) is None) == (place not in ids)
