"""The owner of a topic: acknowledges only what enough members hold, pays every debt, and pays none twice."""

from __future__ import annotations

import pytest

from p2psub.model.changes import Change
from p2psub.model.content import Event, Guarantee, Subscription, Timed
from p2psub.model.ids import ClusterId, Contact, SubscriptionId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import (
    Acknowledge,
    CopyStored,
    Deliver,
    Delivered,
    MatchRequest,
    MatchResponse,
    NotOwner,
    Obligation,
    Publish,
    Route,
    Routed,
    StoreCopy,
)
from p2psub.model.outcomes import Outcome, PublishOutcome
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    change_of,
    event_of,
    forget,
    give_index,
    make_durable,
    member_at,
    on_topic,
    records_of,
    sent,
    sent_of,
    subscription_of,
    table_of,
    tick,
    topic_in,
)

TABLE = table_of(32, 64, 96, 128)
ALONE = table_of(32)
TOPIC = topic_in(1, 32)
PUBLISHER = at(9)
ELSEWHERE = ClusterId("c2")

HERE = subscription_of(on_topic(TOPIC), 1, subscriber=96)
"""A subscription of a member of our cluster."""
THERE = subscription_of(on_topic(TOPIC), 2, subscriber=8, cluster=ELSEWHERE)
ALSO_THERE = subscription_of(on_topic(TOPIC), 3, subscriber=7, cluster=ELSEWHERE)


def changes(*records: Subscription) -> list[Change]:
    """The records as numbered changes."""
    return [change_of(record, n) for n, record in enumerate(records, 1)]


def owner(*records: Subscription, table: Table = TABLE) -> Cores:
    """The owner of the topic, with these subscriptions in its index."""
    cores = member_at(32, table, changes(*records))
    tick(cores.step, cores.owner.owed_events.tick)
    cores.ring.remember(at(96))
    forget(cores.step)
    return cores


def publish(cores: Cores, event: Event, age_us: int = 0) -> None:
    """A publish arrives, and every wildcard shard says that it wants nothing."""
    cores.owner.on_publish(PUBLISHER, Publish(Timed(event, Micros(age_us))))
    asks = [(to, message) for to, message in cores.step.sends if isinstance(message, MatchRequest)]
    cores.step.sends[:] = [send for send in cores.step.sends if not isinstance(send[1], MatchRequest)]
    for to, ask in asks:
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, event.id, (), (), False))


def confirm(cores: Cores, event: Event, *places: int) -> None:
    """Members state their copies of the event's owed events."""
    for place in places:
        owed_events = tuple(held.owed_event.id for held in cores.owner.owed_events.all_of_event(event.id))
        cores.owner.on_copy_stored(at(place), CopyStored(CLUSTER, owed_events, TABLE.version))


def stored(*records: Subscription, event: Event | None = None) -> tuple[Cores, Event]:
    """An owner that has stored and acknowledged an event, and begun to pay."""
    cores, event = owner(*records), event or event_of(TOPIC)
    publish(cores, event)
    make_durable(cores.step)
    confirm(cores, event, 64, 96)
    return cores, event


def end(cores: Cores, event: Event, record: Subscription, outcome: Outcome = Outcome.DELIVERED) -> None:
    """A subscriber says how the event ended for one of its subscriptions."""
    said = Delivered(event.id, ((record.id, outcome),))
    cores.owner.on_delivered(at(record.id.node[0]), said)


def outcomes(cores: Cores) -> list[tuple[SubscriptionId | None, str | None]]:
    """Subscriptions and how they ended, of the outcomes recorded since the last look."""
    return [(record.subscription, record.outcome) for record in records_of(cores.step, Kind.OUTCOME)]


def paid(cores: Cores) -> list[tuple[Contact, Message]]:
    """What went out since the last look, but for requests to hold copies."""
    return [(to, message) for to, message in sent(cores.step) if not isinstance(message, StoreCopy)]


def test_acknowledgement_waits_for_the_required_copies() -> None:
    """Three durable copies, our own among them; then the publisher is told how many there are."""
    cores, event = owner(THERE), event_of(TOPIC)
    publish(cores, event)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64), at(96)]
    confirm(cores, event, 64, 96)
    assert sent(cores.step) == [], "our own copy is not durable yet"
    make_durable(cores.step)
    assert sent_of(cores.step, Acknowledge) == [(PUBLISHER, Acknowledge(PublishOutcome(event.id, 3, 1)))]


def test_two_copies_are_not_three() -> None:
    """With one copy less than required nothing is acknowledged, and nothing is paid."""
    cores, event = owner(THERE), event_of(TOPIC)
    publish(cores, event)
    make_durable(cores.step)
    confirm(cores, event, 64, 64)
    assert [message for _, message in sent(cores.step) if not isinstance(message, StoreCopy)] == []
    confirm(cores, event, 96)
    assert [type(message) for _, message in sent(cores.step)] == [Acknowledge, Route]


@pytest.mark.parametrize(("seen", "copies"), [(1, 1), (2, None), (5, None)])
def test_bar_is_what_was_seen_lately_not_who_is_left(seen: int, copies: int | None) -> None:
    """A founder acknowledges with one copy and says so; the last one left of a cut ring acknowledges nothing."""
    cores, event = owner(table=table_of(32, seen=seen)), event_of(TOPIC)
    publish(cores, event)
    make_durable(cores.step)
    expected = [] if copies is None else [(PUBLISHER, Acknowledge(PublishOutcome(event.id, copies, 0)))]
    assert sent_of(cores.step, Acknowledge) == expected


def test_member_answers_only_for_its_own_keys_and_names_the_owner() -> None:
    """The wrong address stores nothing."""
    cores, event = owner(), event_of(topic_in(32, 64))
    cores.owner.on_publish(PUBLISHER, Publish(Timed(event, Micros(0))))
    assert sent(cores.step) == [(PUBLISHER, NotOwner(event.id, at(64)))]
    assert cores.owner.owed_events.held == {}


def test_member_without_a_running_lease_owns_nothing() -> None:
    """A node that hears nobody acknowledges nothing, and does not send the publisher round in circles."""
    cores, event = owner(table=ALONE), event_of(TOPIC)
    cores.step.now = Micros(CONFIG.cluster.lease_ticks * CONFIG.tick_us)
    cores.owner.on_publish(PUBLISHER, Publish(Timed(event, Micros(0))))
    assert sent(cores.step) == [(PUBLISHER, NotOwner(event.id, None))]
    assert cores.owner.owed_events.held == {}


def test_repeated_publish_is_stored_once_and_acknowledged_again() -> None:
    """While it is gathered, while it is held and after its discharge: one owed event, one payment, the same outcome."""
    cores, event = owner(THERE), event_of(TOPIC)
    cores.owner.on_publish(PUBLISHER, Publish(Timed(event, Micros(0))))
    asked = sent_of(cores.step, MatchRequest)
    publish(cores, event)
    assert sent(cores.step) == []
    for to, ask in asked:
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, event.id, (), (), False))
    make_durable(cores.step)
    confirm(cores, event, 64, 96)
    acknowledged = (PUBLISHER, Acknowledge(PublishOutcome(event.id, 3, 1)))
    assert [send for send in sent(cores.step) if not isinstance(send[1], StoreCopy | Route)] == [acknowledged]
    publish(cores, event)
    assert sent(cores.step) == [acknowledged]
    end(cores, event, THERE)
    assert cores.owner.owed_events.held == {}
    publish(cores, event)
    assert sent(cores.step) == [acknowledged]
    assert cores.owner.owed_events.held == {}


def test_own_cluster_is_served_straight_and_all_others_by_one_route() -> None:
    """Hyper 3.1.2: same cluster, back to the subscriber; other clusters, through the super-node, once."""
    cores, event = stored(HERE, THERE, ALSO_THERE)
    timed = Timed(event, Micros(0))
    routed = (Obligation(THERE.id, ELSEWHERE), Obligation(ALSO_THERE.id, ELSEWHERE))
    assert sent(cores.step)[-2:] == [(at(96), Deliver(timed, (HERE.id,))), (at(1), Route(1, timed, routed))]


def test_event_is_discharged_by_its_last_outcome() -> None:
    """Not before: what is still owed stays with the cluster."""
    cores, event = stored(HERE, THERE)
    end(cores, event, HERE)
    assert list(cores.owner.owed_events.held)
    assert records_of(cores.step, Kind.DISCHARGE) == []
    cores.owner.on_routed(at(1), Routed(1, event.id, ((THERE.id, Outcome.DELIVERED),)))
    assert cores.owner.owed_events.held == {}
    assert [(r.event, r.matched) for r in records_of(cores.step, Kind.DISCHARGE)] == [(event.id, 2)]


def test_each_debt_has_one_outcome() -> None:
    """A repeated answer, even a different one, is not counted again: matched = outcomes + undischarged."""
    cores, event = stored(HERE, THERE)
    make_durable(cores.step)
    end(cores, event, HERE)
    end(cores, event, HERE, Outcome.ENDED)
    end(cores, event, ALSO_THERE)
    assert outcomes(cores) == [(HERE.id, "delivered")]


@pytest.mark.parametrize("outcome", [Outcome.DELIVERED, Outcome.DEFERRED])
def test_peer_cannot_settle_the_debt_to_another(outcome: Outcome) -> None:
    """What it says of another peer's subscription neither ends the debt nor hastens its payment."""
    cores, event = stored(HERE)
    sent(cores.step)
    cores.owner.on_delivered(at(64), Delivered(event.id, ((HERE.id, outcome),)))
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.retry_ticks)
    assert paid(cores) == []
    assert outcomes(cores) == []
    assert [list(held.owed) for held in cores.owner.owed_events.held.values()] == [[HERE.id]]
    end(cores, event, HERE)
    assert outcomes(cores) == [(HERE.id, "delivered")]


def test_deferred_is_no_outcome_and_is_tried_again_soon() -> None:
    """A full channel: the event is still owed, and offered again after the short patience."""
    cores, event = stored(HERE)
    end(cores, event, HERE, Outcome.DEFERRED)
    assert outcomes(cores) == []
    sent(cores.step)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.retry_ticks - 1)
    assert paid(cores) == []
    tick(cores.step, cores.owner.tick)
    assert [to for to, _ in paid(cores)] == [at(1)]


def test_unpaid_debts_are_paid_again_and_only_they() -> None:
    """Through the super-node from the second time on: it knows where a peer is."""
    cores, event = stored(HERE, THERE)
    end(cores, event, THERE)
    sent(cores.step)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks)
    age = Micros(CONFIG.pubsub.redeliver_ticks * CONFIG.tick_us)
    assert paid(cores) == [(at(1), Route(2, Timed(event, age), (Obligation(HERE.id, CLUSTER),)))]


def test_what_is_older_than_the_horizon_ends_unreachable() -> None:
    """Receivers forget ids after the undelivered TTL plus a margin: no copy may be sent later than that."""
    cores, event = stored(THERE)
    sent(cores.step)
    tick(cores.step, cores.owner.tick)
    cores.step.now = Micros(CONFIG.pubsub.undelivered_ttl_us + SECOND_US)
    cores.arc_lease.renew(cores.step.now, None)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks)
    assert outcomes(cores) == [(THERE.id, "unreachable")]
    assert cores.owner.owed_events.held == {}
    assert event.id not in [record.event for record in records_of(cores.step, Kind.MATCH)]
    assert sent_of(cores.step, Route) == []


def test_new_owner_pays_once_enough_members_hold_the_owed_event_again() -> None:
    """An owner died: its successor got the owed event as a copy, and takes over the debt with it."""
    cores, event = stored(THERE)
    (owed_event,) = [held.owed_event for held in cores.owner.owed_events.held.values()]
    new_owner = member_at(64, TABLE)
    tick(new_owner.step, new_owner.owner.owed_events.tick)
    new_owner.owner.on_store_copy(at(32), StoreCopy(CLUSTER, (owed_event,)))
    make_durable(new_owner.step)
    tick(new_owner.step, new_owner.owner.tick, 20)
    assert sent_of(new_owner.step, Route) == [], "not the owner yet"
    give_index(new_owner, table_of(64, 96, 128, n=2, seen=4))
    tick(new_owner.step, new_owner.owner.owed_events.tick)
    assert [to for to, _ in sent_of(new_owner.step, StoreCopy)] == [at(96), at(128)]
    confirm(new_owner, event, 96)
    assert sent_of(new_owner.step, Route) == []
    confirm(new_owner, event, 128)
    # No acknowledgement: nobody asked this owner.
    ((to, route),) = sent(new_owner.step)
    assert isinstance(route, Route)
    assert (to, route.owed) == (at(1), (Obligation(THERE.id, ELSEWHERE),))


def test_what_promises_nothing_is_not_promised() -> None:
    """It goes in parcels; one that is published like a promised one is refused, and its publisher hears why."""
    cores = owner(HERE)
    event = event_of(TOPIC, guarantee=Guarantee.AT_MOST_ONCE)
    publish(cores, event)
    assert sent(cores.step) == [(PUBLISHER, Acknowledge(PublishOutcome(event.id, refused=Reason.NO_PROMISE)))]
    assert [drop.reason for drop in records_of(cores.step, Kind.DROP)] == ["no_promise"]
    assert cores.owner.owed_events.held == {}


def test_replayed_event_is_owed_to_the_new_subscription_once() -> None:
    """Hyper 3.1.1: a new subscription is matched with the stored events; asking twice owes nothing twice."""
    event = event_of(TOPIC, retain_us=60 * SECOND_US)
    cores = owner(table=ALONE)
    publish(cores, event)
    make_durable(cores.step)
    assert cores.owner.owed_events.held == {}, "it matched nobody and is only retained"
    late = subscription_of(on_topic(TOPIC), 5, subscriber=96, replay=True)
    other = subscription_of(on_topic("another"), 6, subscriber=96, replay=True)
    forget(cores.step)
    assert (cores.owner.replay(late), cores.owner.replay(late), cores.owner.replay(other)) == (
        1,
        1,
        0,
    )
    make_durable(cores.step)
    assert sent(cores.step) == [(at(96), Deliver(Timed(event, Micros(0)), (late.id,)))]
    end(cores, event, late)
    assert cores.owner.replay(late) == 1
    make_durable(cores.step)
    assert sent(cores.step) == []


def test_store_record_names_what_the_event_was_matched_against() -> None:
    """S1 is judged by that vector: it must not promise more than the indexes were known to hold."""
    cores, event = owner(THERE), event_of(TOPIC)
    log = change_of(THERE, 1).number.log
    cores.arc_lease.renew(cores.step.now, ((log, 5),))
    cores.owner.on_publish(PUBLISHER, Publish(Timed(event, Micros(0))))
    for to, ask in sent_of(cores.step, MatchRequest):
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, event.id, (), ((log, 3),), False))
    make_durable(cores.step)
    (record,) = records_of(cores.step, Kind.STORE)
    assert (record.event, record.vector, record.matched) == (event.id, ((log, 3),), 1)


def test_a_publish_that_may_have_been_paid_and_forgotten_is_refused() -> None:
    """Unless its owner remembers it: then the publisher hears again what became of it."""
    too_old_us = CONFIG.pubsub.too_old_us + 1
    cores, event = owner(), event_of(TOPIC)
    publish(cores, event, too_old_us)
    assert sent(cores.step) == [(PUBLISHER, Acknowledge(PublishOutcome(event.id, refused=Reason.OLDER_THAN_TTL)))]
    cores, event = stored()
    forget(cores.step)
    publish(cores, event, too_old_us)
    (acknowledged,) = sent_of(cores.step, Acknowledge)
    assert acknowledged[1].outcome.refused is None


# Rights


def test_event_of_a_topic_without_right_is_refused_and_kept_by_nobody() -> None:
    """Its publisher is told, once, that there is no use in trying again."""
    cores, event = owner(HERE), event_of(TOPIC)
    cores.permits.link_up(PUBLISHER.id, Rights(publish=("other/*",)))
    cores.owner.on_publish(PUBLISHER, Publish(Timed(event, Micros(0))))
    assert sent(cores.step) == [(PUBLISHER, Acknowledge(PublishOutcome(event.id, refused=Reason.NOT_AUTHORIZED)))]
    assert list(cores.owner.owed_events.held) == []
    assert [record.reason for record in records_of(cores.step, Kind.DROP)] == ["not_authorized"]


def test_peer_publishes_in_its_own_name_alone() -> None:
    """An event id names its publisher: nobody else may bring it."""
    cores, event = owner(HERE), event_of(TOPIC)
    cores.owner.on_publish(at(10), Publish(Timed(event, Micros(0))))
    assert sent(cores.step) == [(at(10), Acknowledge(PublishOutcome(event.id, refused=Reason.FOREIGN_EVENT)))]
    assert list(cores.owner.owed_events.held) == []
