"""The super-node between clusters: one multicast out, one message per peer in, and no outcome that nobody gave."""

from __future__ import annotations

from collections.abc import Callable

from p2psub.casts.cast import Casts, Payload
from p2psub.model.content import Event, Guarantee, Timed
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventPayload, EventSummary, Summary
from p2psub.model.messages.pubsub import Deliver, Delivered, Obligation, Route, Routed
from p2psub.model.outcomes import Missed, Outcome
from p2psub.model.places import Entry
from p2psub.overlay.directory import Directory
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.routing import Routing
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    change_of,
    epoch,
    event_of,
    node_at,
    on_topic,
    sent,
    step_at,
    subscription_of,
    tick,
)

FAR, UNKNOWN = ClusterId("far"), ClusterId("unknown")
CAST = CastId(node_at(200), 1, 1)
EVENT = event_of("x")
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
        ids = tuple(record.id for record in (FIRST, SECOND, OTHER, GONE, ENDED) if record in records)
        targets = ((CLUSTER, Prefix("0"), ids), (FAR, Prefix("1"), (subscription_of(on_topic("x"), 77).id,)))
        self.core.take(CAST, EventPayload(Timed(event, Micros(5)), targets, missed))

    def outcomes(self) -> list[dict[object, Outcome]]:
        """What our cluster answered to casts."""
        summaries = [summary for _, summary in self.casts.answers]
        return [dict(summary.outcomes) for summary in summaries if isinstance(summary, EventSummary)]


def delivered(record: object, *outcomes: tuple[object, Outcome]) -> Delivered:
    """A peer's answer."""
    pairs = tuple((r.id, outcome) for r in (FIRST, SECOND, OTHER) for wanted, outcome in outcomes if wanted is r)
    return Delivered(EVENT.id, pairs)


def deliver(to: int, *records: object, missed: tuple[Missed, ...] = ()) -> tuple[Contact, Deliver]:
    """One message for all subscriptions of a peer."""
    ids = tuple(r.id for r in (FIRST, SECOND, OTHER) if r in records)
    return at(to), Deliver(Timed(EVENT, Micros(5)), ids, missed)


def test_route_becomes_one_multicast_to_the_clusters_that_are_owed() -> None:
    """Grouped by cluster; one that the directory does not know is left to the owner's next try."""
    station = Station()
    far = [subscription_of(on_topic("x"), n, subscriber=8, cluster=FAR).id for n in (1, 2)]
    lost = subscription_of(on_topic("x"), 3, subscriber=8, cluster=UNKNOWN).id
    owed = (Obligation(far[0], FAR), Obligation(lost, UNKNOWN), Obligation(far[1], FAR))
    timed, missed = Timed(EVENT, Micros(5)), (Missed(far[0], node_at(32), 1, 4),)
    station.core.on_route(at(32), Route(6, timed, owed, missed))
    ((payload, done),) = station.casts.started
    assert payload == EventPayload(timed, ((FAR, Prefix("1"), tuple(far)),), missed)
    done(EventSummary(((far[0], Outcome.DELIVERED),)), False)
    assert sent(station.step) == [(at(32), Routed(6, EVENT.id, ((far[0], Outcome.DELIVERED),)))]


def test_nothing_is_reported_that_nobody_said() -> None:
    """A cast without outcomes leaves the debt with the owner."""
    station = Station()
    far = subscription_of(on_topic("x"), cluster=FAR).id
    route = Route(6, Timed(EVENT, Micros(5)), (Obligation(far, FAR),))
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
    assert again == (at(64), deliver(64, FIRST)[1].aged(2 * TICK_US)), "older by the time it waited here"
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
    assert sent(station.step) == [(at(64), Deliver(Timed(straight, Micros(5)), (FIRST.id,)))]
    assert station.outcomes() == [{}]
