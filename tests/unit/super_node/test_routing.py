"""The super-node between clusters: one multicast out, one message per peer in, and no outcome that nobody gave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from p2psub.casts.cast import Casts
from p2psub.casts.payload import Payload
from p2psub.model.bids import BidSum
from p2psub.model.content import Event, Guarantee, Subscription
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId, Process
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventPayload, EventSummary, Summary
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, Route, Routed, StreamAck, Want
from p2psub.model.outcomes import Missed, Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.places import Entry
from p2psub.model.records import Kind
from p2psub.overlay.directory import Directory
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.routing import Routing
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    bits,
    change_of,
    epoch,
    event_of,
    hold_up,
    node_at,
    on_topic,
    parcel_of,
    records_of,
    sent,
    step_at,
    subscription_of,
    tick,
)
from tests.unit.unsound import UNSOUND

FAR, UNKNOWN = ClusterId("far"), ClusterId("unknown")
CAST = CastId(node_at(200), 1, 1)
PROCESS = Process(at(32), 5)
"""The owner whose streams are carried."""
EVENT = event_of("x")
PARCEL = parcel_of(EVENT)
ALONE = bits(0)
FIRST, SECOND = (subscription_of(on_topic("x"), n, subscriber=64) for n in (1, 2))
OTHER, GONE = (subscription_of(on_topic("x"), 1, subscriber=place) for place in (128, 192))
ENDED = subscription_of(on_topic("x"), 9, subscriber=64, version=2, is_active=False)


class FakeCasts(Casts):
    """Casts that go nowhere: a test ends them by hand."""

    def __init__(self) -> None:
        self.started: list[tuple[Payload, Callable[[Summary, bool], None]]] = []
        self.answers: list[tuple[CastId, Summary]] = []

    def start(self, payload: Payload, done: Callable[[Summary, bool], None]) -> CastId:
        self.started.append((payload, done))
        return CAST

    def answer_locally(self, cast: CastId, summary: Summary) -> None:
        self.answers.append((cast, summary))


class Station:
    """The super-node at 1; peers 64 and 128 can be reached, 192 cannot."""

    def __init__(self) -> None:
        self.step = step_at(1)
        directory, changes = Directory(), ChangeSet(self.step, CONFIG.pubsub.shards)
        directory.merge([Entry(FAR, Prefix("1"), 1, at(90), epoch(1, 90), 4)])
        for n, record in enumerate((FIRST, SECOND, OTHER, GONE, ENDED), start=1):
            changes.add(change_of(record, n))
        self.casts = FakeCasts()
        self.core = Routing(self.step, changes, directory, CLUSTER, self.contact_of, self.casts)

    def contact_of(self, node: NodeId) -> Contact | None:
        return at(node[0]) if node[0] in (64, 128) else None

    def arrive(self, *records: object, event: Event = EVENT, missed: tuple[Missed, ...] = ()) -> None:
        """A cast brings an event for subscriptions of our cluster, and for some of another."""
        wants = tuple(Want(record.id) for record in (FIRST, SECOND, OTHER, GONE, ENDED) if record in records)
        self.take(CAST, parcel_of(event), *wants, missed=missed)

    def take(
        self,
        cast: CastId,
        parcel: Parcel,
        *wants: Want,
        missed: tuple[Missed, ...] = (),
        owner: Process | None = None,
        bids: tuple[BidSum, ...] = (),
    ) -> None:
        """A cast brings a parcel."""
        elsewhere = (FAR, Prefix("1"), (Want(subscription_of(on_topic("x"), 77).id),), ())
        targets = ((CLUSTER, Prefix("0"), wants, bids), elsewhere)
        self.core.take(cast, EventPayload(parcel, Micros(5), targets, missed, owner))

    def outcomes(self) -> list[dict[object, Outcome]]:
        """What our cluster answered to casts."""
        summaries = [summary for _, summary in self.casts.answers]
        return [
            {said.subscription: said.outcome for said in summary.outcomes}
            for summary in summaries
            if isinstance(summary, EventSummary)
        ]


def delivered(record: object, *outcomes: tuple[object, Outcome]) -> Delivered:
    """A peer's answer."""
    ends = tuple(OutcomeOf(r.id, end, ALONE) for r in (FIRST, SECOND, OTHER) for wanted, end in outcomes if wanted is r)
    return Delivered(PARCEL.id, ends)


def deliver(to: int, *records: object, missed: tuple[Missed, ...] = ()) -> tuple[Contact, Deliver]:
    """One message for all subscriptions of a peer."""
    wants = tuple(Want(r.id) for r in (FIRST, SECOND, OTHER) if r in records)
    return at(to), Deliver(PARCEL, Micros(5), wants, missed)


def test_route_becomes_one_multicast_to_the_clusters_that_are_owed() -> None:
    """One that the directory does not know is left to the owner's next try; what comes back is said of its streams."""
    station = Station()
    far = [subscription_of(on_topic("x"), n, subscriber=8, cluster=FAR).id for n in (1, 2)]
    lost = subscription_of(on_topic("x"), 3, subscriber=8, cluster=UNKNOWN).id
    parcel = parcel_of(EVENT, event_of("x", 2))
    wants = (Want(far[0], bits(1), 7, 3), Want(far[1], b"", 2, 1))
    missed = (Missed(far[0], node_at(32), 1, 4),)
    owed = ((FAR, wants, ()), (UNKNOWN, (Want(lost),), ()))
    station.core.on_route(at(32), Route(6, parcel, Micros(5), owed, missed, PROCESS))
    ((payload, done),) = station.casts.started
    assert payload == EventPayload(parcel, Micros(5), ((FAR, Prefix("1"), wants, ()),), missed, PROCESS)
    ended, acks = (OutcomeOf(far[0], Outcome.DELIVERED, bits(1)),), (StreamAck(far[0], 9, 7, b"", 50),)
    done(EventSummary(ended, acks), False)
    assert sent(station.step) == [(at(32), Routed(6, parcel.id, ended, PROCESS, acks))]


def test_nothing_is_reported_that_nobody_said() -> None:
    """A cast without outcomes and acknowledgements leaves the debt with the owner."""
    station = Station()
    far = subscription_of(on_topic("x"), cluster=FAR).id
    route = Route(6, PARCEL, Micros(5), ((FAR, (Want(far),), ()),))
    station.core.on_route(at(32), route)
    station.casts.started[0][1](EventSummary(()), True)
    assert sent(station.step) == []


def test_each_peer_gets_one_message_and_the_cast_waits_for_all() -> None:
    """With the number of events it missed; the answer is what the peers said."""
    station, missed = Station(), (Missed(FIRST.id, node_at(32), 1, 4),)
    station.arrive(FIRST, SECOND, OTHER, missed=missed)
    assert sent(station.step) == [deliver(64, FIRST, SECOND, missed=missed), deliver(128, OTHER, missed=missed)]
    both = ((FIRST, Outcome.DELIVERED), (SECOND, Outcome.UNSUBSCRIBED))
    station.core.on_delivered(at(64), delivered(FIRST, *both))
    assert station.outcomes() == []
    station.core.on_delivered(at(128), delivered(OTHER, (OTHER, Outcome.DEFERRED)))
    expected = {FIRST.id: Outcome.DELIVERED, SECOND.id: Outcome.UNSUBSCRIBED, OTHER.id: Outcome.DEFERRED}
    assert station.outcomes() == [expected]


def test_ended_subscription_is_answered_here() -> None:
    """Its peer may be gone for good; nobody else is asked."""
    station = Station()
    station.arrive(ENDED)
    assert sent(station.step) == []
    assert station.outcomes() == [{ENDED.id: Outcome.ENDED}]


def test_subscription_that_cannot_be_reached_has_no_outcome() -> None:
    """Neither a peer that we cannot find nor one that does not answer: its owner tries again."""
    station = Station()
    station.arrive(FIRST, OTHER, GONE)
    station.core.on_delivered(at(128), delivered(OTHER, (OTHER, Outcome.DELIVERED)))
    tick(station.step, station.core.tick, 4)
    assert station.outcomes() == [{OTHER.id: Outcome.DELIVERED}]


def test_silent_peer_is_told_again_while_the_cast_waits() -> None:
    """Those who answered are left alone; after the patience the cast is answered once."""
    station = Station()
    station.arrive(FIRST, OTHER)
    sent(station.step)
    station.core.on_delivered(at(128), delivered(OTHER, (OTHER, Outcome.DELIVERED)))
    tick(station.step, station.core.tick, 2)
    (again,) = sent(station.step)
    older = replace(deliver(64, FIRST)[1].aged(2 * TICK_US), is_repeated=True)
    assert again == (at(64), older), "older by the time it waited here"
    tick(station.step, station.core.tick, 10)
    assert sent(station.step) == []
    assert len(station.outcomes()) == 1
    station.core.on_delivered(at(64), delivered(FIRST, (FIRST, Outcome.DELIVERED)))
    assert len(station.outcomes()) == 1


def test_peer_cannot_answer_for_the_subscription_of_another() -> None:
    """Neither a stranger nor one that is asked too: the cast is answered without that subscription."""
    station = Station()
    station.arrive(FIRST, OTHER)
    station.core.on_delivered(at(32), delivered(FIRST, (FIRST, Outcome.DELIVERED), (OTHER, Outcome.ENDED)))
    assert station.outcomes() == []
    station.core.on_delivered(at(128), delivered(OTHER, (FIRST, Outcome.ENDED), (OTHER, Outcome.DELIVERED)))
    assert station.outcomes() == [], "the peer of the first has not answered"
    tick(station.step, station.core.tick, 4)
    assert station.outcomes() == [{OTHER.id: Outcome.DELIVERED}]


def test_at_most_once_waits_for_no_peer() -> None:
    """It is handed on and done."""
    station = Station()
    straight = event_of("x", guarantee=Guarantee.AT_MOST_ONCE)
    station.arrive(FIRST, event=straight)
    assert sent(station.step) == [(at(64), Deliver(parcel_of(straight), Micros(5), (Want(FIRST.id),)))]
    assert station.outcomes() == [{}]


# Parcels of several events

FOUR = parcel_of(*(event_of("x", n) for n in (1, 2, 3, 4)))
OTHER_CAST = CastId(node_at(200), 1, 2)


def said(record: Subscription, outcome: Outcome, *places: int) -> Delivered:
    """A peer's answer for some events of the four."""
    return Delivered(FOUR.id, (OutcomeOf(record.id, outcome, bits(*places)),))


def test_each_peer_gets_the_events_that_its_subscriptions_want() -> None:
    """And no other of the parcel; what the parcel is a part of stays its name."""
    station = Station()
    station.take(CAST, FOUR, Want(FIRST.id, bits(0, 1)), Want(SECOND.id, bits(1, 2)), Want(OTHER.id, bits(3)))
    assert sent(station.step) == [
        (at(64), Deliver(FOUR.part(0b0111), Micros(5), (Want(FIRST.id, bits(0, 1)), Want(SECOND.id, bits(1, 2))))),
        (at(128), Deliver(FOUR.part(0b1000), Micros(5), (Want(OTHER.id),))),
    ]


def test_peer_counts_as_waiting_until_every_event_has_an_outcome() -> None:
    """An answer for some events is kept, and the cast is answered with all of them, each as it ended."""
    station = Station()
    station.take(CAST, FOUR, Want(FIRST.id))
    station.core.on_delivered(at(64), said(FIRST, Outcome.DELIVERED, 0, 2))
    station.core.on_delivered(at(64), said(FIRST, Outcome.ENDED, 0, 2))
    assert station.casts.answers == []
    station.core.on_delivered(at(64), said(FIRST, Outcome.DEFERRED, 0, 1, 3))
    told = (OutcomeOf(FIRST.id, Outcome.DELIVERED, bits(0, 2)), OutcomeOf(FIRST.id, Outcome.DEFERRED, bits(1, 3)))
    assert station.casts.answers == [(CAST, EventSummary(told))]


def test_peer_that_answered_one_of_two_overlapping_casts_still_counts_as_waiting_in_the_other() -> None:
    """The second cast brings an event more: it is answered when that one has an outcome too."""
    station = Station()
    station.take(CAST, FOUR.part(0b0011), Want(FIRST.id))
    station.take(OTHER_CAST, FOUR.part(0b0110), Want(FIRST.id))
    sent(station.step)
    station.core.on_delivered(at(64), said(FIRST, Outcome.DELIVERED, 0, 1))
    assert station.casts.answers == [(CAST, EventSummary((OutcomeOf(FIRST.id, Outcome.DELIVERED, bits(0, 1)),)))]
    tick(station.step, station.core.tick, 2)
    assert [to for to, _ in sent(station.step)] == [at(64)], "asked again for the second cast alone"
    station.core.on_delivered(at(64), said(FIRST, Outcome.DELIVERED, 2))
    told = (OutcomeOf(FIRST.id, Outcome.DELIVERED, bits(1)), OutcomeOf(FIRST.id, Outcome.DELIVERED, bits(2)))
    assert station.casts.answers[1:] == [(OTHER_CAST, EventSummary(told))]


def test_places_that_a_parcel_does_not_have_are_nobodys() -> None:
    """Neither in what is wanted nor in what a peer says of it."""
    station = Station()
    wants = Want(FIRST.id, bits(0, 3, 200)), Want(SECOND.id, bits(3)), Want(ENDED.id, bits(2))
    station.take(CAST, FOUR.part(0b0011), *wants)
    ((to, deliver),) = sent(station.step)
    assert (to, deliver) == (at(64), Deliver(FOUR.part(0b0001), Micros(5), (Want(FIRST.id),)))
    station.core.on_delivered(at(64), said(FIRST, Outcome.DELIVERED, 0, 1, 3, 200))
    assert station.casts.answers == [(CAST, EventSummary((OutcomeOf(FIRST.id, Outcome.DELIVERED, bits(0)),)))]


@pytest.mark.parametrize("parcel", UNSOUND.values(), ids=UNSOUND)
def test_unsound_parcel_goes_no_further(parcel: Parcel) -> None:
    """Neither out, where its sender is recorded, nor to a peer: the cast that brought it is answered with nothing."""
    station = Station()
    station.core.on_route(at(32), Route(6, parcel, Micros(5), ((FAR, (Want(FIRST.id),), ()),)))
    assert station.casts.started == []
    assert [(r.peer, r.reason) for r in records_of(station.step, Kind.DROP)] == [(node_at(32), "foreign_event")]
    station.take(CAST, parcel, Want(FIRST.id))
    assert sent(station.step) == []
    assert station.outcomes() == [{}]


# Streams


def taken(record: Subscription, *places: int, owner: Process = PROCESS, serial: int = 1) -> Delivered:
    """A peer has events of the four, and says how far it is in an owner's stream."""
    ends = (OutcomeOf(record.id, Outcome.DELIVERED, bits(*places)),) if places else ()
    return Delivered(FOUR.id, ends, owner, (ack_of(record, serial),))


def ack_of(record: Subscription, serial: int = 1) -> StreamAck:
    """How far a peer says that it is."""
    return StreamAck(record.id, serial, 7, b"", 50)


def test_numbers_and_their_owner_travel_with_the_events() -> None:
    """As the owner gave them: the peer counts by them."""
    station = Station()
    wants = (Want(FIRST.id, bits(0, 1), 7, 6), Want(SECOND.id, bits(1), 3, 0))
    station.take(CAST, FOUR, *wants, owner=PROCESS)
    ((to, deliver),) = sent(station.step)
    told = (Want(FIRST.id, b"", 7, 6), Want(SECOND.id, bits(1), 3, 0))
    assert (to, deliver) == (at(64), Deliver(FOUR.part(0b0011), Micros(5), told, (), PROCESS))


def test_cast_is_answered_with_the_acknowledgements_of_its_owners_streams() -> None:
    """The last of each subscription, and of those alone that it brought something for."""
    station = Station()
    station.take(CAST, FOUR, Want(FIRST.id, bits(0, 1), 7), Want(OTHER.id, b"", 1), owner=PROCESS)
    station.core.on_delivered(at(64), taken(FIRST, 0))
    stolen = Delivered(FOUR.id, taken(FIRST, 1).outcomes, PROCESS, (ack_of(FIRST, 2), ack_of(OTHER), ack_of(SECOND)))
    station.core.on_delivered(at(64), stolen)
    station.core.on_delivered(at(128), taken(OTHER, 0, 1, 2, 3, serial=9))
    ((_, summary),) = station.casts.answers
    assert isinstance(summary, EventSummary)
    assert summary.acks == (ack_of(FIRST, 2), ack_of(OTHER, 9))


@pytest.mark.parametrize("owner", [Process(at(33), 5), Process(at(32), 6)], ids=["another owner", "another start"])
def test_acknowledgement_of_another_owners_stream_is_not_this_ones(owner: Process) -> None:
    """Two owners parted by a cut send the same events: what is delivered is delivered, but each has its own numbers."""
    station = Station()
    station.take(CAST, FOUR, Want(FIRST.id, b"", 7), owner=PROCESS)
    station.take(OTHER_CAST, FOUR, Want(FIRST.id, b"", 2), owner=owner)
    station.core.on_delivered(at(64), taken(FIRST, 0, 1, 2, 3, owner=owner))
    ended = (OutcomeOf(FIRST.id, Outcome.DELIVERED, bits(0, 1, 2, 3)),)
    assert station.casts.answers == [
        (CAST, EventSummary(ended, ())),
        (OTHER_CAST, EventSummary(ended, (ack_of(FIRST),))),
    ]


def test_acknowledgement_without_an_outcome_is_told_when_patience_ends() -> None:
    """What came too early for an ordered subscription has no outcome yet; how far the peer is, its owner hears."""
    station = Station()
    station.take(CAST, FOUR, Want(FIRST.id, b"", 9), owner=PROCESS)
    station.core.on_delivered(at(64), taken(FIRST))
    assert station.casts.answers == []
    tick(station.step, station.core.tick, 4)
    assert station.casts.answers == [(CAST, EventSummary((), (ack_of(FIRST),)))]


def test_route_without_outcomes_is_reported_for_its_acknowledgements() -> None:
    """They may say that there is room, or what else was taken."""
    station = Station()
    station.core.on_route(at(32), Route(6, PARCEL, Micros(5), ((FAR, (Want(FIRST.id, b"", 9),), ()),), (), PROCESS))
    station.casts.started[0][1](EventSummary((), (ack_of(FIRST),)), True)
    assert sent(station.step) == [(at(32), Routed(6, PARCEL.id, (), PROCESS, (ack_of(FIRST),)))]


LATE = Want(FIRST.id, bits(0, 1), 7, 0, 4)
"""Its deadline is an age below that of what arrives here."""
PRESSED = (BidSum(4, 2, 1, 2), BidSum(6, 1, 1, 1))


def test_super_node_sends_nothing_late_and_answers_for_it() -> None:
    """What comes late is not handed to its subscriber; what comes in time goes with its terms, as it came."""
    station = Station()
    station.take(CAST, FOUR, LATE, Want(OTHER.id, bits(3), 1, 0, 6), owner=PROCESS, bids=PRESSED)
    ((to, message),) = sent(station.step)
    assert (to, message) == (
        at(128),
        Deliver(
            FOUR.part(0b1000), Micros(5), (Want(OTHER.id, b"", 1, 0, 6),), (), PROCESS, (BidSum(6, 1_000_000, 0, 1),)
        ),
    )
    (drop,) = records_of(station.step, Kind.DROP)
    assert (drop.subscription, drop.reason, drop.count) == (FIRST.id, "expired", 2)
    station.core.on_delivered(at(128), Delivered(FOUR.id, (OutcomeOf(OTHER.id, Outcome.DELIVERED, b""),), PROCESS))
    ((_, summary),) = station.casts.answers
    assert isinstance(summary, EventSummary)
    assert OutcomeOf(FIRST.id, Outcome.EXPIRED, bits(0, 1)) in summary.outcomes


def test_late_route_is_answered_and_not_cast() -> None:
    """The owner hears at once; what is in time is cast."""
    station = Station()
    in_time = Want(OTHER.id, b"", 2, 0, 6)
    route = Route(6, FOUR, Micros(5), ((FAR, (LATE, in_time), PRESSED),), (), PROCESS)
    station.core.on_route(at(32), route)
    said = (OutcomeOf(FIRST.id, Outcome.EXPIRED, bits(0, 1)),)
    assert sent(station.step) == [(at(32), Routed(6, FOUR.id, said, PROCESS))]
    ((payload, _),) = station.casts.started
    assert isinstance(payload, EventPayload)
    assert payload.targets == ((FAR, Prefix("1"), (in_time,), PRESSED),)
    station.core.on_route(at(32), Route(7, FOUR, Micros(5), ((FAR, (LATE,), PRESSED),), (), PROCESS))
    assert len(station.casts.started) == 1


# On its way

OWNER = at(32)


def route(*numbers: int, attempt: int = 1, process: Process = PROCESS) -> Route:
    """An owner has its events cast, each number to a subscription of its own in another cluster."""
    wants = tuple(Want(subscription_of(on_topic("x"), 70 + number).id, b"", number) for number in numbers)
    return Route(attempt, PARCEL, Micros(0), ((FAR, wants, ()),), (), process)


def under_way(station: Station) -> list[tuple[Contact, list[int]]]:
    """What owners heard to be on its way since the last look."""
    said = [(to, message) for to, message in sent(station.step) if isinstance(message, Routed)]
    return [(to, [number for _, number in message.under_way]) for to, message in said]


def cast_numbers(station: Station) -> list[list[int]]:
    """The numbers on each cast that was started."""
    payloads = [payload for payload, _ in station.casts.started if isinstance(payload, EventPayload)]
    return [[want.number for _, _, wants, _ in payload.targets for want in wants] for payload in payloads]


def test_what_is_on_its_way_is_not_cast_again_and_its_owner_hears_so() -> None:
    """The rest of a repeated route is; and all of it when its cast is over, for an outcome may be missing."""
    station = Station()
    station.core.on_route(OWNER, route(1, 2))
    assert (cast_numbers(station), under_way(station)) == ([[1, 2]], [])
    station.core.on_route(OWNER, route(2, 3, attempt=2))
    assert (cast_numbers(station)[1:], under_way(station)) == ([[3]], [(OWNER, [2])])
    station.core.on_route(OWNER, route(3, 1, attempt=3))
    assert (cast_numbers(station)[2:], under_way(station)) == ([], [(OWNER, [3, 1])])
    _, done = station.casts.started[0]
    done(EventSummary(()), False)
    station.core.on_route(OWNER, route(1, 2, 3, attempt=4))
    assert (cast_numbers(station)[2:], under_way(station)) == ([[1, 2]], [(OWNER, [3])])


def test_owner_hears_ever_more_seldom_what_is_still_on_its_way() -> None:
    """So that it need not send it again, however slow a link behind us is."""
    station = Station()
    station.core.on_route(OWNER, route(1, 2))
    told: list[int] = []
    for count in range(1, 40):
        tick(station.step, station.core.tick)
        told += [count for said in under_way(station) if said == (OWNER, [1, 2])]
    assert told == [8, 16, 32]
    _, done = station.casts.started[0]
    done(EventSummary(()), True)
    tick(station.step, station.core.tick, 100)
    assert under_way(station) == []


def test_nobody_holds_up_what_another_owner_sends() -> None:
    """Whoever it says it is; nor does a new start of the owner wait for the last one, whose numbers were others."""
    station = Station()
    station.core.on_route(at(99), route(1))
    station.core.on_route(OWNER, route(1))
    station.core.on_route(OWNER, route(1, process=Process(OWNER, 6)))
    assert cast_numbers(station) == [[1], [1], [1]]


def test_number_that_is_named_twice_is_harmless() -> None:
    """A member may say anything."""
    station = Station()
    station.core.on_route(OWNER, route(1, 1))
    _, done = station.casts.started[0]
    done(EventSummary(()), True)
    station.core.on_route(OWNER, route(1))
    assert cast_numbers(station) == [[1, 1], [1]]


def test_what_waits_for_a_peer_of_ours_is_not_sent_again_and_keeps_the_cast_open() -> None:
    """Its patience begins when it leaves; what is lost is tried at once, and then left to its owner."""
    station = Station()
    station.arrive(FIRST)
    (waiting,) = hold_up(station.step)
    sent(station.step)
    tick(station.step, station.core.tick, 20)
    assert (sent(station.step), station.outcomes()) == ([], [])
    waiting.lose(station.step.tick)
    tick(station.step, station.core.tick)
    assert [to for to, _ in sent(station.step)] == [at(64)]
    tick(station.step, station.core.tick, 2)
    assert station.outcomes() == [{}]
