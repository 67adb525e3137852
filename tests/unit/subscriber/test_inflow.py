"""An inflow: what of an owner's stream was taken, in whatever order and how often its numbers come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import Process
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import StreamAck
from p2psub.model.place_sets import places_in
from p2psub.subscriber.checked_parcel import CheckedParcel
from p2psub.subscriber.inflow import Inflow
from tests.unit.bench import at, event_of, parcel_of
from tests.unit.subscriber.subscribers import ID

PARCEL = parcel_of(event_of("x"))
EARLY = (at(32), CheckedParcel(PARCEL, PARCEL.first, 1, [b""], Micros(0)), 1, 0)


def inflow() -> Inflow:
    """A stream of which nothing has come."""
    return Inflow(Process(at(32), 1), 0)


def beyond(one: Inflow) -> list[int]:
    """The numbers beyond the contiguous ones that an acknowledgement names."""
    said = StreamAck(ID, 1, one.contiguous, one.beyond, 0)
    return [said.contiguous + 1 + place for place in places_in(int.from_bytes(said.beyond, "little"))]


def test_numbers_in_a_row_are_said_with_one() -> None:
    """One that is missing stops it; when it comes, all that were waiting behind it count."""
    one = inflow()
    for number in (1, 2, 4, 5, 7):
        one.take(number)
    assert (one.contiguous, beyond(one)) == (2, [4, 5, 7])
    one.take(3)
    assert (one.contiguous, beyond(one)) == (5, [7])
    for number in (3, 5, 1, 7):
        one.take(number)
    assert (one.contiguous, beyond(one)) == (5, [7]), "again is no news"


def test_what_its_owner_has_settled_is_not_waited_for() -> None:
    """Also if it never came; an older word takes nothing back."""
    one = inflow()
    one.take(4)
    one.take(9)
    one.skip_to(3)
    assert (one.contiguous, beyond(one)) == (4, [9])
    one.skip_to(2)
    assert (one.contiguous, beyond(one)) == (4, [9])
    one.skip_to(100)
    assert (one.contiguous, beyond(one)) == (100, [])


def test_number_far_ahead_is_left_to_its_owners_repetition() -> None:
    """A liar may name any number: what is kept of a stream stays small."""
    one = inflow()
    one.take((1 << 63) - 1)
    one.take(1 << 14)
    assert (one.contiguous, beyond(one)) == (0, []), "the last that counts is said when it is near enough"
    one.take((1 << 14) + 1)
    one.skip_to((1 << 14) - 1)
    assert one.contiguous == 1 << 14, "and the one beyond was not kept"


def test_acknowledgement_is_bounded() -> None:
    """It names as many numbers as a parcel has places; of those beyond it tells later."""
    one = inflow()
    for number in (2, 257, 258):
        one.take(number)
    assert beyond(one) == [2]
    one.take(1)
    assert (one.contiguous, beyond(one)) == (2, [257, 258])


def test_what_came_early_has_its_turn_when_all_before_it_was_taken() -> None:
    """Or was settled by its owner; what is settled itself is forgotten."""
    one = inflow()
    one.early |= {3: EARLY, 5: EARLY, 6: EARLY}
    turns = [one.next_early]
    one.take(1)
    one.take(2)
    turns.append(one.next_early)
    one.skip_to(5)
    assert list(one.early) == [6]
    assert [*turns, one.next_early] == [None, 3, 6]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("take"), st.integers(0, 60)),
            st.tuples(st.just("skip"), st.integers(0, 40)),
            st.tuples(st.just("early"), st.integers(1, 60)),
        ),
        max_size=60,
    )
)
def test_whatever_comes_it_is_as_a_plain_set_says(happenings: list[tuple[str, int]]) -> None:
    """The numbers taken or settled: the longest row from 1, and the rest of them."""
    one, known, early, row = inflow(), {0}, set[int](), 0
    for what, number in happenings:
        if what == "take":
            one.take(number)
            known.add(number)
        elif what == "skip":
            one.skip_to(number)
            if number > row:
                early = {name for name in early if name > number}
            known |= set(range(number + 1))
        elif number > one.contiguous:
            one.early[number] = EARLY
            early.add(number)
        row = next(number for number in range(200) if number + 1 not in known)
        assert one.contiguous == row
        assert beyond(one) == sorted(number for number in known if number > row)
        assert set(one.early) == early
        assert one.next_early == (row + 1 if row + 1 in early else None)
