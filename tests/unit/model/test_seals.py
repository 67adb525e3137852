"""Seals: whoever holds some events of a batch and its proof comes to what was signed, and nobody else does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from p2psub.model.content import Event
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId
from p2psub.model.merkle import Tree, leaf_of, root_of
from p2psub.model.seals import BATCH_MAX, LEAF_BYTES
from tests.unit.bench import node_at

SIZES = [*range(1, 22), 63, 64, 65, 80, BATCH_MAX - 1, BATCH_MAX]
LEAVES = st.binary(min_size=LEAF_BYTES, max_size=LEAF_BYTES)


def leaf(number: int) -> bytes:
    """The hash of an event; other numbers, other hashes."""
    return content_hash(Event(EventId(node_at(9), 1, number), "t", {}))


BATCH = [leaf(number) for number in range(BATCH_MAX)]


TOGETHER = 4


def oracle(leaves: Sequence[bytes], depth: int | None = None) -> bytes:
    """The root as it is told from above: a hash over up to four trees, all of one depth and all but the last full."""
    if depth is None:
        depth = next(depth for depth in range(9) if TOGETHER**depth >= len(leaves))
    if depth == 0:
        return leaves[0]
    step = TOGETHER ** (depth - 1)
    below = b"".join(oracle(leaves[first : first + step], depth - 1) for first in range(0, len(leaves), step))
    return hashlib.blake2b(below, digest_size=LEAF_BYTES, person=b"p2psub above").digest()


def held(places: Sequence[int]) -> dict[int, bytes]:
    """The leaves of the batch that somebody has."""
    return {place: BATCH[place] for place in places}


@st.composite
def parts(draw: st.DrawFn, size_min: int = 1) -> tuple[int, list[int]]:
    """A size, and some of its places in any order."""
    size = draw(st.integers(size_min, BATCH_MAX))
    return size, draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True))


def proof_for(size: int, places: Sequence[int]) -> tuple[bytes, ...]:
    """What the publisher, or whoever has all leaves, adds for whoever gets these."""
    return Tree(BATCH[:size]).proof(places)


# What holds


@pytest.mark.parametrize("size", SIZES)
def test_root_is_the_one_that_the_recursive_definition_gives(size: int) -> None:
    """For every size, from the tree and from its leaves alone."""
    leaves = BATCH[:size]
    assert Tree(leaves).root == oracle(leaves) == root_of(size, dict(enumerate(leaves)), ())
    assert Tree(leaves).leaves == tuple(leaves)


@given(parts())
@settings(max_examples=300)
def test_any_part_of_a_batch_leads_to_its_root(part: tuple[int, list[int]]) -> None:
    """With its proof, in whatever order the places are named."""
    size, places = part
    assert root_of(size, held(places), proof_for(size, places)) == oracle(BATCH[:size])


@pytest.mark.parametrize("size", range(1, 10))
def test_every_part_of_a_small_batch_leads_to_its_root(size: int) -> None:
    """Each of them: no part is special."""
    root = oracle(BATCH[:size])
    for count in range(1, size + 1):
        for places in combinations(range(size), count):
            assert root_of(size, held(places), proof_for(size, places)) == root


@pytest.mark.parametrize("size", SIZES)
def test_each_event_alone_leads_to_the_root(size: int) -> None:
    """As it travels to other clusters; at most twelve hashes prove it, and none is needed by who has all."""
    root = oracle(BATCH[:size])
    for place in range(size):
        proof = proof_for(size, [place])
        assert root_of(size, held([place]), proof) == root
        assert len(proof) <= sum(neighbours - 1 for _, neighbours in way_up(size, place)) <= 12
    assert proof_for(size, range(size)) == ()


# What does not


@given(parts(), st.data())
def test_changed_event_does_not_lead_to_the_root(part: tuple[int, list[int]], data: st.DataObject) -> None:
    """Whichever of them, and even if it is another event of the batch."""
    size, places = part
    leaves = held(places)
    altered = data.draw(st.sampled_from(places))
    leaves[altered] = data.draw(LEAVES | st.sampled_from(BATCH))
    assume(leaves[altered] != BATCH[altered])
    assert root_of(size, leaves, proof_for(size, places)) != oracle(BATCH[:size])


@given(parts(), st.data())
def test_proof_is_exactly_enough(part: tuple[int, list[int]], data: st.DataObject) -> None:
    """One hash less or one more, and there is no root at all; another one, and it is another root."""
    size, places = part
    proof = list(proof_for(size, places))
    spot = data.draw(st.integers(0, len(proof)))
    assert root_of(size, held(places), [*proof[:spot], data.draw(LEAVES), *proof[spot:]]) is None
    if spot < len(proof):
        assert root_of(size, held(places), [*proof[:spot], *proof[spot + 1 :]]) is None
        proof[spot] = bytes(LEAF_BYTES)
        assert root_of(size, held(places), proof) != oracle(BATCH[:size])


@given(parts(2), st.data())
def test_order_of_the_proof_matters(part: tuple[int, list[int]], data: st.DataObject) -> None:
    """The same hashes in any other order prove nothing."""
    size, places = part
    proof = proof_for(size, places)
    assume(len(proof) > 1)
    turned = data.draw(st.permutations(proof))
    assume(tuple(turned) != proof)
    assert root_of(size, held(places), turned) != oracle(BATCH[:size])


@given(parts(2), st.data())
def test_event_stands_at_its_place_alone(part: tuple[int, list[int]], data: st.DataObject) -> None:
    """At any other, be it free or that of another event, it does not lead to the root."""
    size, places = part
    claimed = data.draw(st.permutations(range(size)))[: len(places)]
    assume(claimed != places)
    leaves = {lie: BATCH[place] for lie, place in zip(claimed, places, strict=True)}
    assume(leaves != held(places))
    for proof in (proof_for(size, places), proof_for(size, claimed)):
        assert root_of(size, leaves, proof) != oracle(BATCH[:size])


@given(st.integers(1, BATCH_MAX), st.integers(1, BATCH_MAX + 3))
def test_whole_batch_has_its_own_size_alone(size: int, claimed: int) -> None:
    """With every event and no proof there is nothing else that it could be."""
    assume(claimed != size)
    assert root_of(claimed, held(range(size)), ()) != oracle(BATCH[:size])


def way_up(size: int, place: int) -> list[tuple[int, int]]:
    """How a leaf comes to the root: at each level its place among its neighbours, and how many they are."""
    way: list[tuple[int, int]] = []
    while size > 1:
        first = place - place % TOGETHER
        way.append((place - first, min(TOGETHER, size - first)))
        place, size = place // TOGETHER, -(-size // TOGETHER)
    return way


@given(parts(2), st.integers(1, BATCH_MAX))
def test_size_only_says_which_way_an_event_takes(part: tuple[int, list[int]], claimed: int) -> None:
    """It is not signed: a wrong one is found out exactly where the event would take another way by it.

    Nothing rests on it: that the event is one of those that were signed is shown all the same.
    """
    size, (place, *_) = part
    assume(claimed != size)
    found = root_of(claimed, held([place]), proof_for(size, [place]))
    is_same_way = place < claimed and way_up(claimed, place) == way_up(size, place)
    assert (found == oracle(BATCH[:size])) == is_same_way


@given(st.integers(1, 9), st.integers(1, 12), st.data())
@settings(max_examples=500)
def test_nothing_but_what_was_signed_leads_to_the_root(size: int, claimed: int, data: st.DataObject) -> None:
    """A liar knows the batch and every hash in it, and may claim any size, places and proof for an event of his own."""
    known = [hash_ for level in levels(BATCH[:size]) for hash_ in level]
    places = data.draw(st.lists(st.integers(0, claimed - 1), min_size=1, max_size=4, unique=True))
    forged, *others = places
    leaves = {place: data.draw(st.sampled_from(BATCH[:size])) for place in others}
    leaves[forged] = leaf(1000)
    proof = data.draw(st.lists(st.sampled_from(known), max_size=6))
    for shown in (proof, proof_for(claimed, places)):
        assert root_of(claimed, leaves, shown) != oracle(BATCH[:size])


def levels(leaves: list[bytes]) -> list[list[bytes]]:
    """Every hash over some leaves."""
    if len(leaves) == 1:
        return [leaves]
    above = [oracle(leaves[first : first + TOGETHER], 1) for first in range(0, len(leaves), TOGETHER)]
    return [leaves, *levels(above)]


def test_no_event_can_be_what_stands_above_two() -> None:
    """Not even one whose content is the two hashes: what is hashed is marked for what it is."""
    left, right = BATCH[:2]
    assert Tree([left, right]).root != leaf_of(left + right)


# What a liar may say


HOSTILE: dict[str, tuple[int, Mapping[int, bytes]]] = {
    "no events": (4, {}),
    "no size": (0, {0: BATCH[0]}),
    "no size and no events": (0, {}),
    "a negative size": (-1, {0: BATCH[0]}),
    "a size above the bound": (BATCH_MAX + 1, {0: BATCH[0]}),
    "all events of a size above the bound": (BATCH_MAX + 1, {place: leaf(place) for place in range(BATCH_MAX + 1)}),
    "a size beyond all bounds": (2**63 - 1, {0: BATCH[0]}),
    "a negative place": (4, {-1: BATCH[0]}),
    "a negative place among others": (2, {0: BATCH[0], -1: BATCH[1]}),
    "a place just behind": (4, {4: BATCH[0]}),
    "a place far behind": (4, {0: BATCH[0], 2**63 - 1: BATCH[1]}),
}


@pytest.mark.parametrize(("size", "leaves"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("hashes", [0, 1, 2, 6, 1000])
def test_what_cannot_be_has_no_root(size: int, leaves: Mapping[int, bytes], hashes: int) -> None:
    """However many hashes come with it."""
    assert root_of(size, leaves, BATCH[:1] * hashes) is None


@given(st.integers(-2, BATCH_MAX + 2), st.dictionaries(st.integers(-2, BATCH_MAX + 2), LEAVES), st.lists(LEAVES))
def test_whatever_is_claimed_is_answered(size: int, leaves: dict[int, bytes], proof: list[bytes]) -> None:
    """With a hash or with none; never with an error."""
    root = root_of(size, leaves, proof)
    assert root is None or len(root) == LEAF_BYTES
