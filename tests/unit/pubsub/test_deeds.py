"""Deeds: an event that is owed is never let go before the owner holds it, or it owes nothing."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.content import Timed
from p2psub.model.digests import deed_id
from p2psub.model.effects import Persist, Write
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Deed, Discharged, Keep, Kept, Obligation
from p2psub.model.places import Table
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from p2psub.pubsub.deeds import DEED_ROOM
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


def deed_of(sequence: int = 1, owed: int = 2, age_us: int = 0, topic: str = TOPIC) -> Deed:
    """An event that is owed to some subscriptions of another cluster."""
    event = event_of(topic, sequence)
    records = [subscription_of(on_topic(topic), n, cluster=ELSEWHERE) for n in range(1, owed + 1)]
    obligations = tuple(Obligation(record.id, ELSEWHERE) for record in records)
    return Deed(deed_id(event.id, obligations), Timed(event, Micros(age_us)), obligations, owed, (), at(9))


def keep(*deeds: Deed) -> Keep:
    """A request to hold deeds."""
    return Keep(CLUSTER, deeds)


def kept(*deeds: Deed) -> Kept:
    """A durable copy, stated."""
    return Kept(CLUSTER, tuple(deed.id for deed in deeds))


def holding(place: int, deed: Deed, table: Table = TABLE, told_by: int = 32) -> Cores:
    """A member that holds a deed durably."""
    cores = member_at(place, table)
    cores.deeds.tick()
    cores.deeds.on_keep(at(told_by), keep(deed))
    make_durable(cores.step)
    sent(cores.step)
    return cores


def move(cores: Cores, table: Table) -> None:
    """A new table comes into force."""
    give_index(cores, table)
    sent(cores.step)


def erased(cores: Cores) -> list[tuple[object, ...]]:
    """Names of the rows that are removed within a few heartbeats."""
    tick(cores.step, cores.deeds.tick, 8)
    persists = [effect for effect in make_durable(cores.step) if isinstance(effect, Persist)]
    return [write.name for persist in persists for write in persist.writes if write.value is None]


def test_owner_asks_the_members_after_it_for_copies() -> None:
    """At once for those that an acknowledgement needs; all r successors hold what is still owed a heartbeat later."""
    cores, deed = member_at(32, TABLE), deed_of()
    tick(cores.step, cores.deeds.tick)
    cores.deeds.replicate(cores.deeds.take(deed, Kind.STORE))
    assert sent(cores.step) == [(at(place), keep(deed)) for place in (64, 96)]
    make_durable(cores.step)
    for place in (64, 96):
        cores.deeds.on_kept(at(place), kept(deed))
    sent(cores.step)
    tick(cores.step, cores.deeds.tick, 2)
    assert [to for to, _ in sent_of(cores.step, Keep)] == [at(128)]


def test_copy_is_stated_only_when_it_is_durable() -> None:
    """Kept is a promise that survives a crash; before the disk has it, nothing is said."""
    cores, deed = member_at(64, TABLE), deed_of()
    cores.deeds.on_keep(at(32), keep(deed))
    assert sent(cores.step) == []
    effects = cores.step.close()
    assert sent(cores.step) == []
    persist = Persist(effects[-1].number if isinstance(effects[-1], Persist) else 0, [Write(DEED_ROOM, deed.id, deed)])
    assert effects[-1] == persist
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), kept(deed))]


def test_repeated_request_is_confirmed_again_but_not_before_the_first_is_durable() -> None:
    """The repetition writes nothing, yet its answer states a durable copy too."""
    cores, deed = member_at(64, TABLE), deed_of()
    cores.deeds.on_keep(at(32), keep(deed))
    (persist,) = [effect for effect in cores.step.close() if isinstance(effect, Persist)]
    cores.deeds.on_keep(at(32), keep(deed))
    assert sent(cores.step) == []
    cores.step.close()
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), kept(deed))] * 2


def test_what_one_copy_knows_to_be_settled_is_settled() -> None:
    """Of two copies the smaller debt counts; a debt that was paid never comes back."""
    deed = deed_of(owed=3)
    first, second, third = deed.owed
    cores = holding(64, deed)
    paid = Deed(deed.id, deed.timed, (second, third), 3, (), deed.publisher)
    cores.deeds.on_keep(at(32), keep(paid))
    assert list(cores.deeds.held[deed.id].owed.values()) == [second, third]
    other = Deed(deed.id, deed.timed, (first, third), 3, (), deed.publisher)
    cores.deeds.on_keep(at(32), keep(other))
    assert list(cores.deeds.held[deed.id].owed.values()) == [third]


def test_discharged_deed_is_not_taken_again() -> None:
    """Whoever paid a deed says so instead of holding, and paying, it again."""
    cores, deed = member_at(32, table_of(32)), deed_of()
    cores.owning.finish(cores.deeds.take(deed, Kind.STORE))
    sent(cores.step)
    cores.deeds.on_keep(at(64), keep(deed))
    assert sent(cores.step) == [(at(64), Discharged(CLUSTER, (deed.id,)))]
    assert cores.deeds.held == {}


def test_holder_gives_the_deed_to_a_new_owner_before_it_lets_go() -> None:
    """Hand-over: the deed goes to the owner by the new table, and is kept until the owner has it durably."""
    deed = deed_of()
    cores = holding(128, deed)
    # Three members join before it: 128 is no holder of that key any more.
    move(cores, table_of(32, 40, 48, 56, 64, 96, 128, 160, 192, n=2))
    tick(cores.step, cores.deeds.tick)
    ((to, asked),) = sent_of(cores.step, Keep)
    assert to == at(32)
    assert [told.id for told in asked.deeds] == [deed.id]
    tick(cores.step, cores.deeds.tick, 20)
    assert deed.id in cores.deeds.held
    cores.deeds.on_kept(at(32), kept(deed))
    tick(cores.step, cores.deeds.tick)
    assert cores.deeds.held == {}
    assert erased(cores) == [deed.id]


def test_word_of_another_holder_is_not_the_owners() -> None:
    """Only the owner's own copy lets a former holder off."""
    deed = deed_of()
    cores = holding(128, deed)
    move(cores, table_of(32, 40, 48, 56, 64, 96, 128, 160, 192, n=2))
    tick(cores.step, cores.deeds.tick)
    for place in (40, 48, 56):
        cores.deeds.on_kept(at(place), kept(deed))
    tick(cores.step, cores.deeds.tick, 2)
    assert deed.id in cores.deeds.held


def test_holder_keeps_its_copy_though_the_owner_holds_it() -> None:
    """A replica is let go only by a discharge."""
    deed = deed_of()
    cores = holding(64, deed)
    cores.deeds.on_kept(at(32), kept(deed))
    tick(cores.step, cores.deeds.tick, 200)
    assert deed.id in cores.deeds.held


def test_new_table_makes_copies_be_counted_anew() -> None:
    """A member may have come back without its disk: what it stated before the change counts no more."""
    cores, deed = member_at(32, TABLE), deed_of()
    tick(cores.step, cores.deeds.tick)
    cores.deeds.take(deed, Kind.STORE)
    make_durable(cores.step)
    for place in (64, 96, 128):
        cores.deeds.on_kept(at(place), kept(deed))
    sent(cores.step)
    tick(cores.step, cores.deeds.tick, CONFIG.pubsub.retry_ticks)
    assert sent_of(cores.step, Keep) == []
    move(cores, table_of(32, 64, 96, 128, 160, 192, n=2))
    tick(cores.step, cores.deeds.tick)
    assert list(cores.deeds.held[deed.id].held_by) == [node_at(32)]
    assert [to for to, _ in sent_of(cores.step, Keep)] == [at(64), at(96), at(128)]


def test_lost_request_is_repeated_to_those_who_have_not_confirmed() -> None:
    """And carries the age that the event has by then, and only what is still owed."""
    cores, deed = member_at(32, TABLE), deed_of(owed=2, age_us=7)
    tick(cores.step, cores.deeds.tick)
    held = cores.deeds.take(deed, Kind.STORE)
    cores.deeds.replicate(held)
    make_durable(cores.step)
    cores.deeds.on_kept(at(96), kept(deed))
    held.owed.pop(deed.owed[0].subscription)
    sent(cores.step)
    tick(cores.step, cores.deeds.tick)
    assert sent_of(cores.step, Keep) == []
    tick(cores.step, cores.deeds.tick)
    age = Micros(7 + 2 * TICK_US)
    aged = Deed(deed.id, Timed(deed.timed.event, age), deed.owed[1:], 2, (), deed.publisher)
    assert sent_of(cores.step, Keep) == [(at(64), keep(aged)), (at(128), keep(aged))]
    tick(cores.step, cores.deeds.tick, CONFIG.pubsub.retry_ticks - 1)
    assert sent_of(cores.step, Keep) == []
    tick(cores.step, cores.deeds.tick)
    assert [to for to, _ in sent_of(cores.step, Keep)] == [at(64), at(128)]


def test_discharge_removes_the_row_and_tells_every_holder() -> None:
    """Present holders, and whoever is known to hold it from before."""
    cores, deed = member_at(32, TABLE), deed_of()
    held = cores.deeds.take(deed, Kind.STORE)
    make_durable(cores.step)
    held.held_by[node_at(192)] = None
    cores.deeds.discharge(held)
    assert cores.deeds.held == {}
    assert cores.deeds.all_of_event(deed.id.event) == []
    tick(cores.step, cores.deeds.tick, 2)
    said = Discharged(CLUSTER, (deed.id,))
    assert sent_of(cores.step, Discharged) == [(at(place), said) for place in (64, 96, 128, 192)]
    assert erased(cores) == [deed.id]


def test_owner_that_hears_of_a_discharge_tells_the_other_holders() -> None:
    """An owner before us settled it; its replicas would hold it for ever if nobody told them."""
    cores, deed = member_at(32, TABLE), deed_of()
    cores.deeds.take(deed, Kind.KEEP)
    make_durable(cores.step)
    cores.deeds.on_discharged(at(64), Discharged(CLUSTER, (deed.id,)))
    assert cores.deeds.held == {}
    assert cores.owning.is_finished(deed.id)
    tick(cores.step, cores.deeds.tick, 2)
    assert [to for to, _ in sent_of(cores.step, Discharged)] == [at(64), at(96), at(128)]


def test_stale_replica_asks_its_owner() -> None:
    """A discharge may be lost: a replica that heard nothing for long shows its copy to the owner, once in a while."""
    deed = deed_of()
    cores = holding(64, deed)
    tick(cores.step, cores.deeds.tick, 59)
    assert sent_of(cores.step, Keep) == []
    tick(cores.step, cores.deeds.tick, 2)
    assert [to for to, _ in sent_of(cores.step, Keep)] == [at(32)]


def test_restarted_holder_still_holds_what_was_durable() -> None:
    """It shows it to the owner, and counts its own copy."""
    deed = deed_of()
    cores = member_at(64, TABLE)
    cores.deeds.recover([deed])
    assert list(cores.deeds.held[deed.id].held_by) == [node_at(64)]
    tick(cores.step, cores.deeds.tick)
    assert [to for to, _ in sent_of(cores.step, Keep)] == [at(32)]


@pytest.mark.parametrize("message", [Keep(ELSEWHERE, (deed_of(),)), Discharged(ELSEWHERE, (deed_of(2).id,))])
def test_other_clusters_have_no_say(message: Keep | Discharged) -> None:
    """A message of another ring neither adds nor removes a deed."""
    standing = deed_of(2)
    cores = holding(64, standing)
    if isinstance(message, Keep):
        cores.deeds.on_keep(at(32), message)
    else:
        cores.deeds.on_discharged(at(32), message)
    assert list(cores.deeds.held) == [standing.id]
    assert sent(cores.step) == []


def test_same_event_matched_differently_is_two_deeds() -> None:
    """Two owners parted by a cut: each debt is paid on its own, in whatever order the matches were found."""
    one, other = deed_of(owed=1), deed_of(owed=2)
    assert one.id != other.id
    assert deed_id(one.id.event, other.owed[::-1]) == other.id
    cores = holding(64, one)
    cores.deeds.on_keep(at(32), keep(other))
    assert [held.deed for held in cores.deeds.all_of_event(one.id.event)] == [one, other]


def test_replica_says_in_the_trace_that_it_keeps_once_durable() -> None:
    """S5 counts those records: no record without a durable row."""
    cores, deed = member_at(64, TABLE), deed_of()
    cores.deeds.on_keep(at(32), keep(deed))
    assert records_of(cores.step, Kind.KEEP) == []
    make_durable(cores.step)
    assert [record.event for record in records_of(cores.step, Kind.KEEP)] == [deed.id.event]


def test_heavy_deeds_are_kept_a_few_at_a_time() -> None:
    """By bytes, attributes and all that they owe included."""
    cores = member_at(32, TABLE)
    for n in range(1, 9):
        deed = deed_of(n)
        event = msgspec.structs.replace(deed.timed.event, attributes={"a": "x" * 100_000})
        heavy = msgspec.structs.replace(deed, timed=Timed(event, Micros(0)))
        cores.deeds.replicate(cores.deeds.take(heavy, Kind.STORE))
    make_durable(cores.step)
    sent(cores.step)
    tick(cores.step, cores.deeds.tick, CONFIG.pubsub.retry_ticks)
    keeps = [keep for to, keep in sent_of(cores.step, Keep) if to == at(64)]
    assert [len(keep.deeds) for keep in keeps] == [2, 2, 2, 2]


def test_many_discharges_are_told_in_several_messages() -> None:
    """After a burst there may be tens of thousands."""
    cores = member_at(32, TABLE)
    for n in range(1, 5_001):
        held = cores.deeds.take(deed_of(n, owed=0), Kind.STORE)
        held.asked = {node_at(64): None}
        cores.deeds.discharge(held)
    tick(cores.step, cores.deeds.tick, 2)
    assert [len(told.deeds) for _, told in sent_of(cores.step, Discharged)] == [4_096, 904]
