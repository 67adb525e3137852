"""Tables come into force only with their index, and nobody who may answer for a key is left out of a change."""

from __future__ import annotations

from p2psub.config import CubeConfig
from p2psub.model.batches import BATCH_BYTES_MAX
from p2psub.model.changes import LogId
from p2psub.model.content import Filter, Operator, Predicate, Subscription
from p2psub.model.ids import Key, key_of_topic
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import IndexStored, IndexTransfer
from p2psub.model.places import TableVersion
from p2psub.model.step import Step
from p2psub.overlay.census import Census
from p2psub.overlay.roster import Roster
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.table_grants import TableGrants
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    change_of,
    epoch,
    node_at,
    on_topic,
    report_of,
    sent,
    sent_of,
    step_at,
    subscription_of,
    tick,
    told_myself,
    topic_in,
)

EPOCH = epoch(1, 1)


def grants_of(*members: int, records: list[Subscription] | None = None, batch: int = 256) -> TableGrants:
    """A term of the node at 1 over members that have just reported."""
    step = step_at(1)
    changes = ChangeSet(step, CONFIG.pubsub.shards)
    roster = Roster(step, CONFIG.cluster, CONFIG.pubsub.copies, Census(step, CONFIG.cluster, epoch(1, 128)))
    for place in members:
        roster.note(*report_of(place))
    for n, record in enumerate(records or [], 1):
        changes.add(change_of(record, n))
    cube = CubeConfig(batch_changes_max=batch)
    return TableGrants(step, CONFIG.cluster, cube, TICK_US, roster, changes, CLUSTER, EPOCH)


def hold(grants: TableGrants, *places: int, n: int = 1) -> bool:
    """Members say that they hold their index for a table; whether that brought it into force."""
    held = IndexStored(CLUSTER, TableVersion(EPOCH, n))
    return True in [grants.on_index_stored(at(place), held) for place in places]


def in_force(*members: int, records: list[Subscription] | None = None) -> TableGrants:
    """A term whose first table is in force, with nothing on its way."""
    grants = grants_of(*members, records=records)
    grants.step.tick += 1
    grants.tick()
    assert hold(grants, 1, *members)
    forget_sends(grants.step)
    return grants


def forget_sends(step: Step) -> None:
    """Begin to look here."""
    sent(step)
    step.sends_to_me.clear()


def key_in(low: int, high: int) -> Key:
    """A key in the arc (low, high]."""
    return key_of_topic(topic_in(low, high))


def confirmers(grants: TableGrants, key: Key) -> set[int]:
    """The places of those who must confirm a change to `key`."""
    return {contact.id[0] for contact in grants.must_confirm(key)}


def test_table_comes_into_force_when_the_last_member_holds_its_index() -> None:
    """Every owner gets its arc's index; the table stands only after every one of them said so."""
    grants = grants_of(64, 128)
    grants.step.tick += 1
    assert not grants.tick()
    version = TableVersion(EPOCH, 1)
    assert sent(grants.step) == [
        (at(64), IndexTransfer(CLUSTER, version, node_at(1), 1, 0, 1, ())),
        (at(128), IndexTransfer(CLUSTER, version, node_at(64), 1, 0, 1, ())),
    ]
    assert told_myself(grants.step, IndexTransfer) == [IndexTransfer(CLUSTER, version, node_at(128), 1, 0, 1, ())]
    assert not hold(grants, 1, 128)
    before = grants.table
    assert hold(grants, 64)
    assert before is None
    assert grants.table is not None
    assert grants.table.owners == (at(1), at(64), at(128))


def test_transfer_holds_the_active_subscriptions_of_the_arc_and_no_others() -> None:
    """In parts, if they are many; an ended subscription is not transferred."""
    inside = [subscription_of(on_topic(topic_in(1, 64)), n) for n in range(1, 6)]
    ended = subscription_of(on_topic(topic_in(1, 64)), 2, version=2, is_active=False)
    elsewhere = subscription_of(on_topic(topic_in(64, 128)), 7)
    grants = grants_of(64, 128, records=[*inside, ended, elsewhere], batch=2)
    grants.step.tick += 1
    grants.tick()
    parts = [transfer for to, transfer in sent_of(grants.step, IndexTransfer) if to == at(64)]
    assert [(part.part, part.parts) for part in parts] == [(0, 2), (1, 2)]
    transferred = [change.record for part in parts for change in part.changes]
    assert transferred == [record for record in inside if record.id != ended.id]


def test_transfer_of_heavy_filters_goes_in_parts_that_fit() -> None:
    """By bytes, not by number alone."""
    topic = topic_in(1, 64)
    heavy = (Predicate("topic", Operator.EQUAL, topic), Predicate("a", Operator.EQUAL, "x" * 60_000))
    records = [subscription_of(Filter((heavy,)), n) for n in range(1, 11)]
    grants = grants_of(64, 128, records=records)
    grants.step.tick += 1
    grants.tick()
    parts = [transfer for to, transfer in sent_of(grants.step, IndexTransfer) if to == at(64)]
    assert [(part.part, part.parts, len(part.changes)) for part in parts] == [(0, 3, 4), (1, 3, 4), (2, 3, 2)]
    assert all(part.weight <= BATCH_BYTES_MAX for part in parts)


def test_unheard_members_get_their_index_again_and_the_others_do_not() -> None:
    """A transfer may be lost: it is repeated, as a new attempt, to whoever has not confirmed; soon, then less often."""
    grants = grants_of(64, 128)
    tick(grants.step, grants.tick)
    hold(grants, 1, 64)
    forget_sends(grants.step)
    attempts: list[tuple[int, int]] = []
    for waited in range(1, 19):
        tick(grants.step, grants.tick)
        for to, transfer in sent(grants.step):
            assert isinstance(transfer, IndexTransfer)
            attempts.append((waited, transfer.attempt))
            again = IndexTransfer(CLUSTER, TableVersion(EPOCH, 1), node_at(64), transfer.attempt, 0, 1, ())
            assert (to, transfer) == (at(128), again)
    assert attempts == [(1, 2), (2, 3), (4, 4), (6, 5), (9, 6), (12, 7), (16, 8)]


def test_index_of_several_messages_gets_time_to_arrive() -> None:
    """All of it must come: sent again too soon, it would never be whole."""
    topic = topic_in(1, 64)
    heavy = (Predicate("topic", Operator.EQUAL, topic), Predicate("a", Operator.EQUAL, "x" * 60_000))
    grants = grants_of(64, 128, records=[subscription_of(Filter((heavy,)), n) for n in range(1, 11)])
    tick(grants.step, grants.tick)
    forget_sends(grants.step)
    tick(grants.step, grants.tick, 3)
    assert sent(grants.step) == []
    tick(grants.step, grants.tick)
    assert {transfer.attempt for _, transfer in sent_of(grants.step, IndexTransfer)} == {2}


def test_both_owners_confirm_while_a_table_is_under_way() -> None:
    """The joiner must store a change too, and the old owner still answers for the key."""
    grants = in_force(128)
    grants.roster.note(*report_of(64))
    assert confirmers(grants, key_in(1, 64)) == {128}
    grants.step.tick += 1
    grants.tick()
    assert confirmers(grants, key_in(1, 64)) == {64, 128}
    assert confirmers(grants, key_in(64, 128)) == {128}


def test_old_owner_confirms_until_it_obeys_the_new_table() -> None:
    """A new table does not end the old owner's lease; only its own report of a newer table does."""
    grants = in_force(128)
    grants.roster.note(*report_of(64))
    grants.step.tick += 1
    grants.tick()
    assert hold(grants, 64, 128, n=2)
    assert confirmers(grants, key_in(1, 64)) == {64, 128}
    grants.roster.note(*report_of(128, table=TableVersion(EPOCH, 1)))
    assert confirmers(grants, key_in(1, 64)) == {64, 128}
    grants.roster.note(*report_of(128, table=TableVersion(EPOCH, 2)))
    assert confirmers(grants, key_in(1, 64)) == {64}


def test_old_owner_that_is_gone_confirms_until_its_lease_has_run_out() -> None:
    """It may be cut off and serve on: nobody may forget it before its lease ends."""
    grants = in_force(64, 128)
    grants.roster.drop(node_at(64))
    grants.step.tick += 1
    grants.tick()
    assert hold(grants, 128, n=2)
    lease_us = CONFIG.cluster.lease_ticks * TICK_US
    grants.step.now = Micros(lease_us - 1)
    assert confirmers(grants, key_in(1, 64)) == {64, 128}
    grants.step.now = Micros(lease_us)
    assert confirmers(grants, key_in(1, 64)) == {128}


def test_restarted_member_is_entitled_to_nothing_until_it_has_its_index_again() -> None:
    """Its index died with its process; the same table would let it acknowledge without subscriptions."""
    grants = in_force(64, 128)
    assert grants.is_entitled(node_at(64), 1)
    grants.roster.note(*report_of(64, incarnation=2))
    assert not grants.is_entitled(node_at(64), 2)
    grants.step.tick += 1
    grants.tick()
    transfer = IndexTransfer(CLUSTER, TableVersion(EPOCH, 2), node_at(1), 1, 0, 1, ())
    assert sent(grants.step) == [(at(64), transfer)]
    assert hold(grants, 64, n=2)
    assert grants.is_entitled(node_at(64), 2)
    assert not grants.is_entitled(node_at(64), 1)


def test_member_that_says_it_lacks_its_index_gets_a_new_table() -> None:
    """Whatever it confirmed before, what it says now counts."""
    grants = in_force(64)
    grants.forget_index(node_at(64))
    grants.step.tick += 1
    grants.tick()
    assert [to for to, _ in sent_of(grants.step, IndexTransfer)] == [at(64)]
    assert not grants.is_entitled(node_at(64), 1)


def test_word_on_an_overtaken_table_does_not_count() -> None:
    """The arc may be another by now."""
    grants = grants_of(64)
    grants.step.tick += 1
    grants.tick()
    grants.roster.note(*report_of(32))
    grants.step.tick += 1
    grants.tick()
    assert not hold(grants, 1, 64, n=1)
    assert not hold(grants, 32, n=2)
    assert grants.table is None
    assert hold(grants, 1, 64, n=2)


def test_whole_change_set_is_claimed_only_if_every_owner_got_its_index_anew() -> None:
    """Whoever kept its old index may lack changes that are not settled yet."""
    record = subscription_of(on_topic(topic_in(1, 64)))
    log = LogId(CLUSTER, EPOCH)
    first = in_force(64, records=[record])
    assert first.vector == {log: 1}
    first.changes.add(change_of(subscription_of(on_topic("x"), 2), 2))
    first.roster.note(*report_of(32))
    first.step.tick += 1
    first.tick()
    assert hold(first, 32, 64, n=2)
    assert first.vector == {log: 1}


def test_an_index_is_no_vote() -> None:
    """Where owners may refuse, what they hold is claimed by their votes alone."""
    grants = grants_of(64, records=[subscription_of(on_topic(topic_in(1, 64)))])
    grants.may_refuse = True
    grants.tick()
    assert hold(grants, 1, 64)
    assert grants.vector == {}


def test_seen_members_stay_in_the_table_when_they_are_gone() -> None:
    """The bar for copies does not fall with a death."""
    grants = in_force(64, 128)
    grants.roster.drop(node_at(64))
    grants.step.tick += 1
    grants.tick()
    assert hold(grants, 1, 128, n=2)
    assert grants.table is not None
    assert (grants.table.owners, grants.table.seen) == ((at(1), at(128)), 3)


def test_an_index_that_waits_for_its_link_is_not_sent_again() -> None:
    """Those for other owners are; and its own patience begins when the last of it left."""
    records = [subscription_of(on_topic(topic_in(1, 64)), n) for n in range(1, 4)]
    grants = grants_of(32, 64, records=records, batch=1)
    grants.tick()
    held_up = grants._next.sent[at(64).id] if grants._next is not None else None
    assert held_up is not None
    held_up.wait()
    sent(grants.step)
    tick(grants.step, grants.tick, 20)
    assert {to for to, _ in sent_of(grants.step, IndexTransfer)} == {at(32)}
    hold(grants, 32)
    held_up.leave(grants.step.tick, 2)
    tick(grants.step, grants.tick, 5)
    assert sent_of(grants.step, IndexTransfer) == []
    tick(grants.step, grants.tick)
    assert {to for to, _ in sent_of(grants.step, IndexTransfer)} == {at(64)}
