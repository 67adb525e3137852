"""A stream: every delivery has one number for good, and no more is on its way than its channel has room for."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import ClusterId
from p2psub.model.messages.pubsub import OwedParcelId, StreamAck
from p2psub.model.parcels import ParcelId
from p2psub.model.place_sets import first_places, to_bitmap
from p2psub.owner.stream import Delivery, Stream
from tests.unit.bench import node_at, on_topic, subscription_of

ID = subscription_of(on_topic("x")).id
PARCELS = [OwedParcelId(ParcelId(node_at(9), 1, n), b"matches") for n in (1, 2, 3)]
FIRST, SECOND, _ = PARCELS
EIGHT = 0b11111111
BIG = 1 << 30


def stream_of(last_number: int = 0, room: int = BIG) -> Stream:
    """A stream of a process that has given this number already."""
    stream = Stream(ID, ClusterId("c"), False, last_number)
    stream.room = room
    return stream


def ack(contiguous: int, *beyond: int) -> StreamAck:
    """A subscriber has taken everything up to a number, and some numbers after it."""
    ahead = sum(1 << number - contiguous - 1 for number in beyond)
    return StreamAck(ID, 1, contiguous, to_bitmap(ahead) if ahead else b"", BIG)


def send(stream: Stream, parcel: OwedParcelId, places: int, event_bytes: int = 1) -> Delivery:
    """Some events are put in line and leave together."""
    stream.push(parcel, places)
    return stream.send_head(places, event_bytes, 1)


def in_flight(stream: Stream) -> int:
    """How many events are on their way, as the room that is left tells."""
    return stream_of(room=BIG).fits(1) - stream.fits(1)


# In line


def test_events_leave_in_the_order_in_which_they_came_into_line() -> None:
    """What is put in line again keeps its place; what is new of its parcel does not share it."""
    stream = stream_of()
    for parcel, places in ((FIRST, 0b01), (SECOND, 0b11), (FIRST, 0b11)):
        stream.push(parcel, places)
    sent = [stream.send_head(places, 1, 1) for places in (0b01, 0b01, 0b10, 0b10)]
    assert [(delivery.id, delivery.places) for delivery in sent] == [
        (FIRST, 0b01),
        (SECOND, 0b01),
        (SECOND, 0b10),
        (FIRST, 0b10),
    ]
    assert [delivery.number for delivery in sent] == [1, 2, 3, 4]
    assert not stream.waiting


def test_what_is_on_its_way_is_not_put_in_line_again() -> None:
    """Only the rest of what is owed is: an event has one number, however often it is owed anew."""
    stream = stream_of()
    send(stream, FIRST, 0b0011)
    stream.push(FIRST, 0b0111)
    assert stream.head == (FIRST, 0b0100)
    stream.push(SECOND, 0b0011)
    assert list(stream.waiting) == [(FIRST, 0b0100), (SECOND, 0b0011)], (
        "the same places of another parcel are other events"
    )


def test_stream_that_is_made_anew_goes_on_above_all_numbers_of_its_process() -> None:
    """An acknowledgement of the one before it names none of its deliveries."""
    stream = stream_of(last_number=41)
    assert stream.settled == 41
    delivery = send(stream, FIRST, 0b1)
    assert delivery.number == 42
    assert stream.taken(ack(41)) == []
    assert stream.taken(ack(42)) == [delivery]


# Room


def test_no_more_leaves_than_there_is_room_for() -> None:
    """What is on its way takes room until it is settled, or refused."""
    stream = stream_of(room=5)
    send(stream, FIRST, 0b111)
    assert stream.fits(1) == 2
    stream.room = 2
    assert stream.fits(1) == 0, "less room than is on its way"
    stream.settle(FIRST, 0b110)
    assert stream.fits(1) == 1
    stream.refuse(FIRST, 0b001)
    assert stream.fits(1) == 2


def test_bytes_on_their_way_are_bounded_however_much_room_there_is() -> None:
    """But a single event leaves whatever it takes: no event is too large for its stream."""
    stream, large = stream_of(), 3 * 1024 * 1024
    assert stream.fits(large) > 0
    send(stream, FIRST, 0b1, large)
    assert stream.fits(large) == 0
    assert stream.fits(1024) == 1024, "the rest of four mebibytes"
    stream.settle(FIRST, 0b1)
    assert stream.fits(large) > 0


def test_stream_is_stopped_when_nothing_is_on_its_way_though_something_is_owed() -> None:
    """Neither an idle one is, nor one that waits for an answer."""
    stream = stream_of()
    assert (stream.is_idle, stream.is_stopped) == (True, False)
    send(stream, FIRST, 0b1)
    assert (stream.is_idle, stream.is_stopped) == (False, False)
    stream.refuse(FIRST, 0b1)
    assert (stream.is_idle, stream.is_stopped) == (False, True)
    stream.settle(FIRST, 0b1)
    assert (stream.is_idle, stream.is_stopped) == (True, False)


# What became of it


def test_refused_delivery_is_the_same_when_it_is_repeated() -> None:
    """Under its number, with what is left of it; refused twice it is counted once."""
    stream = stream_of(room=10)
    delivery = send(stream, FIRST, 0b1111)
    stream.settle(FIRST, 0b0011)
    for _ in range(2):
        stream.refuse(FIRST, 0b0100)
    assert delivery.is_refused
    assert stream.fits(1) == 10
    stream.repeat(delivery, 7)
    assert (delivery.number, delivery.places, delivery.sent_tick, delivery.is_refused) == (1, 0b1100, 7, False)
    assert stream.fits(1) == 8


def test_rest_of_a_refused_delivery_is_first_in_line_without_what_came_later_of_its_parcel() -> None:
    """That waits for its own turn, and nothing of it is in line twice."""
    stream = stream_of()
    delivery = send(stream, FIRST, 0b0011)
    stream.push(SECOND, 0b1)
    stream.push(FIRST, 0b0100)
    stream.refuse(FIRST, 0b0011)
    stream.shorten(delivery, 1)
    stream.push(FIRST, 0b0111)
    assert list(stream.waiting) == [(FIRST, 0b0010), (SECOND, 0b1), (FIRST, 0b0100)]


def test_settled_is_the_number_before_the_first_that_waits() -> None:
    """One that is missing in the middle holds it; one that is settled in part holds it, too."""
    stream = stream_of()
    for parcel in PARCELS:
        send(stream, parcel, 0b11)
    stream.settle(PARCELS[1], 0b11)
    assert stream.settled == 0
    stream.settle(PARCELS[0], 0b01)
    assert stream.settled == 0
    stream.settle(PARCELS[0], 0b10)
    assert stream.settled == 2
    stream.settle(PARCELS[2], 0b11)
    assert stream.settled == 3


def test_acknowledgement_names_all_up_to_a_number_and_some_beyond() -> None:
    """Numbers that it does not name stay; numbers that were never given are nobody's."""
    stream = stream_of()
    sent = [send(stream, FIRST, 1 << n) for n in range(6)]
    assert stream.taken(ack(2, 4, 6, 40)) == [sent[0], sent[1], sent[3], sent[5]]
    assert stream.taken(ack(0, 2)) == [sent[1]]
    assert stream.taken(ack(0)) == []
    assert stream.taken(ack(99)) == sent


# Any sequence


@dataclass
class Oracle:
    """What a stream should know, told plainly: each delivery by its number, event by event."""

    line: list[tuple[OwedParcelId, int]] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    left: dict[int, tuple[OwedParcelId, int]] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)

    def at(self, parcel: OwedParcelId, places: int) -> list[int]:
        """The numbers of the deliveries that hold some of these events."""
        return [number for number, (id_, some) in self.left.items() if id_ == parcel and some & places]

    def settle(self, parcel: OwedParcelId, places: int) -> None:
        for number in self.at(parcel, places):
            _, some = self.left[number]
            self.left[number] = (parcel, some & ~places)
            if not some & ~places:
                del self.left[number]
                self.refused.discard(number)

    @property
    def in_flight(self) -> int:
        return sum(some.bit_count() for number, (_, some) in self.left.items() if number not in self.refused)


SOME = st.integers(1, EIGHT)
HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["push", "refuse", "settle"]), st.sampled_from(PARCELS), SOME),
        st.tuples(st.just("send"), st.just(FIRST), st.integers(1, 8)),
        st.tuples(st.just("repeat"), st.just(FIRST), st.integers(0, 7)),
        st.tuples(st.just("ack"), st.just(FIRST), st.integers(0, 1 << 12)),
        st.tuples(st.just("drop"), st.just(FIRST), st.just(0)),
    ),
    max_size=40,
)


def _happen(stream: Stream, oracle: Oracle, what: str, parcel: OwedParcelId, some: int) -> None:
    if what == "push":
        known = sum(places for id_, places in [*oracle.left.values(), *oracle.line] if id_ == parcel)
        stream.push(parcel, some)
        if some & ~known:
            oracle.line.append((parcel, some & ~known))
    elif what == "send" and oracle.line:
        id_, whole = oracle.line.pop(0)
        places = first_places(whole, some)
        delivery = stream.send_head(places, 1, 1)
        assert delivery.number not in oracle.given, "no number is used twice"
        oracle.given.append(delivery.number)
        oracle.left[delivery.number] = (id_, places)
        if whole & ~places:
            oracle.line.insert(0, (id_, whole & ~places))
    elif what == "refuse":
        stream.refuse(parcel, some)
        oracle.refused.update(oracle.at(parcel, some))
    elif what == "repeat" and oracle.left:
        number = list(oracle.left)[some % len(oracle.left)]
        stream.repeat(stream.sent[number], 2)
        oracle.refused.discard(number)
    elif what == "settle":
        stream.settle(parcel, some)
        oracle.settle(parcel, some)
    elif what == "ack":
        contiguous, beyond = some & 15, some >> 4
        named = ack(contiguous, *[contiguous + 1 + n for n in range(8) if beyond >> n & 1])
        taken = stream.taken(named)
        assert [delivery.number for delivery in taken] == [
            number
            for number in oracle.left
            if number <= contiguous or (number - contiguous - 1 < 8 and beyond >> (number - contiguous - 1) & 1)
        ]
        for delivery in taken:
            oracle.settle(delivery.id, delivery.places)
            stream.settle(delivery.id, delivery.places)
    elif what == "drop" and oracle.line:
        stream.drop_head(stream.head[1])
        del oracle.line[0]


@given(HAPPENINGS, st.integers(0, 5))
def test_whatever_happens_numbers_and_counts_are_right(
    happenings: list[tuple[str, OwedParcelId, int]], last_number: int
) -> None:
    """Nothing is in flight that is refused or settled, no number is given twice, none unsettled is called settled."""
    stream, oracle = stream_of(last_number), Oracle()
    for what, parcel, some in happenings:
        _happen(stream, oracle, what, parcel, some)
        assert list(stream.waiting) == oracle.line
        assert {d.number: (d.id, d.places) for d in stream.sent.values()} == oracle.left
        assert in_flight(stream) == oracle.in_flight
        assert stream.settled == min(oracle.left, default=stream.last_number + 1) - 1
        assert stream.is_stopped == (oracle.in_flight == 0 and bool(oracle.line or oracle.left))
    assert oracle.given == list(range(last_number + 1, last_number + 1 + len(oracle.given))), "and without gaps"
