"""The owner of a topic: acknowledges only what enough members hold, pays every debt, and pays none twice."""

from __future__ import annotations

import pytest

from p2psub.model.content import Guarantee, Order
from p2psub.model.digests import digest_of_matches
from p2psub.model.ids import Process
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Deliver,
    Delivered,
    NotOwner,
    OutcomeOf,
    OwedParcel,
    Publish,
    Route,
    Routed,
    StoreCopy,
    Want,
)
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    bits,
    change_of,
    event_of,
    forget,
    give_index,
    make_durable,
    member_at,
    on_topic,
    parcel_of,
    records_of,
    sent,
    sent_of,
    subscription_of,
    table_of,
    tick,
    topic_in,
)
from tests.unit.owner.copies import owed_in
from tests.unit.owner.owners import (
    ALONE,
    ALSO_THERE,
    ELSEWHERE,
    HERE,
    ONE,
    PROCESS,
    PUBLISHER,
    TABLE,
    THERE,
    TOPIC,
    acknowledged,
    confirm,
    end,
    outcomes,
    owner,
    paid,
    pay,
    publish,
    refused,
    stored,
    wants_sent,
)


def test_acknowledgement_waits_for_the_required_copies() -> None:
    """Three durable copies, our own among them; then the publisher is told how many there are."""
    cores, parcel = owner(THERE), ONE
    publish(cores, parcel)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64), at(96)]
    confirm(cores, parcel, 64, 96)
    assert sent(cores.step) == [], "our own copy is not durable yet"
    make_durable(cores.step)
    assert sent_of(cores.step, Acknowledge) == [acknowledged(parcel, 3, 1)]


def test_two_copies_are_not_three() -> None:
    """With one copy less than required nothing is acknowledged, and nothing is paid."""
    cores, parcel = owner(THERE), ONE
    publish(cores, parcel)
    make_durable(cores.step)
    confirm(cores, parcel, 64, 64)
    assert [message for _, message in sent(cores.step) if not isinstance(message, StoreCopy)] == []
    confirm(cores, parcel, 96)
    assert [type(message) for _, message in sent(cores.step)] == [Acknowledge, Route]


@pytest.mark.parametrize(("seen", "copies"), [(1, 1), (2, None), (5, None)])
def test_bar_is_what_was_seen_lately_not_who_is_left(seen: int, copies: int | None) -> None:
    """A founder acknowledges with one copy and says so; the last one left of a cut ring acknowledges nothing."""
    cores, parcel = owner(THERE, table=table_of(32, seen=seen)), ONE
    publish(cores, parcel)
    make_durable(cores.step)
    expected = [] if copies is None else [acknowledged(parcel, copies, 1)]
    assert sent_of(cores.step, Acknowledge) == expected


def test_member_answers_only_for_its_own_keys_and_names_the_owner() -> None:
    """The wrong address stores nothing."""
    cores, parcel = owner(), parcel_of(event_of(topic_in(32, 64)))
    cores.owner.on_publish(PUBLISHER, Publish(parcel, Micros(0)))
    assert sent(cores.step) == [(PUBLISHER, NotOwner(parcel.id, ((bits(0), at(64)),)))]
    assert cores.owner.owed_parcels.log.count == 0


def test_owner_whose_lease_has_ended_does_not_acknowledge() -> None:
    """Beyond a cut others may have joined, and more copies be required than it knows; it says so when it is told."""
    cores, parcel = owner(HERE), parcel_of(event_of(TOPIC))
    publish(cores, parcel)
    make_durable(cores.step)
    cores.step.now = Micros(CONFIG.cluster.lease_ticks * CONFIG.tick_us)
    confirm(cores, parcel, 64, 96)
    assert sent_of(cores.step, Acknowledge) == []
    cores.arc_lease.renew(cores.step.now, None)
    publish(cores, parcel, is_repeated=True)
    ((_, acknowledge),) = sent_of(cores.step, Acknowledge)
    assert [said.copies for said in acknowledge.outcomes] == [3]


def test_member_without_a_running_lease_owns_nothing() -> None:
    """A node that hears nobody acknowledges nothing, and does not send the publisher round in circles."""
    cores, parcel = owner(table=ALONE), ONE
    cores.step.now = Micros(CONFIG.cluster.lease_ticks * CONFIG.tick_us)
    cores.owner.on_publish(PUBLISHER, Publish(parcel, Micros(0)))
    assert sent(cores.step) == [(PUBLISHER, NotOwner(parcel.id, ((bits(0), None),)))]
    assert cores.owner.owed_parcels.log.count == 0


def test_repeated_publish_is_stored_once_and_acknowledged_again() -> None:
    """While it is gathered, while it is held and after its discharge: one debt, one payment, the same outcome."""
    cores, parcel = owner(THERE), ONE
    cores.owner.on_publish(PUBLISHER, Publish(parcel, Micros(0)))
    asked = sent_of(cores.step, MatchRequest)
    publish(cores, parcel)
    assert sent(cores.step) == []
    for to, ask in asked:
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, ask.number, (), (), False))
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)
    answer = acknowledged(parcel, 3, 1)
    assert [send for send in sent(cores.step) if not isinstance(send[1], StoreCopy | Route)] == [answer]
    publish(cores, parcel)
    assert sent(cores.step) == [answer]
    end(cores, parcel, THERE)
    assert cores.owner.owed_parcels.log.count == 0
    publish(cores, parcel)
    assert sent(cores.step) == [answer]
    assert cores.owner.owed_parcels.log.count == 0


def test_own_cluster_is_served_straight_and_all_others_by_one_route() -> None:
    """Hyper 3.1.2: same cluster, back to the subscriber; other clusters, through the super-node, once."""
    cores, parcel = stored(HERE, THERE, ALSO_THERE)
    routed = (Want(THERE.id, b"", 1, 0), Want(ALSO_THERE.id, b"", 1, 0))
    assert sent(cores.step)[-2:] == [
        (at(96), Deliver(parcel, Micros(0), (Want(HERE.id, b"", 1, 0),), (), PROCESS)),
        (at(1), Route(1, parcel, Micros(0), ((ELSEWHERE, routed, ()),), (), PROCESS)),
    ]


def test_event_is_discharged_by_its_last_outcome() -> None:
    """Not before: what is still owed stays with the cluster."""
    cores, parcel = stored(HERE, THERE)
    end(cores, parcel, HERE)
    assert cores.owner.owed_parcels.log.count == 1
    assert records_of(cores.step, Kind.DISCHARGE) == []
    cores.owner.on_routed(at(1), Routed(1, parcel.id, (OutcomeOf(THERE.id, Outcome.DELIVERED, bits(0)),)))
    assert cores.owner.owed_parcels.log.count == 0
    assert [(r.event, r.matched) for r in records_of(cores.step, Kind.DISCHARGE)] == [(parcel.first, 2)]


def test_each_debt_has_one_outcome() -> None:
    """A repeated answer, even a different one, is not counted again: matched = outcomes + undischarged."""
    cores, parcel = stored(HERE, THERE)
    make_durable(cores.step)
    end(cores, parcel, HERE)
    end(cores, parcel, HERE, Outcome.ENDED)
    end(cores, parcel, ALSO_THERE)
    assert outcomes(cores) == [(HERE.id, "delivered")]


@pytest.mark.parametrize("outcome", [Outcome.DELIVERED, Outcome.DEFERRED])
def test_peer_cannot_settle_the_debt_to_another(outcome: Outcome) -> None:
    """What it says of another peer's subscription neither ends the debt nor hastens its payment."""
    cores, parcel = stored(HERE)
    sent(cores.step)
    cores.owner.on_delivered(at(64), Delivered(parcel.id, (OutcomeOf(HERE.id, outcome, b""),)))
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.retry_ticks)
    assert paid(cores) == []
    assert outcomes(cores) == []
    assert [list(held.owed) for held in cores.owner.owed_parcels.log] == [[HERE.id]]
    end(cores, parcel, HERE)
    assert outcomes(cores) == [(HERE.id, "delivered")]


def test_deferred_is_no_outcome_and_is_tried_again_soon() -> None:
    """A full channel: the event is still owed, and offered again, under its number, after the short patience."""
    cores, parcel = stored(HERE)
    end(cores, parcel, HERE, Outcome.DEFERRED)
    assert outcomes(cores) == []
    sent(cores.step)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.retry_ticks - 1)
    assert paid(cores) == []
    tick(cores.step, cores.owner.tick)
    assert wants_sent(cores) == [(96, Want(HERE.id, b"", 1, 0))]


def test_unpaid_debts_are_paid_again_and_only_they() -> None:
    """Through the super-node from the second time on: it knows where a peer is."""
    cores, parcel = stored(HERE, THERE)
    end(cores, parcel, THERE)
    sent(cores.step)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks)
    age = Micros(CONFIG.pubsub.redeliver_ticks * CONFIG.tick_us)
    wants = ((CLUSTER, (Want(HERE.id, b"", 1, 0),), ()),)
    assert paid(cores) == [(at(1), Route(2, parcel, age, wants, (), PROCESS, is_repeated=True))]


def test_what_is_older_than_the_horizon_ends_unreachable() -> None:
    """Receivers forget ids after the undelivered TTL plus a margin: no copy may be sent later than that."""
    cores, parcel = stored(THERE)
    sent(cores.step)
    tick(cores.step, cores.owner.tick)
    cores.step.now = Micros(CONFIG.pubsub.undelivered_ttl_us + SECOND_US)
    cores.arc_lease.renew(cores.step.now, None)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks)
    assert outcomes(cores) == [(THERE.id, "unreachable")]
    assert cores.owner.owed_parcels.log.count == 0
    assert parcel.first not in [record.event for record in records_of(cores.step, Kind.MATCH)]
    assert sent_of(cores.step, Route) == []


def test_new_owner_pays_once_enough_members_hold_the_owed_parcel_again() -> None:
    """An owner died: its successor got the parcel as a copy, and takes over the debt with it."""
    cores, parcel = stored(THERE)
    (owed_parcel,) = owed_in(cores)
    new_owner = member_at(64, TABLE)
    tick(new_owner.step, new_owner.owner.owed_parcels.tick)
    new_owner.owner.on_store_copy(at(32), StoreCopy(CLUSTER, (owed_parcel,)))
    make_durable(new_owner.step)
    tick(new_owner.step, new_owner.owner.tick, 20)
    assert sent_of(new_owner.step, Route) == [], "not the owner yet"
    give_index(new_owner, table_of(64, 96, 128, n=2, seen=4))
    tick(new_owner.step, new_owner.owner.owed_parcels.tick)
    assert [to for to, _ in sent_of(new_owner.step, StoreCopy)] == [at(96), at(128)]
    confirm(new_owner, parcel, 96)
    assert sent_of(new_owner.step, Route) == []
    confirm(new_owner, parcel, 128)
    # No acknowledgement: nobody asked this owner.
    ((to, route),) = sent(new_owner.step)
    assert isinstance(route, Route)
    assert (to, route.wants) == (at(1), ((ELSEWHERE, (Want(THERE.id, b"", 1, 0),), ()),))
    assert route.owner == Process(at(64), 1)


def test_what_promises_nothing_is_not_promised() -> None:
    """It goes in parcels; one that is published like a promised one is refused, and its publisher hears why."""
    cores = owner(HERE)
    parcel = parcel_of(event_of(TOPIC, guarantee=Guarantee.AT_MOST_ONCE))
    publish(cores, parcel)
    assert sent(cores.step) == [refused(PUBLISHER, parcel, Reason.NO_PROMISE)]
    assert [drop.reason for drop in records_of(cores.step, Kind.DROP)] == ["no_promise"]
    assert cores.owner.owed_parcels.log.count == 0


def test_replayed_event_is_owed_to_the_new_subscription_once() -> None:
    """Hyper 3.1.1: a new subscription is matched with the stored events; asking twice owes nothing twice."""
    parcel = parcel_of(event_of(TOPIC, retain_us=60 * SECOND_US))
    cores = owner(table=ALONE)
    publish(cores, parcel)
    make_durable(cores.step)
    assert cores.owner.owed_parcels.log.count == 0, "it matched nobody and is only retained"
    late = subscription_of(on_topic(TOPIC), 5, subscriber=96, replay=True)
    other = subscription_of(on_topic("another"), 6, subscriber=96, replay=True)
    forget(cores.step)
    assert (cores.owner.replay(late), cores.owner.replay(late), cores.owner.replay(other)) == (
        1,
        1,
        0,
    )
    make_durable(cores.step)
    assert sent(cores.step) == [(at(96), Deliver(parcel, Micros(0), (Want(late.id, b"", 1, 0),), (), PROCESS))]
    end(cores, parcel, late)
    assert cores.owner.replay(late) == 1
    make_durable(cores.step)
    assert sent(cores.step) == []


def test_replay_keeps_the_order_of_publishers() -> None:
    """Events are retained as they are discharged: here the second one was first."""
    parcels = [parcel_of(event_of(TOPIC, n, retain_us=60 * SECOND_US)) for n in (1, 2)]
    cores = owner(HERE, table=ALONE)
    pay(cores, *parcels, table=ALONE)
    for parcel in reversed(parcels):
        end(cores, parcel, HERE)
    forget(cores.step)
    late = subscription_of(on_topic(TOPIC), 5, subscriber=96, replay=True, order=Order.PUBLISHER)
    assert cores.owner.replay(late) == 2
    make_durable(cores.step)
    delivers = [message for _, message in sent(cores.step) if isinstance(message, Deliver)]
    assert [(deliver.parcel.first.sequence, deliver.wants[0].number) for deliver in delivers] == [(1, 3), (2, 4)]


def test_store_record_names_what_the_event_was_matched_against() -> None:
    """S1 is judged by that vector: it must not promise more than the indexes were known to hold."""
    cores, parcel = owner(THERE), ONE
    log = change_of(THERE, 1).number.log
    cores.arc_lease.renew(cores.step.now, ((log, 5),))
    cores.owner.on_publish(PUBLISHER, Publish(parcel, Micros(0)))
    for to, ask in sent_of(cores.step, MatchRequest):
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, ask.number, (), ((log, 3),), False))
    make_durable(cores.step)
    (record,) = records_of(cores.step, Kind.STORE)
    assert (record.event, record.vector, record.matched) == (parcel.first, ((log, 3),), 1)


def test_a_publish_that_may_have_been_paid_and_forgotten_is_refused() -> None:
    """Unless its owner remembers it: then the publisher hears again what became of it."""
    too_old_us = CONFIG.pubsub.too_old_us + 1
    cores, parcel = owner(), ONE
    publish(cores, parcel, too_old_us)
    assert sent(cores.step) == [refused(PUBLISHER, parcel, Reason.OLDER_THAN_TTL)]
    cores, parcel = stored(HERE)
    forget(cores.step)
    publish(cores, parcel, too_old_us)
    assert sent_of(cores.step, Acknowledge) == [acknowledged(parcel, 3, 1)]


# Rights


def test_event_of_a_topic_without_right_is_refused_and_kept_by_nobody() -> None:
    """Its publisher is told, once, that there is no use in trying again."""
    cores, parcel = owner(HERE), ONE
    cores.permits.link_up(PUBLISHER.id, Rights(publish=("other/*",)))
    cores.owner.on_publish(PUBLISHER, Publish(parcel, Micros(0)))
    assert sent(cores.step) == [refused(PUBLISHER, parcel, Reason.NOT_AUTHORIZED)]
    assert cores.owner.owed_parcels.log.count == 0
    assert [record.reason for record in records_of(cores.step, Kind.DROP)] == ["not_authorized"]


def test_peer_publishes_in_its_own_name_alone() -> None:
    """An event id names its publisher: nobody else may bring it."""
    cores, parcel = owner(HERE), ONE
    cores.owner.on_publish(at(10), Publish(parcel, Micros(0)))
    assert sent(cores.step) == [refused(at(10), parcel, Reason.FOREIGN_EVENT)]
    assert cores.owner.owed_parcels.log.count == 0


def test_retained_event_of_a_dead_owner_is_recorded_as_stored_before_it_is_discharged() -> None:
    """It owes nothing, and its publisher hears of it from memory: no other word of ours says that we answer for it."""
    cores = owner(table=ALONE)
    parcel = parcel_of(event_of(TOPIC, retain_us=60 * SECOND_US))
    told = OwedParcel(digest_of_matches(()), parcel, Micros(0), (), ((0, b""),), (), PUBLISHER)
    cores.owner.on_store_copy(at(64), StoreCopy(CLUSTER, (told,)))
    make_durable(cores.step)
    assert [record.kind for record in records_of(cores.step, Kind.STORE, Kind.DISCHARGE)] == [
        Kind.STORE,
        Kind.DISCHARGE,
    ]
    publish(cores, parcel)
    assert sent_of(cores.step, Acknowledge) == [acknowledged(parcel, 1, 0)]
