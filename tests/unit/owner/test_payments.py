"""Paying: as much as a channel has room for, once under each number, and again until the subscriber has spoken."""

from __future__ import annotations

import pytest

from p2psub.model.content import Order, Subscription
from p2psub.model.effects import LinkDrained, LinkUp
from p2psub.model.graycode import Prefix
from p2psub.model.ids import Process
from p2psub.model.instants import SECOND_US
from p2psub.model.messages.cube import WayNews
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, Route, Routed, StreamAck, Want, WindowUpdate
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import all_places, to_bitmap
from p2psub.model.places import Entry
from p2psub.model.ways import Way
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CONFIG,
    at,
    bits,
    epoch,
    event_of,
    forget,
    make_durable,
    on_topic,
    parcel_of,
    sent,
    subscription_of,
    tick,
)
from tests.unit.owner.owners import (
    ALONE,
    HERE,
    ORDERED,
    PROCESS,
    THERE,
    TOPIC,
    acknowledge,
    confirm,
    give_back,
    outcomes,
    owner,
    pay,
    publish,
    stored,
    wants_sent,
)

RETRY, REDELIVER = CONFIG.pubsub.retry_ticks, CONFIG.pubsub.redeliver_ticks
IDLE = 240


def one(sequence: int) -> Parcel:
    """A parcel of one event."""
    return parcel_of(event_of(TOPIC, sequence))


def several(first: int, count: int) -> Parcel:
    """A parcel of several events."""
    return parcel_of(*(event_of(TOPIC, n) for n in range(first, first + count)))


def numbers(cores: Cores) -> list[int]:
    """The numbers under which something went out since the last look."""
    return [want.number for _, want in wants_sent(cores)]


def sent_deliveries(cores: Cores) -> list[Deliver]:
    """What went straight to subscribers since the last look."""
    return [message for _, message in sent(cores.step) if isinstance(message, Deliver)]


def defer(cores: Cores, parcel: Parcel, serial: int) -> None:
    """The channel of the subscriber is full: nothing of a parcel is taken."""
    said = OutcomeOf(HERE.id, Outcome.DEFERRED, b"")
    acks = (StreamAck(HERE.id, serial, 0, b"", 0),)
    cores.owner.on_delivered(at(96), Delivered(parcel.id, (said,), PROCESS, acks))


def waited(cores: Cores, most: int = 200) -> int:
    """Ticks until something goes out; it stays to be looked at."""
    for count in range(1, most + 1):
        tick(cores.step, cores.owner.tick)
        if any(isinstance(message, Deliver | Route) for _, message in cores.step.sends):
            return count
    raise AssertionError("nothing went out")


# Slow links


def slow_link(cores: Cores, place: int) -> None:
    """A link that was full, and took ten KB a second: 2,500 bytes in a quarter of one."""
    peer = at(place)
    cores.egress.link_up(LinkUp(peer, 1_000))
    cores.egress.link_drained(LinkDrained(peer.id, 0, busy_us=SECOND_US, busy_bytes=10_000))


def large(first: int, count: int) -> Parcel:
    """A parcel of events of a KB or so."""
    return parcel_of(*(event_of(TOPIC, n, body=bytes(900)) for n in range(first, first + count)))


def test_a_parcel_is_cut_to_a_quarter_second_of_its_link() -> None:
    """What is worth more comes between two parts; each has a number of its own, and all that want it share it."""
    also_here = subscription_of(on_topic(TOPIC), 5, subscriber=96)
    cores = owner(HERE, also_here)
    slow_link(cores, 96)
    pay(cores, large(1, 5))
    delivered = sent_deliveries(cores)
    assert [[event.id.sequence for event in message.parcel.events] for message in delivered] == [[1, 2], [3, 4], [5]]
    assert [{want.subscription for want in message.wants} for message in delivered] == [{HERE.id, also_here.id}] * 3
    assert [[want.number for want in message.wants] for message in delivered] == [[1, 1], [2, 2], [3, 3]]


def test_a_parcel_is_cut_for_a_slow_link_on_its_way_too() -> None:
    """Our super-node says how long events take from there."""
    cores = owner(THERE)
    cores.cube.learn([Entry(THERE.cluster, Prefix("1"), 1, at(8), epoch(1, 8), 4)])
    cores.ways.on_way_news(at(1), WayNews(((THERE.cluster, Way(mean_us_per_kb=100_000)),)))
    pay(cores, large(1, 5))
    routed = [message for _, message in sent(cores.step) if isinstance(message, Route)]
    assert [len(message.parcel.events) for message in routed] == [2, 2, 1]


def test_a_link_that_was_never_full_takes_a_parcel_whole() -> None:
    """And so does one that takes all of it in a quarter second."""
    cores = owner(HERE)
    pay(cores, large(1, 5))
    assert [len(message.parcel.events) for message in sent_deliveries(cores)] == [5]


# Numbers


def test_only_the_super_node_speaks_for_the_subscriptions_of_others() -> None:
    """What another member calls taken is still owed, and its word on their room counts for nothing."""
    cores = owner(HERE, THERE)
    pay(cores, one(1))
    said = tuple(OutcomeOf(record.id, Outcome.DELIVERED, b"") for record in (HERE, THERE))
    acks = tuple(StreamAck(record.id, (1 << 63) - 1, 1, b"", 1 << 40) for record in (HERE, THERE))
    cores.owner.on_routed(at(128), Routed(1, one(1).id, said, PROCESS, acks))
    assert outcomes(cores) == []
    cores.owner.on_routed(at(1), Routed(1, one(1).id, said, PROCESS, acks))
    assert len(outcomes(cores)) == 2


def test_subscription_that_has_more_than_ever_left_is_not_believed() -> None:
    """It was lied to about the numbers, and may have nothing of what is on its way."""
    cores = owner(HERE)
    pay(cores, one(1))
    acknowledge(cores, HERE, 1 << 62)
    assert outcomes(cores) == []
    acknowledge(cores, HERE, 1)
    assert outcomes(cores) == [(HERE.id, Outcome.DELIVERED)]


def test_each_subscription_has_its_own_numbers_without_gaps() -> None:
    """One that is owed something for the first time goes on above all that its process gave."""
    cores = owner(HERE)
    pay(cores, one(1), one(2), one(3))
    assert wants_sent(cores) == [(96, Want(HERE.id, b"", number, 0)) for number in (1, 2, 3)]


def test_subscriber_hears_up_to_which_number_nothing_is_waited_for() -> None:
    """With every delivery: what it never got, and never will, does not hold up the rest."""
    cores = owner(HERE)
    pay(cores, one(1), one(2), one(3))
    acknowledge(cores, HERE, 0, 2)
    pay(cores, one(4))
    acknowledge(cores, HERE, 2, serial=2)
    pay(cores, one(5))
    assert [(want.number, want.settled) for _, want in wants_sent(cores)][3:] == [(4, 0), (5, 2)]


def test_one_number_settles_all_that_came_before_it() -> None:
    """Answers may be lost: the next tells of them, too, and each debt has one outcome."""
    cores = owner(HERE)
    pay(cores, one(1), one(2), one(3))
    forget(cores.step)
    acknowledge(cores, HERE, 1, 3)
    assert outcomes(cores) == [(HERE.id, "delivered")] * 2
    assert [held.first.sequence for held in cores.owner.owed_parcels.log] == [2]
    acknowledge(cores, HERE, 3, serial=2)
    assert outcomes(cores) == [(HERE.id, "delivered")]
    assert cores.owner.owed_parcels.log.count == 0


def test_acknowledgement_comes_by_the_super_node_too() -> None:
    """With what became of a multicast, for a subscription of another cluster."""
    cores, parcel = stored(THERE)
    cores.owner.on_routed(at(1), Routed(1, parcel.id, (), PROCESS, (StreamAck(THERE.id, 1, 1, b"", 9),)))
    assert outcomes(cores) == [(THERE.id, "delivered")]


@pytest.mark.parametrize("process", [Process(at(32), 2), Process(at(64), 1)], ids=["another start", "another owner"])
def test_acknowledgement_of_another_process_settles_nothing(process: Process) -> None:
    """Its streams have the same names and other numbers; nor does it say how much room there is for ours."""
    cores, _ = stored(HERE)
    forget(cores.step)
    acknowledge(cores, HERE, 1, process=process, room=0)
    assert outcomes(cores) == []
    pay(cores, one(2))
    assert numbers(cores) == [2], "nor is our stream stopped"
    acknowledge(cores, HERE, 2)
    assert outcomes(cores) == [(HERE.id, "delivered")] * 2


def test_peer_acknowledges_its_own_subscriptions_alone() -> None:
    """Neither with an answer nor with an update can it speak for another."""
    cores, parcel = stored(HERE)
    ack = StreamAck(HERE.id, 1, 1, b"", 0)
    cores.owner.on_delivered(at(64), Delivered(parcel.id, (), PROCESS, (ack,)))
    cores.owner.on_window_update(at(64), WindowUpdate(PROCESS, (ack,)))
    assert outcomes(cores) == []
    sent(cores.step)
    pay(cores, one(2))
    assert numbers(cores) == [2], "nor can it stop the stream"


# Room


def test_first_deliveries_leave_before_the_subscriber_has_said_anything() -> None:
    """As many events as one parcel may hold; the rest waits for its word."""
    cores = owner(HERE)
    pay(cores, several(1, 200), several(201, 100))
    assert [(want.number, want.bitmap) for _, want in wants_sent(cores)] == [(1, b""), (2, b"")]
    (_, last) = cores.owner.owed_parcels.log
    assert cores.owner._payments._streams[HERE.id].head == (last.id, last.places & ~((1 << 56) - 1))


def test_no_more_is_on_its_way_than_the_channel_has_room_for() -> None:
    """Events that are taken make room, and so does the subscriber's word of more."""
    cores = owner(HERE)
    pay(cores, one(1))
    acknowledge(cores, HERE, 1, room=3)
    pay(cores, several(2, 2), several(4, 3))
    first, second = sent_deliveries(cores)[1:]
    assert (first.parcel.places, second.parcel.places) == (0b11, 0b001)
    acknowledge(cores, HERE, 2, serial=2, room=3)
    assert [deliver.parcel.places for deliver in sent_deliveries(cores)] == [0b110]


def test_full_channel_gets_nothing_until_it_has_room() -> None:
    """New events wait at their owner, without a number; an update lets them go, in their order."""
    cores, parcel = stored(HERE)
    defer(cores, parcel, serial=1)
    pay(cores, one(2), one(3))
    sent(cores.step)
    tick(cores.step, cores.owner.tick, RETRY - 1)
    assert numbers(cores) == []
    acknowledge(cores, HERE, 0, serial=2, room=2)
    assert numbers(cores) == [1, 2], "what was refused keeps its number and goes first"
    acknowledge(cores, HERE, 2, serial=3, room=2)
    assert numbers(cores) == [3]


def test_word_that_was_overtaken_opens_no_window() -> None:
    """The channel was full when the later one was said; what the earlier one says is taken is taken all the same."""
    cores = owner(HERE)
    pay(cores, one(1), one(2))
    acknowledge(cores, HERE, 1, serial=5, room=0)
    acknowledge(cores, HERE, 2, serial=4, room=100)
    assert cores.owner.owed_parcels.log.count == 0
    sent(cores.step)
    pay(cores, one(3))
    assert numbers(cores) == []


def test_full_channel_is_tried_ever_more_seldom() -> None:
    """With one delivery, after the short patience times one to five: its word that it has room may be lost."""
    cores, parcel = stored(HERE)
    pay(cores, one(2))
    sent(cores.step)
    gaps = []
    for serial in range(1, 8):
        defer(cores, parcel, serial)
        defer(cores, one(2), serial)
        gaps.append(waited(cores))
        assert numbers(cores) == [1], "the first alone, though both were refused"
    assert gaps == [RETRY * times for times in (1, 2, 3, 4, 5, 5, 5)]
    acknowledge(cores, HERE, 1, serial=20, room=1)
    assert numbers(cores) == [2]
    defer(cores, one(2), serial=21)
    assert waited(cores) == RETRY, "room was said, so it begins anew"


def test_late_refusal_of_what_is_settled_changes_nothing() -> None:
    """The answers overtook each other: what is delivered is not sent again."""
    cores, parcel = stored(HERE)
    pay(cores, one(2))
    sent(cores.step)
    acknowledge(cores, HERE, 1, serial=2)
    defer(cores, parcel, serial=1)
    assert numbers(cores) == []


# Again


def test_unanswered_delivery_is_repeated_ever_later_through_the_super_node() -> None:
    """Under its number: after the long patience times one, two, three, four, and from then on five."""
    cores, _ = stored(HERE)
    sent(cores.step)
    gaps = []
    for _ in range(6):
        gaps.append(waited(cores))
        assert wants_sent(cores) == [(1, Want(HERE.id, b"", 1, 0))]
        cores.arc_lease.renew(cores.step.now, None)
    assert gaps == [REDELIVER * times for times in (1, 2, 3, 4, 5, 5)]


def test_refused_delivery_goes_straight_again() -> None:
    """Its peer was found: it answered."""
    cores, parcel = stored(HERE)
    defer(cores, parcel, serial=1)
    sent(cores.step)
    acknowledge(cores, HERE, 0, serial=2, room=5)
    assert wants_sent(cores) == [(96, Want(HERE.id, b"", 1, 0))]


def test_repeated_delivery_brings_what_is_still_owed_of_it() -> None:
    """An outcome for some of its events makes it smaller, and never another set."""
    cores, parcel = stored(HERE, parcel=several(1, 4))
    said = OutcomeOf(HERE.id, Outcome.DELIVERED, bits(0, 2))
    cores.owner.on_delivered(at(96), Delivered(parcel.id, (said,), PROCESS, ()))
    sent(cores.step)
    waited(cores)
    ((_, route),) = [(to, message) for to, message in sent(cores.step) if isinstance(message, Route)]
    assert (route.parcel.places, route.wants[0][1]) == (0b1010, (Want(HERE.id, b"", 1, 0),))


def test_stream_that_was_idle_for_long_is_forgotten_and_a_new_one_goes_on_above_it() -> None:
    """Above all numbers of the process, so that no old word names a new delivery."""
    cores = owner(HERE, THERE)
    pay(cores, one(1))
    for record in (HERE, THERE):
        acknowledge(cores, record, 1)
    cores.owner.on_routed(at(1), Routed(1, one(1).id, (), PROCESS, (StreamAck(THERE.id, 1, 1, b"", 9),)))
    assert set(cores.owner._payments._streams) == {HERE.id, THERE.id}
    for _ in range(2 * IDLE):
        cores.arc_lease.renew(cores.step.now, None)
        tick(cores.step, cores.owner.tick)
    assert cores.owner._payments._streams == {}
    sent(cores.step)
    pay(cores, one(2))
    assert {(want.number, want.settled) for _, want in wants_sent(cores)} == {(2, 1)}


# Order


def collected(*records: Subscription) -> Cores:
    """An owner of an ordered subscription whose members have given everything back."""
    cores = owner(ORDERED, *records)
    publish(cores, one(1))
    make_durable(cores.step)
    give_back(cores, 64, 96, 128)
    confirm(cores, one(1), 64, 96)
    acknowledge(cores, ORDERED, 1)
    forget(cores.step)
    return cores


def test_event_without_its_copies_holds_up_those_behind_it() -> None:
    """For an ordered subscription: they are in line as they were stored. Another gets what is safe."""
    cores = collected(HERE)
    for parcel in (one(2), one(3)):
        publish(cores, parcel)
        make_durable(cores.step)
    sent(cores.step)
    confirm(cores, one(3), 64, 96)
    assert [want.subscription for _, want in wants_sent(cores)] == [HERE.id]
    confirm(cores, one(2), 64, 96)
    sent_now = sent_deliveries(cores)
    got = [(d.parcel.first.sequence, w.subscription, w.number) for d in sent_now for w in d.wants]
    assert [(sequence, number) for sequence, id_, number in got if id_ == ORDERED.id] == [(2, 2), (3, 3)]
    assert [sequence for sequence, id_, _ in got if id_ == HERE.id] == [2]


def test_late_part_of_a_parcel_does_not_join_the_part_that_waits_in_line() -> None:
    """The parcel's other topic was taken at once; on this one an earlier event, which had been lost, came between."""
    wanted = subscription_of(on_topic("a/b", "a/c"), 5, subscriber=96, order=Order.PUBLISHER)
    cores = owner(wanted, table=ALONE)
    lost, parcel = parcel_of(event_of("a/b", 2)), parcel_of(event_of("a/c", 3), event_of("a/b", 4))
    for part in (parcel.part(0b01), lost, parcel.part(0b10)):
        publish(cores, part)
    assert sent_deliveries(cores) == [], "nothing is durable yet"
    make_durable(cores.step)
    by_number = {d.wants[0].number: [event.id.sequence for event in d.parcel.events] for d in sent_deliveries(cores)}
    assert by_number == {1: [3], 2: [2], 3: [4]}


def test_refused_delivery_does_not_let_later_ones_overtake_it() -> None:
    """The first of all goes as soon as there is any room, whatever it takes."""
    cores = collected()
    pay(cores, several(2, 8), one(10))
    assert numbers(cores) == [2, 3]
    said = OutcomeOf(ORDERED.id, Outcome.DEFERRED, b"")
    for serial, parcel in ((2, several(2, 8)), (3, one(10))):
        acks = (StreamAck(ORDERED.id, serial, 1, b"", 0),)
        cores.owner.on_delivered(at(96), Delivered(parcel.id, (said,), PROCESS, acks))
    assert numbers(cores) == []
    acknowledge(cores, ORDERED, 1, serial=4, room=1)
    assert numbers(cores) == [2], "eight events into room for one: it takes what it can"


def test_event_that_owes_nothing_any_more_holds_nobody_up() -> None:
    """It lacks its copies, but another owner's delivery of it was answered here: it is passed over."""
    cores = collected()
    publish(cores, one(2))
    make_durable(cores.step)
    said = OutcomeOf(ORDERED.id, Outcome.DELIVERED, b"")
    cores.owner.on_delivered(at(96), Delivered(one(2).id, (said,), PROCESS, ()))
    pay(cores, one(3))
    assert [(d.parcel.first.sequence, d.wants[0].number) for d in sent_deliveries(cores)] == [(3, 2)]


# What was refused


def give_back_at_once(cores: Cores, *parcels: Parcel) -> None:
    """The owner pays parcels to ordered subscriptions, too: no member holds anything else."""
    pay(cores, *parcels)
    give_back(cores, 64, 96, 128)


@pytest.mark.parametrize("record", [HERE, ORDERED])
def test_refused_delivery_is_repeated_as_far_as_there_is_room(record: Subscription) -> None:
    """The rest is first in line again: a whole parcel for every place in a small channel is work for nothing."""
    cores = owner(record)
    give_back_at_once(cores, several(1, 256), one(257))
    (first, *_) = wants_sent(cores)
    said = (
        OutcomeOf(record.id, Outcome.DELIVERED, to_bitmap(0b11)),
        OutcomeOf(record.id, Outcome.DEFERRED, to_bitmap(all_places(256) ^ 0b11)),
    )
    acks = (StreamAck(record.id, 1, 0, b"", 0),)
    cores.owner.on_delivered(at(96), Delivered(several(1, 256).id, said, PROCESS, acks))
    acknowledge(cores, record, 0, serial=2, room=2)
    (deliver,) = sent_deliveries(cores)
    assert [event.id.sequence for event in deliver.parcel.events] == [3, 4]
    assert [want.number for want in deliver.wants] == [first[1].number]
    acknowledge(cores, record, 1, serial=3, room=300)
    assert [[event.id.sequence for event in deliver.parcel.events] for deliver in sent_deliveries(cores)] == [
        [*range(5, 257)],
        [257],
    ]
