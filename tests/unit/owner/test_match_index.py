"""The match index: no subscription that was confirmed is missing from it, whatever arrives in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.changes import Change
from p2psub.model.content import Event, Subscription
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.cluster import ChangeStored, IndexStored, IndexTransfer, StoreChange
from p2psub.model.messages.pubsub import Obligation
from p2psub.model.places import TableVersion
from p2psub.node.cores import Cores
from tests.unit.bench import (
    ANY,
    CLUSTER,
    CONFIG,
    at,
    change_of,
    epoch,
    event_of,
    give_index,
    matched_by,
    member_at,
    node_at,
    on_topic,
    parcel_of,
    sent,
    sent_of,
    subscription_of,
    table_of,
    tick,
    topic_in,
    wildcard_in_shard,
)

TABLE = table_of(64, 128)
NEXT = table_of(32, 64, 128, n=2)
TOPIC = topic_in(32, 64)
"""A topic of the member at 64, under both tables."""
EPOCH = epoch(1, 1)


def store(cores: Cores, change: Change, under_way: TableVersion | None = None) -> None:
    """The super-node asks the owner to store a change."""
    cores.owner.on_store_change(at(1), StoreChange(CLUSTER, EPOCH, change, under_way))


def transfer(change: Change | None, *, attempt: int = 1, part: int = 0, parts: int = 1, n: int = 2) -> IndexTransfer:
    """A part of the index of the member at 64 for a table to come, in which 32 has joined before it."""
    changes = () if change is None else (change,)
    return IndexTransfer(CLUSTER, TableVersion(EPOCH, n), node_at(32), attempt, part, parts, changes)


def confirmation(change: Change, *, granted: bool = True, retained: int = 0) -> ChangeStored:
    """What the owner says when it has stored a change."""
    return ChangeStored(CLUSTER, EPOCH, change.number, granted, retained)


def matched(cores: Cores, event: Event) -> list[int]:
    """Sequence numbers of the subscriptions under the event's topic that want it."""
    return [subscription.sequence for subscription in matched_by(cores, event)]


def test_stored_interest_is_matched_and_confirmed() -> None:
    """Store, then vote: one confirmation, and the next event finds the subscription."""
    cores, record = member_at(64, TABLE), subscription_of(on_topic(TOPIC))
    store(cores, change_of(record, 1))
    assert sent(cores.step) == [(at(1), confirmation(change_of(record, 1)))]
    assert matched(cores, event_of(TOPIC)) == [record.id.sequence]
    assert cores.owner.match_index.obligation(record.id) == Obligation(record.id, CLUSTER)


def test_ended_subscription_is_taken_out_and_an_old_copy_does_not_bring_it_back() -> None:
    """Unsubscribing removes it (Hyper 3.1.3), for good: messages may be repeated late."""
    cores, record = member_at(64, TABLE), subscription_of(on_topic(TOPIC))
    ended = subscription_of(on_topic(TOPIC), version=2, is_active=False)
    store(cores, change_of(record, 1))
    store(cores, change_of(ended, 2))
    assert matched(cores, event_of(TOPIC)) == []
    store(cores, change_of(record, 1))
    assert matched(cores, event_of(TOPIC)) == []


@given(st.permutations([(1, True), (2, False), (3, True), (4, False), (5, True)]), st.integers(1, 5))
def test_highest_version_stands_in_whatever_order_they_come(order: list[tuple[int, bool]], count: int) -> None:
    """The index depends on the records it was given, not on their order."""
    cores = member_at(64, TABLE)
    for version, is_active in order[:count]:
        store(cores, change_of(subscription_of(on_topic(TOPIC), version=version, is_active=is_active), version))
    assert matched(cores, event_of(TOPIC)) == ([1] if max(order[:count])[1] else [])


def test_change_of_another_term_is_neither_stored_nor_confirmed() -> None:
    """A deposed super-node must not count on an index that is about to be replaced."""
    cores, change = member_at(64, TABLE), change_of(subscription_of(on_topic(TOPIC)), 1)
    for term in (epoch(0, 200), epoch(2, 200)):
        cores.owner.on_store_change(at(200), StoreChange(CLUSTER, term, change, None))
    assert sent(cores.step) == []
    assert matched(cores, event_of(TOPIC)) == []


def test_change_stored_while_an_index_is_under_way_is_in_it() -> None:
    """The transfer was made before the change; adopting it must not forget what was confirmed since."""
    before, since = subscription_of(on_topic(TOPIC), 1), subscription_of(on_topic(TOPIC), 2)
    for announced_first in (True, False):
        cores = member_at(64, TABLE)
        if announced_first:
            store(cores, change_of(since, 2), NEXT.version)
            cores.owner.match_index.on_index_transfer(at(1), transfer(change_of(before, 1)))
        else:
            cores.owner.match_index.on_index_transfer(at(1), transfer(change_of(before, 1)))
            store(cores, change_of(since, 2), NEXT.version)
        assert cores.adopt_table(NEXT)
        assert sorted(matched(cores, event_of(TOPIC))) == [1, 2]


def test_new_index_replaces_the_old_one() -> None:
    """What the new arc's index does not name was ended meanwhile."""
    record = subscription_of(on_topic(TOPIC))
    cores = member_at(64, TABLE, [change_of(record, 1)])
    assert matched(cores, event_of(TOPIC)) == [1]
    cores.owner.match_index.on_index_transfer(at(1), transfer(None))
    assert cores.adopt_table(NEXT)
    assert matched(cores, event_of(TOPIC)) == []


def test_parts_of_different_attempts_do_not_mix() -> None:
    """The set may have changed between them: only all parts of one attempt are an index."""
    cores = member_at(64, TABLE)
    one, other = (change_of(subscription_of(on_topic(TOPIC), n), n) for n in (1, 2))
    cores.owner.match_index.on_index_transfer(at(1), transfer(one, attempt=1, part=0, parts=2))
    cores.owner.match_index.on_index_transfer(at(1), transfer(other, attempt=2, part=1, parts=2))
    assert sent(cores.step) == []
    cores.owner.match_index.on_index_transfer(at(1), transfer(other, attempt=1, part=1, parts=2))
    assert sent(cores.step) == []
    cores.owner.match_index.on_index_transfer(at(1), transfer(one, attempt=2, part=0, parts=2))
    assert sent(cores.step) == [(at(1), IndexStored(CLUSTER, TableVersion(EPOCH, 2)))]


def test_table_without_its_index_is_not_obeyed() -> None:
    """A member that would serve an arc without its subscriptions says that it lacks them."""
    cores = member_at(64, TABLE)
    assert not cores.adopt_table(NEXT)
    lacked = cores.owner.match_index.is_lacking
    assert cores.arc_lease.table == TABLE
    cores.owner.match_index.on_index_transfer(at(1), transfer(None))
    assert (lacked, cores.owner.match_index.is_lacking) == (True, False)
    assert cores.adopt_table(NEXT)


def test_late_copy_of_an_adopted_index_changes_nothing() -> None:
    """It lacks every change since, and its confirmation would be a lie."""
    cores = member_at(64, TABLE)
    give_index(cores, NEXT)
    sent(cores.step)
    store(cores, change_of(subscription_of(on_topic(TOPIC)), 1))
    sent(cores.step)
    cores.owner.match_index.on_index_transfer(at(1), transfer(None))
    assert sent(cores.step) == []
    assert cores.adopt_table(NEXT)
    assert matched(cores, event_of(TOPIC)) == [1]


def shard_owner() -> tuple[Cores, Subscription]:
    """The single member of a ring, which owns every shard, and a subscription for the first."""
    return member_at(64, table_of(64)), wildcard_in_shard(0)


def test_shard_called_empty_confirms_a_subscription_only_after_that_lease() -> None:
    """Until then somebody stores events without asking the shard: the subscription is not stable yet."""
    cores, record = shard_owner()
    assert cores.owner.match_index.lease_empty(0)
    store(cores, change_of(record, 1))
    assert not cores.owner.match_index.lease_empty(0)
    assert sent(cores.step) == []
    cores.step.now = Micros(CONFIG.pubsub.empty_lease_us - 1)
    cores.owner.match_index.tick()
    assert sent(cores.step) == []
    cores.step.now = CONFIG.pubsub.empty_lease_us
    cores.owner.match_index.tick()
    assert sent(cores.step) == [(at(1), confirmation(change_of(record, 1)))]


def test_replay_is_not_lost_behind_an_empty_lease() -> None:
    """The late confirmation of a new subscription counts the retained events that it is owed."""
    cores = member_at(64, table_of(64))
    for shard in range(CONFIG.pubsub.shards):
        assert cores.owner.match_index.lease_empty(shard)
    event, now = event_of(TOPIC, retain_us=60 * SECOND_US), cores.step.now
    cores.owner.owed_parcels.discharges.recent.retain(parcel_of(event), 1, now, now)
    change = change_of(subscription_of(ANY, replay=True), 1)
    store(cores, change)
    assert sent_of(cores.step, ChangeStored) == []
    assert [held.parcel for held in cores.owner.owed_parcels.log] == [parcel_of(event)]
    cores.step.now = CONFIG.pubsub.empty_lease_us
    cores.owner.match_index.tick()
    assert sent_of(cores.step, ChangeStored) == [(at(1), confirmation(change, retained=1))]


def test_restarted_owner_waits_for_the_empty_leases_of_its_last_incarnation() -> None:
    """It does not know what it said before it died."""
    cores, record = shard_owner()
    cores.owner.match_index.start()
    store(cores, change_of(record, 1))
    assert sent(cores.step) == []
    tick(cores.step, cores.owner.match_index.tick, 4)
    assert sent(cores.step) == [(at(1), confirmation(change_of(record, 1)))]


def test_new_table_is_reported_only_when_empty_leases_given_under_the_old_one_are_over() -> None:
    """The report ends our duty to confirm for the old arc; whoever skips the shard on our word must be done first."""
    cores, _ = shard_owner()
    obeyed = [cores.owner.match_index.obeyed]
    assert cores.owner.match_index.lease_empty(0)
    give_index(cores, table_of(32, 64, n=2))
    obeyed.append(cores.owner.match_index.obeyed)
    cores.step.now = CONFIG.pubsub.empty_lease_us
    obeyed.append(cores.owner.match_index.obeyed)
    assert obeyed == [TableVersion(EPOCH, 1), None, TableVersion(EPOCH, 2)]


class RefuseAll:
    """A policy of an owner that is full, until it has room."""

    may_refuse = True
    has_room = False

    def grants(self, subscription: Subscription) -> bool:
        return self.has_room


def test_vote_is_the_policys_but_an_end_is_always_granted() -> None:
    """An owner that is full refuses subscriptions, never the end of one."""
    cores = member_at(64, TABLE, policy=RefuseAll())
    wanted = change_of(subscription_of(on_topic(TOPIC)), 1)
    ended = change_of(subscription_of(on_topic(TOPIC), version=2, is_active=False), 2)
    store(cores, wanted)
    store(cores, ended)
    assert sent(cores.step) == [(at(1), confirmation(wanted, granted=False)), (at(1), confirmation(ended))]


def test_vote_is_given_once_and_repeated() -> None:
    """A confirmation may be lost: an owner that has room by now repeats what it said before."""
    policy = RefuseAll()
    cores = member_at(64, TABLE, policy=policy)
    wanted = change_of(subscription_of(on_topic(TOPIC)), 1)
    store(cores, wanted)
    policy.has_room = True
    store(cores, wanted)
    above = change_of(subscription_of(on_topic(TOPIC), version=3), 3)
    store(cores, above)
    assert sent(cores.step) == [
        (at(1), confirmation(wanted, granted=False)),
        (at(1), confirmation(wanted, granted=False)),
        (at(1), confirmation(above)),
    ]


def test_vote_on_what_comes_for_a_table_under_way_outlives_that_table() -> None:
    """The change was stored for the arc to come; adopting the table does not make its owner ask itself again."""
    policy = RefuseAll()
    cores = member_at(64, TABLE, policy=policy)
    wanted = change_of(subscription_of(on_topic(TOPIC)), 1)
    store(cores, wanted, NEXT.version)
    give_index(cores, NEXT)
    policy.has_room = True
    sent(cores.step)
    store(cores, wanted)
    assert sent(cores.step) == [(at(1), confirmation(wanted, granted=False))]
