"""Owed events on the log: they leave memory, are read when they are due, and one that cannot be read comes back."""

from __future__ import annotations

import pytest

from p2psub.model.instants import SECOND_US
from p2psub.model.messages.pubsub import Acknowledge, Acknowledged, CopyLost, CopyRefused, Deliver, Route, StoreCopy
from p2psub.model.messages.shards import MatchRequest
from p2psub.model.place_sets import places_in
from p2psub.model.reasons import Reason
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    SteppedDisk,
    at,
    event_of,
    make_durable,
    member_at,
    parcel_of,
    sent,
    sent_of,
    tick,
)
from tests.unit.owner.copies import ELSEWHERE, TABLE, holding, keep, kept, owed_parcel_of, places_of
from tests.unit.owner.owners import HERE, TOPIC, confirm, owner, publish, stored

PUT_AWAY_TICKS = 4


def bodies_of(cores: Cores) -> dict[int, object]:
    """The packs that a member can read."""
    assert isinstance(cores.step, SteppedDisk)
    return cores.step.bodies


def answers(cores: Cores) -> list[Acknowledged]:
    """What the publisher was told since the last look."""
    return [said for _, message in sent_of(cores.step, Acknowledge) for said in message.outcomes]


def in_memory(cores: Cores) -> list[bool]:
    """Of each piece that a member holds, whether its events are in memory."""
    return [held.parcel is not None for held in cores.owner.owed_parcels.log]


def test_events_leave_memory_after_two_heartbeats_and_are_read_when_they_are_due() -> None:
    """The store has them; what is sent again is what was published."""
    cores, parcel = stored(HERE)
    assert in_memory(cores) == [True]
    sent(cores.step)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks - 1)
    assert in_memory(cores) == [False]
    sent(cores.step)
    tick(cores.step, cores.owner.tick)
    (again,) = [message for _, message in sent(cores.step) if not isinstance(message, StoreCopy)]
    assert getattr(again, "parcel", None) == parcel
    assert in_memory(cores) == [False]


def test_what_is_not_durable_stays_in_memory() -> None:
    """The store could not give it back yet."""
    cores, owed_parcel = member_at(64, TABLE), owed_parcel_of()
    cores.owner.on_store_copy(at(32), keep(owed_parcel))
    tick(cores.step, cores.owner.owed_parcels.tick, 2 * PUT_AWAY_TICKS)
    assert in_memory(cores) == [True]


def test_body_that_cannot_be_read_is_let_go_and_asked_for() -> None:
    """The other holders hear of it at once; what is left of the pack is erased."""
    cores, _ = stored(HERE)
    (held,) = cores.owner.owed_parcels.log
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks - 1)
    bodies_of(cores).clear()
    sent(cores.step)
    tick(cores.step, cores.owner.tick)
    lost = CopyLost(CLUSTER, ((held.id, b"\x01"),))
    assert sent_of(cores.step, CopyLost) == [(at(place), lost) for place in (64, 96, 128)]
    assert cores.owner.owed_parcels.log.count == 0


def test_holder_gives_a_lost_copy_back_at_its_next_tick() -> None:
    """Though the owner had stated it, and nothing else would make the holder ask for long."""
    owed_parcel = owed_parcel_of()
    cores = holding(64, owed_parcel, told_by=32)
    tick(cores.step, cores.owner.owed_parcels.tick, 8)
    sent(cores.step)
    cores.owner.owed_parcels.on_copy_lost(at(32), CopyLost(CLUSTER, (places_of(owed_parcel),)))
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(32)]


def test_owner_asks_a_holder_that_lost_its_copy_again() -> None:
    """It does not count as a copy any more."""
    cores, parcel = stored(HERE)
    (held,) = cores.owner.owed_parcels.log
    tick(cores.step, cores.owner.tick, 8)
    confirm(cores, parcel, 128)
    sent(cores.step)
    copies = held.copies
    cores.owner.owed_parcels.on_copy_lost(at(64), CopyLost(CLUSTER, ((held.id, b"\x01"),)))
    assert held.copies == copies - 1
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64)]


def test_other_clusters_lose_and_refuse_nothing_here() -> None:
    """Their words change no copy."""
    cores, _ = stored(HERE)
    (held,) = cores.owner.owed_parcels.log
    cores.owner.owed_parcels.on_copy_lost(at(64), CopyLost(ELSEWHERE, ((held.id, b"\x01"),)))
    cores.owner.owed_parcels.on_copy_refused(at(64), CopyRefused(ELSEWHERE, ((held.id, b"\x01"),)))
    assert (held.copies, held.refused_by) == (3, {})


# At the door


def test_owner_with_a_full_disk_refuses_before_anybody_is_asked() -> None:
    """Neither a shard for matches nor a member for a copy: a refusal after that might be a lie."""
    cores, parcel = owner(HERE), parcel_of(event_of(TOPIC))
    cores.step.disk_is_full = True
    publish(cores, parcel)
    assert [said.refused for said in answers(cores)] == [Reason.DISK_FULL]
    assert [message for _, message in sent(cores.step) if isinstance(message, StoreCopy | MatchRequest)] == []
    cores.step.disk_is_full = False
    publish(cores, parcel_of(event_of(TOPIC, 2), number=2))
    assert cores.owner.owed_parcels.log.count == 1


def test_refusal_of_a_full_disk_stands_when_the_message_comes_twice() -> None:
    """Its publisher has told the application; what a publisher repeats of itself it still hopes for."""
    cores, parcel = owner(HERE), parcel_of(event_of(TOPIC))
    cores.step.disk_is_full = True
    publish(cores, parcel)
    assert [said.refused for said in answers(cores)] == [Reason.DISK_FULL]
    cores.step.disk_is_full = False
    tick(cores.step, cores.owner.tick, 8)
    publish(cores, parcel)
    assert [said.refused for said in answers(cores)] == [Reason.DISK_FULL]
    assert cores.owner.owed_parcels.log.count == 0
    publish(cores, parcel, is_repeated=True)
    assert cores.owner.owed_parcels.log.count == 1


def test_repeated_publish_on_a_full_disk_may_come_again() -> None:
    """Its publisher does not take that for the last word, so the owner need not remember it."""
    cores, parcel = owner(HERE), parcel_of(event_of(TOPIC))
    cores.step.disk_is_full = True
    publish(cores, parcel, is_repeated=True)
    assert [said.refused for said in answers(cores)] == [Reason.DISK_FULL]
    cores.step.disk_is_full = False
    publish(cores, parcel)
    assert cores.owner.owed_parcels.log.count == 1


def test_full_disk_does_not_forget_what_was_begun() -> None:
    """A repeated publish of what is held is no new one: it waits for its copies, as before."""
    cores, parcel = owner(HERE), parcel_of(event_of(TOPIC))
    publish(cores, parcel)
    cores.step.disk_is_full = True
    publish(cores, parcel)
    assert answers(cores) == []
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)
    assert [(said.copies, said.refused) for said in answers(cores)] == [(3, None)]


def test_holder_with_a_full_disk_says_no_and_another_is_asked() -> None:
    """The owner does not wait for it; what the holder has already it still states."""
    known, new = owed_parcel_of(1), owed_parcel_of(2)
    cores = holding(64, known)
    cores.step.disk_is_full = True
    cores.owner.on_store_copy(at(32), keep(known, new))
    make_durable(cores.step)
    assert sent(cores.step) == [(at(32), CopyRefused(CLUSTER, (places_of(new),))), (at(32), kept(known))]

    asking, parcel = owner(HERE), parcel_of(event_of(TOPIC))
    publish(asking, parcel)
    make_durable(asking.step)
    assert [to for to, _ in sent_of(asking.step, StoreCopy)] == [at(64), at(96)]
    (held,) = asking.owner.owed_parcels.log
    asking.owner.owed_parcels.on_copy_refused(at(64), CopyRefused(CLUSTER, ((held.id, b"\x01"),)))
    assert [to for to, _ in sent_of(asking.step, StoreCopy)] == [at(128)]
    confirm(asking, parcel, 96, 128)
    assert [said.copies for said in answers(asking)] == [3]


# Retention


def test_retained_events_are_read_before_they_are_discharged() -> None:
    """A late subscriber is owed them, though they had left memory."""
    event = event_of(TOPIC, retain_us=3600 * SECOND_US)
    cores, parcel = owner(HERE), parcel_of(event)
    publish(cores, parcel)
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)
    tick(cores.step, cores.owner.tick, 2 * PUT_AWAY_TICKS)
    assert in_memory(cores) == [False]
    for held in cores.owner.owed_parcels.log:
        cores.owner.owed_parcels.discharge(held)
    assert cores.owner.owed_parcels.log.count == 0
    assert len(cores.owner.owed_parcels.discharges.recent) == 1


@pytest.mark.parametrize("late", [False, True])
def test_deliveries_carry_just_what_is_owed(late: bool) -> None:
    """From memory or from the store."""
    parcel = parcel_of(event_of(TOPIC, 1), event_of(TOPIC, 2))
    cores, _ = stored(HERE, parcel=parcel)
    if not late:
        (deliver,) = [m for _, m in sent(cores.step) if isinstance(m, Deliver)]
        assert places_in(deliver.parcel.places) == [0, 1]
    else:
        sent(cores.step)
        (held,) = cores.owner.owed_parcels.log
        held.settle(HERE.id, 0b01)
        tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks)
        ((_, route),) = sent_of(cores.step, Route)
        assert route.parcel == parcel.part(0b10)
