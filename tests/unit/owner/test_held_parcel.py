"""What is held is cut without loss: the two pieces together are what there was, and neither knows of the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Acknowledged, Obligation, OwedParcel
from p2psub.model.place_sets import bitmap_within, places_in, to_bitmap
from p2psub.owner.held_parcel import HeldPack, HeldParcel, head_of
from tests.unit.bench import at, event_of, node_at, on_topic, parcel_of, subscription_of, table_of

WHOLE = 0b11111111
PARCEL = parcel_of(*(event_of("x", n) for n in range(1, 9)))
SOME = st.integers(1, WHOLE)
SUBSCRIPTIONS = [subscription_of(on_topic("x"), n).id for n in (1, 2, 3)]
CLUSTER = ClusterId("c")
VERSION = table_of(1).version


@st.composite
def held_parcels(draw: st.DrawFn) -> HeldParcel:
    """Some events, owed to some subscriptions, stated by some members."""
    places, wants = draw(SOME), draw(st.lists(SOME, max_size=3))
    named, is_ordered = zip(SUBSCRIPTIONS, wants, strict=False), draw(st.booleans())
    owed = [Obligation(id_, CLUSTER, to_bitmap(want), is_ordered) for id_, want in named]
    low = draw(SOME)
    matched = ((3, bitmap_within(low, WHOLE)), *(((1, to_bitmap(WHOLE & ~low)),) if low != WHOLE else ()))
    owed_parcel = OwedParcel(b"", PARCEL, Micros(0), tuple(owed), matched, (), at(9))
    held = HeldParcel(head_of(owed_parcel, 0), places, HeldPack(1, places), Micros(0), 0, PARCEL)
    for member, stated in enumerate(draw(st.lists(SOME, max_size=3)), 1):
        held.state(node_at(member), VERSION, stated)
    held.asked_places = places & draw(SOME)
    return held


def shown(held: HeldParcel) -> dict[int, tuple[object, ...]]:
    """For each event that is held: to whom it is owed, its matches, who states it, whether its publisher waits."""
    return {
        place: (
            sorted((id_, id_ in held.ordered) for id_, (_, owed) in held.owed.items() if owed >> place & 1),
            [n for n, of_n in held.matched if of_n >> place & 1],
            sorted(node for node, (_, stated) in held.held_by.items() if stated >> place & 1),
            held.asked_places >> place & 1,
        )
        for place in places_in(held.places)
    }


@given(held_parcels(), SOME)
def test_cut_pieces_are_together_what_there_was(held: HeldParcel, cut: int) -> None:
    """Of each event everything is known as before, in one piece alone; both are of one pack."""
    before, places = shown(held), held.places
    taken = cut & places
    if not taken or taken == places:
        return
    other = held.split(taken)
    assert (other.places, held.places) == (taken, places & ~taken)
    assert shown(held) | shown(other) == before
    assert all(owed & ~piece.places == 0 for piece in (held, other) for _, owed in piece.owed.values())
    assert other.pack is held.pack
    for piece in (held, other):
        assert piece.as_owed(PARCEL, Micros(0)).parcel == PARCEL.part(piece.places)


@given(held_parcels(), SOME)
def test_what_is_told_of_a_piece_is_what_its_receiver_holds(held: HeldParcel, ended: int) -> None:
    """Still owed, with its matches, in the order that was asked for: as if it had held it all along."""
    for id_ in list(held.owed):
        held.settle(id_, ended)
    told = held.as_owed(PARCEL, Micros(5))
    there = HeldParcel(head_of(told, 0), told.parcel.places, HeldPack(1, 0), Micros(0), 0)
    assert (there.owed, there.places) == (held.owed, held.places)
    assert there.matched == held.matched
    assert set(there.ordered) == set(held.ordered) & set(held.owed)
    assert list(there.acknowledged(WHOLE)) == [Acknowledged(to_bitmap(of_n), 0, n) for n, of_n in held.matched]


@given(held_parcels(), st.sampled_from(SUBSCRIPTIONS), SOME, SOME)
def test_debt_ends_once(held: HeldParcel, subscription: object, first: int, second: int) -> None:
    """Whatever is said of it: each event that is owed to a subscription is settled by the first word alone."""
    id_ = next(one for one in SUBSCRIPTIONS if one == subscription)
    _, owed = held.owed.get(id_, (CLUSTER, 0))
    assert held.settle(id_, first) == owed & first
    assert held.settle(id_, second) == owed & second & ~first
    assert held.settle(id_, WHOLE) == owed & ~first & ~second
    assert id_ not in held.owed
