"""Places of a parcel are a plain set of numbers, and a part of a parcel is what its publisher signed, or nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Event, Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId
from p2psub.model.merkle import Tree, narrow_proof
from p2psub.model.parcel_parts import is_sound
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import (
    all_places,
    bitmap_within,
    event_runs,
    first_places,
    from_bitmap,
    lowest,
    places_at,
    places_in,
    runs_of,
    to_bitmap,
)
from p2psub.model.seals import BATCH_MAX, LEAF_BYTES
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from tests.oracles.instances import instances_of
from tests.unit.bench import event_of, node_at
from tests.unit.notaries import PlainNotary, sealed
from tests.unit.unsound import NUMBER_MAX

SETS = st.frozensets(st.integers(0, BATCH_MAX - 1), max_size=24) | st.builds(
    lambda low, count: frozenset(range(low, min(low + count, BATCH_MAX))), st.integers(0, 255), st.integers(1, 256)
)
"""Sets of places, scattered or in a row."""

PUBLISHER = PlainNotary(node_at(9))
READER = Sealer(PlainNotary(node_at(1)))


def bits_of(places: frozenset[int]) -> int:
    """The set as it is kept."""
    return sum(1 << place for place in places)


# Sets of places


@given(SETS)
def test_a_set_of_places_is_taken_apart_and_put_together(places: frozenset[int]) -> None:
    """One by one, in order, and back."""
    kept = bits_of(places)
    assert places_in(kept) == sorted(places)
    assert places_at(sorted(places, reverse=True)) == kept
    assert lowest(kept) == min(places, default=-1)


@given(SETS)
def test_runs_are_as_long_as_they_can_be(places: frozenset[int]) -> None:
    """They are the places and no other, in order, and no two of them touch."""
    runs = list(runs_of(bits_of(places)))
    assert [place for first, count in runs for place in range(first, first + count)] == sorted(places)
    assert all(count > 0 for _, count in runs)
    assert all(first + count < following for (first, count), (following, _) in pairwise(runs))


@given(SETS, st.integers(0, NUMBER_MAX - BATCH_MAX))
def test_records_name_every_event_once(places: frozenset[int], sequence: int) -> None:
    """The first of each run, and how many it has if there are more than one."""
    first = EventId(node_at(9), 3, sequence)
    named = [
        (event.node, event.incarnation, event.sequence + more)
        for event, count in event_runs(first, bits_of(places))
        for more in range(count or 1)
    ]
    assert named == [(node_at(9), 3, sequence + place) for place in sorted(places)]
    assert all(count is None or count > 1 for _, count in event_runs(first, bits_of(places)))


@given(SETS, st.integers(0, BATCH_MAX))
def test_the_first_places_are_the_lowest(places: frozenset[int], count: int) -> None:
    """So many of them, or all."""
    assert first_places(bits_of(places), count) == bits_of(frozenset(sorted(places)[:count]))


@given(SETS.filter(bool), SETS.filter(bool))
def test_a_set_that_travels_arrives_as_far_as_it_is_of_the_whole(places: frozenset[int], whole: frozenset[int]) -> None:
    """An empty one stands for all; in no more bytes than a message allows."""
    bitmap = to_bitmap(bits_of(places))
    assert len(bitmap) <= BATCH_MAX // 8
    assert from_bitmap(bitmap, bits_of(whole)) == bits_of(places & whole)
    part = bits_of(places & whole)
    if part:
        assert from_bitmap(bitmap_within(part, bits_of(whole)), bits_of(whole)) == part
    assert bitmap_within(bits_of(whole), bits_of(whole)) == b""


@given(st.binary(max_size=BATCH_MAX // 8), SETS)
def test_any_bitmap_is_a_set_within_the_whole(bitmap: bytes, whole: frozenset[int]) -> None:
    """Also one with zeroes at its end, which nobody here would write."""
    found = frozenset(places_in(from_bitmap(bitmap, bits_of(whole))))
    spelled = {place for place in range(8 * len(bitmap)) if bitmap[place // 8] >> place % 8 & 1}
    assert found == (whole & spelled if bitmap else whole)


@given(st.integers(1, BATCH_MAX))
def test_all_places_of_a_parcel(size: int) -> None:
    """Are as many as its size."""
    assert places_in(all_places(size)) == list(range(size))


# Parts


@st.composite
def cut(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    """The size of a parcel, the places of a part of it, and those of a part of that."""
    size = draw(st.integers(1, 40) | st.sampled_from([64, 65, 255, BATCH_MAX]))
    part = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))
    less = draw(st.sets(st.sampled_from(sorted(part)), min_size=1))
    return size, sorted(part), sorted(less)


def signed(size: int, first: int = 1, number: int = 7) -> Parcel:
    """A parcel of so many events under its publisher's signature."""
    return sealed(PUBLISHER, *(event_of("x", first + n, body=b"body") for n in range(size)), number=number)


def is_taken(parcel: Parcel) -> bool:
    """Whether a reader takes it."""
    return is_sound(parcel) and READER.is_genuine(parcel, [content_hash(event) for event in parcel.events])


@given(cut())
def test_a_part_of_a_part_has_just_its_events_and_verifies(sizes: tuple[int, list[int], list[int]]) -> None:
    """However a parcel is cut, step by step or at once, with its leaves at hand or without."""
    size, places, less = sizes
    whole = signed(size)
    part = whole.part(places_at(places))
    smaller = part.part(places_at(less))
    assert smaller == whole.part(places_at(less))
    leaves = tuple(content_hash(event) for event in whole.events)
    assert Shipment(part, leaves).part(places_at(less)) == smaller
    for one, at in ((whole, list(range(size))), (part, places), (smaller, less)):
        assert one.events == tuple(whole.events[place] for place in at)
        assert (one.id, one.first, one.size) == (whole.id, whole.first, size)
        assert is_taken(one)


@given(cut())
def test_a_narrowed_proof_is_the_one_of_the_whole_tree(sizes: tuple[int, list[int], list[int]]) -> None:
    """A node that has a part alone finds what one with all leaves would say; from too little or too much, nothing."""
    size, places, less = sizes
    leaves = [content_hash(event_of("x", n)) for n in range(size)]
    tree, known = Tree(leaves), {place: leaves[place] for place in places}
    proof = tree.proof(places)
    assert narrow_proof(size, known, proof, less) == tree.proof(less)
    assert narrow_proof(size, known, (*proof, bytes(LEAF_BYTES)), less) is None
    if proof:
        assert narrow_proof(size, known, proof[1:], less) is None


CHANGES: list[dict[str, Any]] = [
    {"topic": "y"},
    {"body": b"other"},
    {"attributes": {"a": 1}},
    {"guarantee": Guarantee.AT_MOST_ONCE},
    {"id": EventId(node_at(9), 2, 1)},
    {"id": EventId(node_at(8), 1, 1)},
    {"id": EventId(node_at(9), 1, 999)},
]


@given(cut(), st.sampled_from(CHANGES), st.data())
def test_a_changed_event_is_refused(
    sizes: tuple[int, list[int], list[int]], fields: dict[str, Any], data: st.DataObject
) -> None:
    """Whichever it is and whatever of it was changed, whole or in part, alone or with all others of the part."""
    size, places, _ = sizes
    part = signed(size).part(places_at(places))
    chosen = data.draw(st.sets(st.integers(0, len(places) - 1), min_size=1))
    events = [msgspec.structs.replace(e, **fields) if n in chosen else e for n, e in enumerate(part.events)]
    assert not is_taken(msgspec.structs.replace(part, events=tuple(events)))


@given(cut(), st.data())
def test_what_leads_to_the_signature_cannot_be_changed(
    sizes: tuple[int, list[int], list[int]], data: st.DataObject
) -> None:
    """Neither number nor size, places nor proof."""
    size, places, _ = sizes
    part = signed(size).part(places_at(places))
    other_size = data.draw(st.integers(1, BATCH_MAX).filter(lambda n: n != size))
    number = data.draw(st.integers(0, NUMBER_MAX).filter(lambda n: n != part.number))
    bitmap = data.draw(st.binary(max_size=32))
    hashes = data.draw(st.lists(st.binary(min_size=LEAF_BYTES, max_size=LEAF_BYTES), max_size=5))
    changed: list[dict[str, Any]] = [
        {"number": number},
        {"size": other_size},
        {"bitmap": bitmap},
        {"proof": (*part.proof, bytes(LEAF_BYTES))},
        {"proof": part.proof[:-1]},
        {"proof": part.proof[::-1]},
        {"proof": tuple(hashes)},
        {"signature": None},
    ]
    for fields in changed:
        lie = msgspec.structs.replace(part, **fields)
        assert not is_taken(lie) or (lie.places, lie.size, lie.number, lie.proof) == (
            part.places,
            part.size,
            part.number,
            part.proof,
        ), fields


@given(cut(), st.integers(0, NUMBER_MAX))
def test_a_part_without_a_signature_is_cut_all_the_same(sizes: tuple[int, list[int], list[int]], first: int) -> None:
    """Where nothing is sealed; up to the last number that an event can have."""
    size, places, less = sizes
    first = min(first, NUMBER_MAX - size + 1)
    whole = Parcel(1, size, tuple(event_of("x", first + n) for n in range(size)))
    part = whole.part(places_at(places)).part(places_at(less))
    assert is_sound(whole)
    assert is_sound(part)
    assert part.events == tuple(whole.events[place] for place in less)
    assert (part.first, part.proof) == (whole.first, ())


# What a liar sends


@given(instances_of(Parcel))
def test_any_parcel_is_judged_without_an_error(parcel: Parcel) -> None:
    """Whatever the wire lets through: it is sound or not, and one that is sound can be cut, hashed and checked."""
    if is_sound(parcel):
        assert len(parcel.events_at(parcel.places)) == len(parcel.events)
        is_taken(parcel)
        for place in places_in(parcel.places):
            part = parcel.part(1 << place)
            assert part is parcel or [event.id.sequence for event in part.events] == [parcel.first.sequence + place]


@given(cut(), st.lists(st.binary(min_size=LEAF_BYTES, max_size=LEAF_BYTES), max_size=80))
def test_a_parcel_whose_proof_is_wrong_stays_whole(
    sizes: tuple[int, list[int], list[int]], hashes: list[bytes]
) -> None:
    """Or its parts are as wrong as it is: no reader takes any of them."""
    size, places, less = sizes
    genuine = signed(size).part(places_at(places))
    lie = msgspec.structs.replace(genuine, proof=tuple(hashes))
    if lie.proof != genuine.proof:
        assert not is_taken(lie)
        assert not is_taken(lie.part(places_at(less)))


@given(st.lists(instances_of(Event), min_size=1, max_size=4), st.integers(1, 8), st.binary(max_size=2))
def test_sound_means_each_event_at_its_place(events: list[Event], size: int, bitmap: bytes) -> None:
    """Of one start of one peer, with one guarantee, as an oracle counts it."""
    for first in (events, [msgspec.structs.replace(e, id=EventId(node_at(1), 1, 5 + n)) for n, e in enumerate(events)]):
        parcel = Parcel(1, size, tuple(first), bitmap)
        at = [p for p in range(16) if p < 8 * len(bitmap) and bitmap[p // 8] >> p % 8 & 1] if bitmap else [*range(size)]
        ids = [(e.id.node, e.id.incarnation, e.id.sequence - p, e.guarantee) for e, p in zip(first, at, strict=False)]
        is_right = len(at) == len(first) and max(at) < size and len(set(ids)) == 1 and ids[0][2] >= 0
        assert is_sound(parcel) == is_right
