"""After a new table an owner pays ordered subscriptions only when no member holds an earlier event than it does."""

from __future__ import annotations

import pytest

from p2psub.model.content import Draft
from p2psub.model.effects import PublishCommand
from p2psub.model.ids import ClusterId
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    Deliver,
    GiveBackRequest,
    GivenBack,
    Route,
    StoreCopy,
    Want,
)
from p2psub.model.parcels import ParcelId
from p2psub.model.places import Table
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    at,
    event_of,
    give_index,
    make_durable,
    member_at,
    parcel_of,
    sent,
    sent_of,
    table_of,
    tick,
    told_myself,
)
from tests.unit.owner.copies import holding, kept, move, owed_in, owed_parcel_of
from tests.unit.owner.owners import (
    ALONE,
    HERE,
    ONE,
    ORDERED,
    TABLE,
    TOPIC,
    changes,
    confirm,
    give_back,
    owner,
    pay,
    publish,
    wants_sent,
)

OTHERS = (64, 96, 128)
NEXT = table_of(32, 64, 96, 128, n=2)
ALONE_NEXT = table_of(32, n=2)


def asked(cores: Cores) -> list[int]:
    """Whom an owner asked to give back since the last look."""
    return [to.id[0] for to, _ in sent_of(cores.step, GiveBackRequest)]


def publish_own(cores: Cores) -> None:
    """An application of this peer publishes an event for the topic's owner."""
    cores.publisher.publish(PublishCommand(1, [Draft(TOPIC)]))
    cores.publisher.flush()


def acknowledge_own(cores: Cores) -> None:
    """The topic's owner answers for the first of these."""
    me = cores.step.me.id
    cores.publisher.on_acknowledge(at(32), Acknowledge(ParcelId(me, 1, 1), (Acknowledged(b"", 1, 1),)))


# The owner


def test_owner_asks_every_other_member_when_it_first_owes_to_an_ordered_subscription() -> None:
    """Of the table it obeys, once; one without ordered subscriptions asks nobody."""
    cores = owner(ORDERED)
    publish(cores, ONE)
    assert [(to, request) for to, request in sent(cores.step) if isinstance(request, GiveBackRequest)] == [
        (at(place), GiveBackRequest(CLUSTER, TABLE.version)) for place in OTHERS
    ]
    pay(cores, parcel_of(event_of(TOPIC, 2)))
    assert asked(cores) == []
    cores = owner(HERE)
    pay(cores, ONE)
    assert asked(cores) == []


def test_nothing_is_numbered_before_the_last_member_has_given_back() -> None:
    """An unordered subscription does not wait for that."""
    cores = owner(HERE, ORDERED)
    pay(cores, ONE)
    assert [want.subscription for _, want in wants_sent(cores)] == [HERE.id]
    give_back(cores, 64, 96)
    assert wants_sent(cores) == []
    give_back(cores, 128)
    assert wants_sent(cores) == [(96, Want(ORDERED.id, b"", 2, 1))], "above the number that the other stream gave"


def test_silent_members_are_asked_again() -> None:
    """At every tick, and only they; when all have answered, nobody is."""
    cores = owner(ORDERED)
    publish(cores, ONE)
    sent(cores.step)
    give_back(cores, 96)
    tick(cores.step, cores.owner.tick)
    assert asked(cores) == [64, 128]
    give_back(cores, 64, 128)
    tick(cores.step, cores.owner.tick, 4)
    assert asked(cores) == []


@pytest.mark.parametrize(
    ("peer", "cluster", "table"),
    [(128, CLUSTER, NEXT), (128, ClusterId("c2"), TABLE), (200, CLUSTER, TABLE), (64, CLUSTER, TABLE)],
    ids=["of another table", "of another cluster", "a stranger", "one that said so before"],
)
def test_word_that_is_not_the_last_members_is_not_counted_for_it(peer: int, cluster: ClusterId, table: Table) -> None:
    """By another table it may hold something for us; who is not asked says nothing that matters."""
    cores = owner(ORDERED)
    pay(cores, ONE)
    give_back(cores, 64, 96)
    wants_sent(cores)
    cores.owner.on_given_back(at(peer), GivenBack(cluster, table.version))
    assert wants_sent(cores) == []


def test_owner_that_is_alone_has_nobody_to_ask() -> None:
    """It pays as soon as the event is durable."""
    cores = owner(ORDERED, table=ALONE)
    publish(cores, ONE)
    make_durable(cores.step)
    assert [want.number for _, want in wants_sent(cores)] == [1]


def test_owner_waits_for_what_it_published_itself_to_one_before_it() -> None:
    """That one may have stored it, and what came after it: a holder gives back the latter alone if it died then."""
    cores, request = owner(ORDERED), GiveBackRequest(CLUSTER, ALONE_NEXT.version)
    publish_own(cores)
    give_index(cores, ALONE_NEXT, changes(ORDERED))
    tick(cores.step, cores.owner.tick)
    publish(cores, ONE)
    make_durable(cores.step)
    assert wants_sent(cores) == []
    assert told_myself(cores.step, GiveBackRequest) == [request]
    cores.owner.inquiries.on_give_back_request(at(32), request)
    assert told_myself(cores.step, GivenBack) == []
    acknowledge_own(cores)
    tick(cores.step, cores.owner.tick)
    assert told_myself(cores.step, GiveBackRequest) == [request]
    cores.owner.inquiries.on_give_back_request(at(32), request)
    assert told_myself(cores.step, GivenBack) == [GivenBack(CLUSTER, ALONE_NEXT.version)]
    give_back(cores, 32, table=ALONE_NEXT)
    assert [want.number for _, want in wants_sent(cores)] == [1]


def test_new_table_begins_anew() -> None:
    """What was in line is not paid before the members of the new table have given back, too."""
    cores, later = owner(ORDERED), parcel_of(event_of(TOPIC, 2))
    pay(cores, ONE)
    give_back(cores, *OTHERS)
    sent(cores.step)
    give_index(cores, NEXT, changes(ORDERED))
    tick(cores.step, cores.owner.tick)
    publish(cores, later)
    make_durable(cores.step)
    for one in (ONE, later):
        confirm(cores, one, 64, 96, table=NEXT)
    give_back(cores, *OTHERS)
    assert wants_sent(cores) == [], "by the table before"
    give_back(cores, *OTHERS, table=NEXT)
    told = [(want.number, want.settled) for _, want in wants_sent(cores)]
    assert told == [(2, 1), (3, 1)], "what was on its way comes again, under a number of its turn"


def test_what_was_collected_is_paid_in_the_order_of_its_publishers() -> None:
    """However it came back: a late copy of an early event goes first, and holds up the rest until it has its copies."""
    cores = owner(ORDERED)
    former = owner(ORDERED)
    parcels = [parcel_of(event_of(TOPIC, n)) for n in (1, 2, 3)]
    pay(former, *parcels)
    owed = {one.parcel.first.sequence: one for one in owed_in(former)}
    for n in (3, 1, 2):
        cores.owner.on_store_copy(at(64), StoreCopy(CLUSTER, (owed[n],)))
    make_durable(cores.step)
    for n in (3, 2):
        confirm(cores, parcels[n - 1], 64, 96)
    give_back(cores, *OTHERS)
    assert wants_sent(cores) == []
    confirm(cores, parcels[0], 64, 96)
    assert [want.number for _, want in wants_sent(cores)] == [1, 2, 3]
    streams = cores.owner._payments._streams[ORDERED.id]
    assert [delivery.id.parcel for delivery in streams.sent.values()] == [one.id for one in parcels]


def test_owner_that_is_left_alone_pays_what_it_held_in_the_order_of_its_publishers() -> None:
    """There is nobody to ask, but copies came in any order while another was the owner."""
    former, cores = owner(ORDERED), member_at(64, TABLE)
    tick(cores.step, cores.owner.tick)
    pay(former, *[parcel_of(event_of(TOPIC, n)) for n in (1, 2, 3)])
    owed = {one.parcel.first.sequence: one for one in owed_in(former)}
    for n in (3, 1, 2):
        cores.owner.on_store_copy(at(32), StoreCopy(CLUSTER, (owed[n],)))
    make_durable(cores.step)
    sent(cores.step)
    give_index(cores, table_of(64, n=2))
    tick(cores.step, cores.owner.tick)
    brought = [message for _, message in sent(cores.step) if isinstance(message, Deliver | Route)]
    assert [message.parcel.first.sequence for message in brought] == [1, 2, 3]


def test_order_that_was_collected_before_our_own_tick_is_not_lost_by_it() -> None:
    """A new table is begun by the tick: what is published before it waits, and is in its place afterwards."""
    former, cores, table = owner(ORDERED), member_at(64, TABLE), table_of(64, 96, 128, n=2, seen=3)
    tick(cores.step, cores.owner.tick)
    parcels = [parcel_of(event_of(TOPIC, n)) for n in (1, 2, 3)]
    pay(former, *parcels[:2])
    owed = {one.parcel.first.sequence: one for one in owed_in(former)}
    for n in (2, 1):
        cores.owner.on_store_copy(at(32), StoreCopy(CLUSTER, (owed[n],)))
    make_durable(cores.step)
    give_index(cores, table, changes(ORDERED))
    publish(cores, parcels[2])
    make_durable(cores.step)
    give_back(cores, 96, 128, table=table)
    sent(cores.step)
    tick(cores.step, cores.owner.tick)
    for parcel in reversed(parcels):
        confirm(cores, parcel, 96, 128, table=table)
    give_back(cores, 96, 128, table=table)
    brought = [message for _, message in sent(cores.step) if isinstance(message, Deliver | Route)]
    assert [message.parcel.first.sequence for message in brought] == [1, 2, 3]


# The members


def test_member_that_holds_nothing_for_the_owner_says_so_at_once() -> None:
    """Also if it holds something for another owner."""
    for cores in (member_at(64, TABLE), holding(64, owed_parcel_of(), table=TABLE)):
        tick(cores.step, cores.owner.owed_parcels.tick)
        sent(cores.step)
        cores.owner.inquiries.on_give_back_request(at(128), GiveBackRequest(CLUSTER, TABLE.version))
        assert sent_of(cores.step, GivenBack) == [(at(128), GivenBack(CLUSTER, TABLE.version))]


def test_member_is_silent_until_the_owner_states_what_it_holds_for_it() -> None:
    """By the table of the question: a statement by an older one says nothing of now."""
    owed_parcel = owed_parcel_of()
    cores = holding(64, owed_parcel, table=TABLE)
    move(cores, NEXT)
    tick(cores.step, cores.owner.owed_parcels.tick)
    sent(cores.step)
    request = GiveBackRequest(CLUSTER, NEXT.version)
    cores.owner.inquiries.on_give_back_request(at(32), request)
    cores.owner.on_copy_stored(at(32), kept(owed_parcel, table=TABLE))
    cores.owner.inquiries.on_give_back_request(at(32), request)
    assert sent_of(cores.step, GivenBack) == []
    cores.owner.on_copy_stored(at(32), kept(owed_parcel, table=NEXT))
    cores.owner.inquiries.on_give_back_request(at(32), request)
    assert sent_of(cores.step, GivenBack) == [(at(32), GivenBack(CLUSTER, NEXT.version))]


def test_member_answers_by_the_table_it_obeys_alone() -> None:
    """Not by one that it has not heard of, nor of another cluster, nor before it has looked at all that it holds."""
    cores = member_at(64, TABLE)
    tick(cores.step, cores.owner.owed_parcels.tick)
    for cluster, version in ((CLUSTER, NEXT.version), (ClusterId("c2"), TABLE.version)):
        cores.owner.inquiries.on_give_back_request(at(32), GiveBackRequest(cluster, version))
    move(cores, NEXT)
    cores.owner.inquiries.on_give_back_request(at(32), GiveBackRequest(CLUSTER, NEXT.version))
    assert sent(cores.step) == []
    tick(cores.step, cores.owner.owed_parcels.tick)
    cores.owner.inquiries.on_give_back_request(at(32), GiveBackRequest(CLUSTER, NEXT.version))
    assert sent_of(cores.step, GivenBack) == [(at(32), GivenBack(CLUSTER, NEXT.version))]


def test_member_is_silent_while_its_outbox_holds_what_it_published_before_the_table() -> None:
    """The owner of then may be gone with it, though members give back what came after it on its topic."""
    cores = member_at(64, TABLE)
    tick(cores.step, cores.owner.owed_parcels.tick)
    publish_own(cores)
    move(cores, NEXT)
    tick(cores.step, cores.owner.owed_parcels.tick)
    sent(cores.step)
    for place in (32, 128):
        cores.owner.inquiries.on_give_back_request(at(place), GiveBackRequest(CLUSTER, NEXT.version))
    assert sent_of(cores.step, GivenBack) == [(at(128), GivenBack(CLUSTER, NEXT.version))], "it is not for that one"
    acknowledge_own(cores)
    publish_own(cores)
    cores.owner.inquiries.on_give_back_request(at(32), GiveBackRequest(CLUSTER, NEXT.version))
    assert sent_of(cores.step, GivenBack) == [(at(32), GivenBack(CLUSTER, NEXT.version))], "the other came later"
