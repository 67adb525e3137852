"""OwedEvents: an event that is owed is never let go before the owner holds it, or it owes nothing."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.content import Timed
from p2psub.model.digests import owed_event_id
from p2psub.model.effects import Persist, Write
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import CopyStored, Discharged, Obligation, OwedEvent, StoreCopy, StoredEvent
from p2psub.model.places import Table
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from p2psub.owner.owed_events import OWED_EVENT_NAMESPACE
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    event_of,
    give_index,
    make_durable,
    member_at,
    node_at,
    on_topic,
    records_of,
    sent,
    sent_of,
    subscription_of,
    table_of,
    tick,
    topic_in,
)

TABLE = table_of(32, 64, 96, 128, 160, 192)
TOPIC = topic_in(1, 32)
"""A topic of the member at 32; its other holders are 64, 96 and 128."""
ELSEWHERE = ClusterId("c2")


def owed_event_of(sequence: int = 1, owed: int = 2, age_us: int = 0, topic: str = TOPIC) -> OwedEvent:
    """An event that is owed to some subscriptions of another cluster."""
    event = event_of(topic, sequence)
    records = [subscription_of(on_topic(topic), n, cluster=ELSEWHERE) for n in range(1, owed + 1)]
    obligations = tuple(Obligation(record.id, ELSEWHERE) for record in records)
    return OwedEvent(owed_event_id(event.id, obligations), Timed(event, Micros(age_us)), obligations, owed, (), at(9))


def keep(*owed_events: OwedEvent) -> StoreCopy:
    """A request to hold owed events."""
    return StoreCopy(CLUSTER, owed_events)


def kept(*owed_events: OwedEvent, table: Table = TABLE) -> CopyStored:
    """A durable copy, stated by a member that follows a table."""
    return CopyStored(CLUSTER, tuple(owed_event.id for owed_event in owed_events), table.version)


def holding(place: int, owed_event: OwedEvent, table: Table = TABLE, told_by: int = 32) -> Cores:
    """A member that holds an owed event durably."""
    cores = member_at(place, table)
    cores.step.tick += 1
    cores.owner.owed_events.tick()
    cores.owner.on_store_copy(at(told_by), keep(owed_event))
    make_durable(cores.step)
    sent(cores.step)
    return cores


MOVED = table_of(32, 40, 48, 56, 64, 96, 128, 160, 192, n=2)
"""Three members have joined before 64: it and all after it hold that key no more."""


def former_holder(owed_event: OwedEvent) -> Cores:
    """A member that held an owed event for the table before."""
    cores = holding(128, owed_event)
    move(cores, MOVED)
    return cores


def move(cores: Cores, table: Table) -> None:
    """A new table comes into force."""
    give_index(cores, table)
    sent(cores.step)


def erased(cores: Cores) -> list[tuple[object, ...]]:
    """Names of the rows that are removed within a few heartbeats."""
    tick(cores.step, cores.owner.owed_events.tick, 8)
    persists = [effect for effect in make_durable(cores.step) if isinstance(effect, Persist)]
    return [write.name for persist in persists for write in persist.writes if write.value is None]


def test_owner_asks_the_members_after_it_for_copies() -> None:
    """At once for those that an acknowledgement needs; all r successors hold what is still owed a heartbeat later."""
    cores, owed_event = member_at(32, TABLE), owed_event_of()
    tick(cores.step, cores.owner.owed_events.tick)
    cores.owner.owed_events.replicate(cores.owner.hold(owed_event, Kind.STORE))
    assert sent(cores.step) == [(at(place), keep(owed_event)) for place in (64, 96)]
    make_durable(cores.step)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_event))
    sent(cores.step)
    tick(cores.step, cores.owner.owed_events.tick, 2)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(128)]


def test_copy_is_stated_only_when_it_is_durable() -> None:
    """Kept is a promise that survives a crash; before the disk has it, nothing is said."""
    cores, owed_event = member_at(64, TABLE), owed_event_of()
    cores.owner.on_store_copy(at(32), keep(owed_event))
    assert sent(cores.step) == []
    effects = cores.step.close()
    assert sent(cores.step) == []
    persist = Persist(
        effects[-1].number if isinstance(effects[-1], Persist) else 0,
        [Write(OWED_EVENT_NAMESPACE, owed_event.id, StoredEvent(cores.step.wall_us, owed_event))],
    )
    assert effects[-1] == persist
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), kept(owed_event))]


def test_repeated_request_is_confirmed_again_but_not_before_the_first_is_durable() -> None:
    """The repetition writes nothing, yet its answer states a durable copy too."""
    cores, owed_event = member_at(64, TABLE), owed_event_of()
    cores.owner.on_store_copy(at(32), keep(owed_event))
    (persist,) = [effect for effect in cores.step.close() if isinstance(effect, Persist)]
    cores.owner.on_store_copy(at(32), keep(owed_event))
    assert sent(cores.step) == []
    cores.step.close()
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), kept(owed_event))] * 2


def test_what_one_copy_knows_to_be_settled_is_settled() -> None:
    """Of two copies the smaller debt counts; a debt that was paid never comes back."""
    owed_event = owed_event_of(owed=3)
    first, second, third = owed_event.owed
    cores = holding(64, owed_event)
    paid = OwedEvent(owed_event.id, owed_event.timed, (second, third), 3, (), owed_event.publisher)
    cores.owner.on_store_copy(at(32), keep(paid))
    assert list(cores.owner.owed_events.held[owed_event.id].owed.values()) == [second, third]
    other = OwedEvent(owed_event.id, owed_event.timed, (first, third), 3, (), owed_event.publisher)
    cores.owner.on_store_copy(at(32), keep(other))
    assert list(cores.owner.owed_events.held[owed_event.id].owed.values()) == [third]


def test_discharged_owed_event_is_not_taken_again() -> None:
    """Whoever paid an owed event says so instead of holding, and paying, it again."""
    cores, owed_event = member_at(32, table_of(32)), owed_event_of()
    cores.owner.owed_events.discharge(cores.owner.hold(owed_event, Kind.STORE))
    sent(cores.step)
    cores.owner.on_store_copy(at(64), keep(owed_event))
    assert sent(cores.step) == [(at(64), Discharged(CLUSTER, (owed_event.id,)))]
    assert cores.owner.owed_events.held == {}


def test_former_holder_lets_go_when_as_many_present_holders_hold_it_as_an_acknowledgement_needs() -> None:
    """Hand-over: it asks the owner by the new table and the members after it, and keeps its copy until they have it."""
    owed_event = owed_event_of()
    cores = former_holder(owed_event)
    tick(cores.step, cores.owner.owed_events.tick)
    asked = sent_of(cores.step, StoreCopy)
    assert [to for to, _ in asked] == [at(32), at(40), at(48)]
    assert {told.id for _, ask in asked for told in ask.owed_events} == {owed_event.id}
    for place in (32, 40):
        cores.owner.on_copy_stored(at(place), kept(owed_event, table=MOVED))
        tick(cores.step, cores.owner.owed_events.tick, 20)
        assert owed_event.id in cores.owner.owed_events.held
    cores.owner.on_copy_stored(at(56), kept(owed_event, table=MOVED))
    tick(cores.step, cores.owner.owed_events.tick)
    assert cores.owner.owed_events.held == {}
    assert erased(cores) == [owed_event.id]


def test_former_holder_waits_for_the_owners_own_copy() -> None:
    """Without it the event has holders, and no member that would pay what it owes."""
    owed_event = owed_event_of()
    cores = former_holder(owed_event)
    tick(cores.step, cores.owner.owed_events.tick)
    for place in (40, 48, 56):
        cores.owner.on_copy_stored(at(place), kept(owed_event, table=MOVED))
    tick(cores.step, cores.owner.owed_events.tick, 2)
    assert owed_event.id in cores.owner.owed_events.held


def test_copy_stated_by_an_older_table_does_not_let_a_former_holder_go() -> None:
    """Its holder may be a former one by that table, and rely on ours: both would let go."""
    owed_event = owed_event_of()
    cores = former_holder(owed_event)
    tick(cores.step, cores.owner.owed_events.tick)
    for place in (32, 40, 48):
        cores.owner.on_copy_stored(at(place), kept(owed_event, table=TABLE))
    sent(cores.step)
    tick(cores.step, cores.owner.owed_events.tick, CONFIG.pubsub.retry_ticks)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(32), at(40), at(48)]
    assert owed_event.id in cores.owner.owed_events.held


def test_holder_keeps_its_copy_though_the_owner_holds_it() -> None:
    """A replica is let go only by a discharge."""
    owed_event = owed_event_of()
    cores = holding(64, owed_event)
    cores.owner.on_copy_stored(at(32), kept(owed_event))
    tick(cores.step, cores.owner.owed_events.tick, 200)
    assert owed_event.id in cores.owner.owed_events.held


def test_new_table_makes_copies_be_counted_anew() -> None:
    """A member may have come back without its disk: what it stated before the change counts no more."""
    cores, owed_event = member_at(32, TABLE), owed_event_of()
    tick(cores.step, cores.owner.owed_events.tick)
    cores.owner.hold(owed_event, Kind.STORE)
    make_durable(cores.step)
    for place in (64, 96, 128):
        cores.owner.on_copy_stored(at(place), kept(owed_event))
    sent(cores.step)
    tick(cores.step, cores.owner.owed_events.tick, CONFIG.pubsub.retry_ticks)
    assert sent_of(cores.step, StoreCopy) == []
    move(cores, table_of(32, 64, 96, 128, 160, 192, n=2))
    tick(cores.step, cores.owner.owed_events.tick)
    assert list(cores.owner.owed_events.held[owed_event.id].held_by) == [node_at(32)]
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64), at(96), at(128)]


def test_lost_request_is_repeated_to_those_who_have_not_confirmed() -> None:
    """And carries the age that the event has by then, and only what is still owed."""
    cores, owed_event = member_at(32, TABLE), owed_event_of(owed=2, age_us=7)
    tick(cores.step, cores.owner.owed_events.tick)
    held = cores.owner.hold(owed_event, Kind.STORE)
    cores.owner.owed_events.replicate(held)
    make_durable(cores.step)
    cores.owner.on_copy_stored(at(96), kept(owed_event))
    held.owed.pop(owed_event.owed[0].subscription)
    sent(cores.step)
    tick(cores.step, cores.owner.owed_events.tick)
    assert sent_of(cores.step, StoreCopy) == []
    tick(cores.step, cores.owner.owed_events.tick)
    age = Micros(7 + 2 * TICK_US)
    aged = OwedEvent(
        owed_event.id, Timed(owed_event.timed.event, age), owed_event.owed[1:], 2, (), owed_event.publisher
    )
    assert sent_of(cores.step, StoreCopy) == [(at(64), keep(aged)), (at(128), keep(aged))]
    tick(cores.step, cores.owner.owed_events.tick, CONFIG.pubsub.retry_ticks - 1)
    assert sent_of(cores.step, StoreCopy) == []
    tick(cores.step, cores.owner.owed_events.tick)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64), at(128)]


def test_discharge_removes_the_row_and_tells_every_holder() -> None:
    """Present holders, and whoever is known to hold it from before."""
    cores, owed_event = member_at(32, TABLE), owed_event_of()
    held = cores.owner.hold(owed_event, Kind.STORE)
    make_durable(cores.step)
    held.held_by[node_at(192)] = None
    cores.owner.owed_events.discharge(held)
    assert cores.owner.owed_events.held == {}
    assert cores.owner.owed_events.all_of_event(owed_event.id.event) == []
    tick(cores.step, cores.owner.owed_events.tick, 2)
    said = Discharged(CLUSTER, (owed_event.id,))
    assert sent_of(cores.step, Discharged) == [(at(place), said) for place in (64, 96, 128, 192)]
    assert erased(cores) == [owed_event.id]


def test_owner_that_hears_of_a_discharge_tells_the_other_holders() -> None:
    """An owner before us settled it; its replicas would hold it for ever if nobody told them."""
    cores, owed_event = member_at(32, TABLE), owed_event_of()
    cores.owner.hold(owed_event, Kind.COPY)
    make_durable(cores.step)
    cores.owner.owed_events.on_discharged(at(64), Discharged(CLUSTER, (owed_event.id,)))
    assert cores.owner.owed_events.held == {}
    assert cores.owner.owed_events.is_known(owed_event.id)
    tick(cores.step, cores.owner.owed_events.tick, 2)
    assert [to for to, _ in sent_of(cores.step, Discharged)] == [at(64), at(96), at(128)]


def test_stale_replica_asks_its_owner() -> None:
    """A discharge may be lost: a replica that heard nothing for long shows its copy to the owner, once in a while."""
    owed_event = owed_event_of()
    cores = holding(64, owed_event)
    tick(cores.step, cores.owner.owed_events.tick, 59)
    assert sent_of(cores.step, StoreCopy) == []
    tick(cores.step, cores.owner.owed_events.tick, 2)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(32)]


def test_restarted_holder_still_holds_what_was_durable() -> None:
    """It shows it to the owner, and counts its own copy."""
    owed_event = owed_event_of()
    cores = member_at(64, TABLE)
    cores.owner.owed_events.recover([StoredEvent(cores.step.wall_us, owed_event)])
    assert list(cores.owner.owed_events.held[owed_event.id].held_by) == [node_at(64)]
    tick(cores.step, cores.owner.owed_events.tick)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(32)]


@pytest.mark.parametrize(
    "message", [StoreCopy(ELSEWHERE, (owed_event_of(),)), Discharged(ELSEWHERE, (owed_event_of(2).id,))]
)
def test_other_clusters_have_no_say(message: StoreCopy | Discharged) -> None:
    """A message of another ring neither adds nor removes an owed event."""
    standing = owed_event_of(2)
    cores = holding(64, standing)
    if isinstance(message, StoreCopy):
        cores.owner.on_store_copy(at(32), message)
    else:
        cores.owner.owed_events.on_discharged(at(32), message)
    assert list(cores.owner.owed_events.held) == [standing.id]
    assert sent(cores.step) == []


def test_same_event_matched_differently_is_two_owed_events() -> None:
    """Two owners parted by a cut: each debt is paid on its own, in whatever order the matches were found."""
    one, other = owed_event_of(owed=1), owed_event_of(owed=2)
    assert one.id != other.id
    assert owed_event_id(one.id.event, other.owed[::-1]) == other.id
    cores = holding(64, one)
    cores.owner.on_store_copy(at(32), keep(other))
    assert [held.owed_event for held in cores.owner.owed_events.all_of_event(one.id.event)] == [one, other]


def test_replica_says_in_the_trace_that_it_keeps_once_durable() -> None:
    """S5 counts those records: no record without a durable row."""
    cores, owed_event = member_at(64, TABLE), owed_event_of()
    cores.owner.on_store_copy(at(32), keep(owed_event))
    assert records_of(cores.step, Kind.COPY) == []
    make_durable(cores.step)
    assert [record.event for record in records_of(cores.step, Kind.COPY)] == [owed_event.id.event]


def test_heavy_owed_events_are_kept_a_few_at_a_time() -> None:
    """By bytes, attributes and all that they owe included."""
    cores = member_at(32, TABLE)
    for n in range(1, 9):
        owed_event = owed_event_of(n)
        event = msgspec.structs.replace(owed_event.timed.event, attributes={"a": "x" * 100_000})
        heavy = msgspec.structs.replace(owed_event, timed=Timed(event, Micros(0)))
        cores.owner.owed_events.replicate(cores.owner.hold(heavy, Kind.STORE))
    make_durable(cores.step)
    sent(cores.step)
    tick(cores.step, cores.owner.owed_events.tick, CONFIG.pubsub.retry_ticks)
    keeps = [keep for to, keep in sent_of(cores.step, StoreCopy) if to == at(64)]
    assert [len(keep.owed_events) for keep in keeps] == [2, 2, 2, 2]


def test_many_discharges_are_told_in_several_messages() -> None:
    """After a burst there may be tens of thousands."""
    cores = member_at(32, TABLE)
    for n in range(1, 5_001):
        held = cores.owner.hold(owed_event_of(n, owed=0), Kind.STORE)
        held.asked = {node_at(64): None}
        cores.owner.owed_events.discharge(held)
    tick(cores.step, cores.owner.owed_events.tick, 2)
    assert [len(told.owed_events) for _, told in sent_of(cores.step, Discharged)] == [4_096, 904]


TTL_US, TOO_OLD_US = CONFIG.pubsub.undelivered_ttl_us, CONFIG.pubsub.too_old_us


@pytest.mark.parametrize(("down_us", "grown_us"), [(90_000_000, 90_000_000), (0, 0), (-90_000_000, 0)])
def test_what_was_durable_grows_older_while_the_process_is_down(down_us: int, grown_us: int) -> None:
    """By the machine's own wall clock; one that was set back makes nothing younger than it was."""
    cores, owed_event = member_at(64, TABLE), owed_event_of(age_us=1_000_000)
    cores.owner.recover([StoredEvent(cores.step.wall_us - down_us, owed_event)])
    (held,) = cores.owner.owed_events.held.values()
    assert cores.step.now - held.born_us == 1_000_000 + grown_us


def test_what_has_grown_too_old_meanwhile_is_dropped_with_a_record() -> None:
    """Others have discharged it, or given it up, and may remember neither."""
    cores, owed_event = member_at(64, TABLE), owed_event_of()
    cores.owner.recover([StoredEvent(cores.step.wall_us - TOO_OLD_US - 1, owed_event)])
    assert not cores.owner.owed_events.held
    (record,) = records_of(cores.step, Kind.DROP)
    assert (record.event, record.reason) == (owed_event.id.event, "older_than_ttl")


def test_where_copies_meet_the_larger_age_counts() -> None:
    """A clock that was set back while its machine was down makes its copy young; another copy knows better."""
    owed_event = owed_event_of(age_us=5_000_000)
    cores = holding(64, owed_event)
    for age_us, oldest_us in ((9_000_000, 9_000_000), (1_000_000, 9_000_000)):
        cores.owner.on_store_copy(at(32), keep(owed_event_of(age_us=age_us)))
        (held,) = cores.owner.owed_events.held.values()
        assert cores.step.now - held.born_us == oldest_us


def test_an_owner_takes_no_debt_that_it_may_have_paid_and_forgotten() -> None:
    """The holder hears that it is discharged; a member that is not the owner holds it for its owner to judge."""
    owner, holder, old = member_at(32, TABLE), member_at(64, TABLE), owed_event_of(age_us=TOO_OLD_US + 1)
    for cores in (owner, holder):
        cores.owner.on_store_copy(at(96), keep(old))
    assert not owner.owner.owed_events.held
    assert sent_of(owner.step, Discharged) == [(at(96), Discharged(CLUSTER, (old.id,)))]
    assert list(holder.owner.owed_events.held) == [old.id]


def test_an_event_is_given_up_on_time_whatever_its_owner_waits_for() -> None:
    """Its first payment too: a new owner of an event beyond its time delivers nothing."""
    late = owed_event_of(age_us=TTL_US + 1)
    cores = holding(32, late, told_by=64)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(late))
    assert not cores.owner.owed_events.held
    assert {record.outcome for record in records_of(cores.step, Kind.OUTCOME)} == {"unreachable"}
