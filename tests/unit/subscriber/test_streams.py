"""Streams at the subscriber: owners hear how far it is and how much room there is; an order is kept, or it is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Order, Subscription
from p2psub.model.effects import Notify, NotifyGap, UnsubscribeCommand
from p2psub.model.ids import Contact, Process
from p2psub.model.messages.declarations import Declare
from p2psub.model.messages.pubsub import Delivered, OutcomeOf, StreamAck, WindowUpdate
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from tests.unit.bench import at, bits, effects_of, event_of, parcel_of, sent, sent_of, tick
from tests.unit.subscriber.subscribers import ID, OWNER, PROCESS, RULER, SubscribingPeer

OTHER = Process(at(33), 1)
IDLE = 240


def subscribed(window: int = 100, order: Order = Order.NONE) -> SubscribingPeer:
    """A peer with one stable subscription."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(window, order=order)
    return subscriber


def ordered(window: int = 100) -> SubscribingPeer:
    """One that asked for the order of publishers."""
    return subscribed(window, Order.PUBLISHER)


def one(sequence: int) -> Parcel:
    """A parcel of one event."""
    return parcel_of(event_of("x", sequence))


def several(first: int, count: int) -> Parcel:
    """A parcel of several events."""
    return parcel_of(*(event_of("x", n) for n in range(first, first + count)))


def ends(answers: list[tuple[Contact, Delivered]]) -> list[tuple[int, Outcome]]:
    """The parcels that were answered, and how they ended."""
    return [(answer.parcel.number, said.outcome) for _, answer in answers for said in answer.outcomes]


# How far it is


def test_owner_hears_how_far_its_stream_was_taken() -> None:
    """Up to which number all is, and what is beyond; a later word has a higher serial."""
    subscriber = subscribed()
    said = [subscriber.acked(number, one(number)) for number in (1, 3, 4, 2)]
    assert [(ack.contiguous, ack.beyond) for ack in said] == [(1, b""), (1, bits(1)), (1, bits(1, 2)), (4, b"")]
    assert [ack.serial for ack in said] == sorted({ack.serial for ack in said})
    assert {ack.subscription for ack in said} == {ID}


def test_each_process_of_an_owner_has_its_own_stream() -> None:
    """Another owner, and another start of the same, count anew."""
    subscriber = subscribed()
    subscriber.acked(1, one(1))
    for n, process in enumerate((OTHER, PROCESS._replace(incarnation=6)), 2):
        ((_, answer),) = subscriber.bring(2, one(n), process=process)
        assert answer.owner == process
        assert [(ack.contiguous, ack.beyond) for ack in answer.acks] == [(0, bits(1))]
    assert subscriber.acked(2, one(9)).contiguous == 2


def test_number_counts_as_taken_when_all_its_events_are() -> None:
    """Of a delivery that is deferred in part the rest comes again, under the same number."""
    subscriber = subscribed(window=2)
    ((_, answer),) = subscriber.bring(1, several(1, 3))
    assert [(said.outcome, said.bitmap) for said in answer.outcomes] == [
        (Outcome.DELIVERED, bits(0, 1)),
        (Outcome.DEFERRED, bits(2)),
    ]
    assert answer.acks[0].contiguous == 0
    subscriber.consume(2)
    assert subscriber.acked(1, several(1, 3).part(0b100)).contiguous == 1


def test_delivery_without_an_owner_is_answered_without_an_acknowledgement() -> None:
    """And so is one to a subscription that is not ours, or that is too old: its outcome says all."""
    subscriber = subscribed()
    stranger = ID._replace(sequence=99)
    ((_, answer),) = subscriber.bring(1, one(1), id_=stranger)
    assert answer == Delivered(one(1).id, (OutcomeOf(stranger, Outcome.ENDED, bits(0)),), PROCESS, ())


def test_stream_that_was_silent_for_long_is_forgotten_and_goes_on_where_its_owner_says() -> None:
    """What it held is known by the number up to which its owner waits for nothing."""
    subscriber = subscribed()
    for number in (1, 2, 3):
        subscriber.acked(number, one(number))
    tick(subscriber.step, subscriber.tick, 2 * IDLE)
    assert subscriber.acked(9, one(9), settled=8).contiguous == 9


def test_streams_that_never_begin_do_not_fill_the_memory() -> None:
    """A liar begins one after the other: what comes too early is bounded for all of them together."""
    subscriber = ordered(window=10_000)
    for incarnation in range(1, 9):
        for number in range(2, 202):
            subscriber.bring(number, one(number), process=OTHER._replace(incarnation=incarnation))
    answered = [subscriber.bring(1, one(1), process=OTHER._replace(incarnation=n)) for n in range(1, 9)]
    assert sum(len(answers) - 1 for answers in answered) == 1024
    assert subscriber.acked(1, one(500)).contiguous == 1


def test_no_member_numbers_the_stream_of_another() -> None:
    """A liar calls all of a stream settled: what its owner brings would count as taken for ever."""
    liar, most = at(77), 1 << 62
    subscriber = ordered()
    assert ends(subscriber.bring(most + 1, one(50), settled=most, sender=liar)) == []
    assert subscriber.acked(1, one(1)).contiguous == 1
    assert subscriber.handed_over() == [1]
    assert ends(subscriber.bring(3, one(3), settled=2, sender=RULER)) == [(3, Outcome.DELIVERED)]
    unordered = subscribed()
    ((_, answer),) = unordered.bring(most + 1, one(50), settled=most, sender=liar)
    assert ([said.outcome for said in answer.outcomes], answer.acks) == ([Outcome.DELIVERED], ())
    assert unordered.acked(1, one(1)).contiguous == 1


# Room


def test_owner_hears_how_much_room_there_is() -> None:
    """As the channel stands after this delivery; what is held back before the verdict takes room, too."""
    subscriber = subscribed(window=10)
    assert [subscriber.acked(n, one(n)).room for n in (1, 2)] == [9, 8]
    waiting = SubscribingPeer()
    waiting.subscribe(10, status=None)
    assert waiting.acked(1, several(1, 4)).room == 6
    waiting.verdict(VerdictStatus.STABLE)
    assert waiting.acked(2, one(5)).room == 5


def test_channel_with_little_room_counts_as_full() -> None:
    """Below a quarter of its window: a few events at a time are work for nothing. What comes is taken all the same."""
    subscriber = subscribed(window=8)
    assert subscriber.acked(1, several(1, 6)).room == 2
    ((_, answer),) = subscriber.bring(2, one(7))
    assert (answer.outcomes[0].outcome, answer.acks[0].room) == (Outcome.DELIVERED, 0)
    assert subscriber.consume(0) == []
    ((to, update),) = subscriber.consume(1)
    assert (to, update.owner, [ack.room for ack in update.acks]) == (OWNER, PROCESS, [2])


def test_only_owners_that_were_told_of_a_full_channel_hear_that_it_has_room() -> None:
    """Once, and they share it: together they bring no more than it takes."""
    subscriber = subscribed(window=4)
    subscriber.bring(1, one(1), process=Process(at(34), 1))
    subscriber.bring(1, several(2, 3))
    subscriber.bring(1, one(5), process=OTHER)
    updates = subscriber.consume(4)
    assert [(to, [ack.room for ack in update.acks]) for to, update in updates] == [(OWNER, [2]), (at(33), [2])]
    assert subscriber.consume(4) == []


def test_room_for_fewer_events_than_owners_is_not_said_to_be_none() -> None:
    """Every owner that waits may send one; the rest of them is deferred again."""
    subscriber = subscribed(window=1)
    for n, process in enumerate((PROCESS, OTHER), 1):
        subscriber.bring(1, one(n), process=process)
    updates = subscriber.consume(1)
    assert [[ack.room for ack in update.acks] for _, update in updates] == [[1], [1]]


def test_ended_subscription_opens_no_window_for_what_it_will_not_take() -> None:
    """What comes is answered as unsubscribed, by its number or not."""
    subscriber = subscribed(window=1)
    subscriber.bring(1, several(1, 2))
    subscriber.core.unsubscribe(UnsubscribeCommand(8, ID))
    sent(subscriber.step)
    ((_, answer),) = subscriber.bring(1, several(1, 2).part(0b10))
    assert [said.outcome for said in answer.outcomes] == [Outcome.UNSUBSCRIBED]


# Order


def test_order_is_asked_for_with_the_subscription_and_again_above_its_end() -> None:
    """Owners learn it with the record: it is there in every version."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None, order=Order.PUBLISHER)
    asked = sent_of(subscriber.step, Declare)
    subscriber.verdict(VerdictStatus.STABLE)
    subscriber.verdict(VerdictStatus.REFUSED, version=2)
    asked += sent_of(subscriber.step, Declare)
    records = [declare.record for _, declare in asked]
    assert [(r.version, r.order) for r in records if isinstance(r, Subscription)] == [
        (1, Order.PUBLISHER),
        (3, Order.PUBLISHER),
    ]


def test_ordered_subscription_holds_back_what_comes_before_its_turn() -> None:
    """Nothing is said of it until then; then each sender is answered in the order of the numbers, and the owner."""
    subscriber = ordered()
    assert ends(subscriber.bring(1, one(1))) == [(1, Outcome.DELIVERED)]
    assert ends(subscriber.bring(3, one(3))) == []
    assert ends(subscriber.bring(4, one(4), sender=RULER)) == []
    assert subscriber.handed_over() == [1]
    answers = subscriber.bring(2, one(2))
    assert subscriber.handed_over() == [2, 3, 4]
    assert {(to, answer.parcel.number) for to, answer in answers} == {(OWNER, 2), (OWNER, 3), (RULER, 4), (OWNER, 4)}
    assert max(ack.contiguous for _, answer in answers for ack in answer.acks) == 4


def test_unordered_subscription_takes_what_comes() -> None:
    """It asked for no order, and waits for nothing."""
    subscriber = subscribed()
    for number in (2, 3, 1):
        assert ends(subscriber.bring(number, one(number))) == [(number, Outcome.DELIVERED)]
    assert subscriber.handed_over() == [2, 3, 1]


def test_what_its_owner_has_settled_is_not_waited_for() -> None:
    """It was given up, or another owner's delivery of it was taken: the next has its turn."""
    subscriber = ordered()
    subscriber.bring(3, one(3))
    answers = subscriber.bring(5, one(5), settled=2)
    assert ends(answers) == [(3, Outcome.DELIVERED)]
    assert subscriber.handed_over() == [3]
    subscriber.bring(4, one(4), settled=2)
    assert subscriber.handed_over() == [4, 5]


def test_full_channel_keeps_the_order() -> None:
    """What is next is deferred, and what came early waits behind it; with room both follow in their order."""
    subscriber = ordered(window=2)
    subscriber.bring(1, one(1))
    subscriber.bring(3, one(4))
    assert ends(subscriber.bring(2, several(2, 2))) == [(2, Outcome.DELIVERED), (2, Outcome.DEFERRED)]
    assert ends(subscriber.bring(4, one(5))) == []
    subscriber.consume(4)
    subscriber.bring(2, several(2, 2).part(0b10))
    assert subscriber.handed_over() == [1, 2, 3, 4, 5]


def test_owner_hears_what_became_of_what_its_super_node_brought_too_early() -> None:
    """The super-node does not wait for its turn; an owner that took it to be on its way would wait, and repeat it."""
    subscriber = ordered(window=1)
    subscriber.bring(2, one(2), sender=RULER)
    answers = subscriber.bring(1, one(1))
    refused = [to for to, answer in answers for said in answer.outcomes if said.outcome is Outcome.DEFERRED]
    assert refused == [RULER, OWNER]


def test_late_event_is_told_before_it_is_handed_over() -> None:
    """By two owners after a cut: the application hears how many come late, and then gets them."""
    subscriber = ordered()
    subscriber.bring(1, one(5))
    effects_of(subscriber.step, Notify)
    subscriber.bring(1, several(2, 2), process=OTHER)
    told = [effect for effect in subscriber.step.effects if isinstance(effect, Notify | NotifyGap)]
    assert [type(effect) for effect in told] == [NotifyGap, Notify]
    assert told[0] == NotifyGap(ID, 2, Reason.ORDER)


def test_unordered_subscription_is_not_told_of_an_order() -> None:
    """It asked for none."""
    subscriber = subscribed()
    for n in (2, 1):
        subscriber.bring(3 - n, one(n))
    assert effects_of(subscriber.step, NotifyGap) == []


@given(st.permutations(range(1, 7)), st.lists(st.integers(1, 6), max_size=6))
def test_ordered_stream_is_handed_over_in_order_however_it_comes(arrivals: list[int], again: list[int]) -> None:
    """Each number once, though deliveries overtake each other and are repeated; and no gap is told."""
    subscriber = ordered()
    for number in [*again[:3], *arrivals, *again[3:]]:
        subscriber.bring(number, one(number))
    assert subscriber.handed_over() == [1, 2, 3, 4, 5, 6]
    assert effects_of(subscriber.step, NotifyGap) == []


def test_more_than_may_wait_is_left_to_its_owners_repetition() -> None:
    """It is not called deferred: there is room, and its owner would send it again at once, and again."""
    subscriber = ordered(window=3)
    for number in (2, 3, 4):
        assert ends(subscriber.bring(number, one(number))) == []
    ((_, answer),) = subscriber.bring(5, one(5))
    assert answer.outcomes == ()
    assert [(ack.contiguous, ack.room) for ack in answer.acks] == [(0, 3)]
    subscriber.bring(1, one(1))
    assert subscriber.handed_over() == [1, 2, 3]


def test_update_names_the_process_that_was_told_of_a_full_channel() -> None:
    """Its next start has other numbers: it would not count the word as its own."""
    subscriber = subscribed(window=1)
    subscriber.bring(1, one(1))
    ((to, update),) = subscriber.consume(1)
    assert (to, update) == (OWNER, WindowUpdate(PROCESS, (StreamAck(ID, 2, 1, b"", 1),)))
