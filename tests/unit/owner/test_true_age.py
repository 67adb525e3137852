"""How old what is held is: time that its holder was down counts, and where copies meet the larger age."""

from __future__ import annotations

import pytest

from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Deliver, Discharged, Obligation, OwedParcel, Route
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    event_of,
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
from tests.unit.owner.copies import (
    ELSEWHERE,
    TABLE,
    heads_of,
    held_by,
    holding,
    keep,
    kept,
    move,
    owed_parcel_of,
    places_of,
    recover,
)

TTL_US, TOO_OLD_US = CONFIG.pubsub.undelivered_ttl_us, CONFIG.pubsub.too_old_us


@pytest.mark.parametrize(("down_us", "grown_us"), [(90_000_000, 90_000_000), (0, 0), (-90_000_000, 0)])
def test_what_was_durable_grows_older_while_the_process_is_down(down_us: int, grown_us: int) -> None:
    """By the machine's own wall clock; one that was set back makes nothing younger than it was."""
    cores, owed_parcel = member_at(64, TABLE), owed_parcel_of(age_us=1_000_000)
    cores.owner.recover(heads_of(owed_parcel, written_us=cores.step.wall_us - down_us))
    (held,) = cores.owner.owed_parcels.log
    assert cores.step.now - held.born_us == 1_000_000 + grown_us


def test_what_has_grown_too_old_meanwhile_is_dropped_with_a_record() -> None:
    """Others have discharged it, or given it up, and may remember neither."""
    cores, owed_parcel = member_at(64, TABLE), owed_parcel_of()
    cores.owner.recover(heads_of(owed_parcel, written_us=cores.step.wall_us - TOO_OLD_US - 1))
    assert held_by(cores) == []
    (record,) = records_of(cores.step, Kind.DROP)
    assert (record.event, record.reason) == (owed_parcel.parcel.first, "older_than_ttl")


def test_where_copies_meet_the_larger_age_counts() -> None:
    """A clock that was set back while its machine was down makes its copy young; another copy knows better."""
    owed_parcel = owed_parcel_of(age_us=5_000_000)
    cores = holding(64, owed_parcel)
    for age_us, oldest_us in ((9_000_000, 9_000_000), (1_000_000, 9_000_000)):
        cores.owner.on_store_copy(at(32), keep(owed_parcel_of(age_us=age_us)))
        (held,) = cores.owner.owed_parcels.log
        assert cores.step.now - held.born_us == oldest_us


def test_an_owner_takes_no_debt_that_it_may_have_paid_and_forgotten() -> None:
    """The holder hears that it is discharged; a member that is not the owner holds it for its owner to judge."""
    owner, holder, old = member_at(32, TABLE), member_at(64, TABLE), owed_parcel_of(age_us=TOO_OLD_US + 1)
    for cores in (owner, holder):
        cores.owner.on_store_copy(at(96), keep(old))
    assert held_by(owner) == []
    assert sent_of(owner.step, Discharged) == [(at(96), Discharged(CLUSTER, (places_of(old),)))]
    assert held_by(holder) == [old.id]


def test_an_event_is_given_up_on_time_whatever_its_owner_waits_for() -> None:
    """Its first payment too: a new owner of an event beyond its time delivers nothing."""
    late = owed_parcel_of(age_us=TTL_US + 1)
    cores = holding(32, late, told_by=64)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(late))
    assert held_by(cores) == []
    assert {record.outcome for record in records_of(cores.step, Kind.OUTCOME)} == {"unreachable"}
    assert sent_of(cores.step, Route) == []


def grow_old(cores: Cores) -> None:
    """The time of what was published at the beginning is over; what its owner does then."""
    sent(cores.step)
    cores.step.now = Micros(TTL_US + 1)
    cores.arc_lease.renew(cores.step.now, None)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks + 1)
    assert [message for _, message in sent(cores.step) if isinstance(message, Route | Deliver)] == []


def test_what_an_owner_finds_on_its_disk_is_given_up_on_time() -> None:
    """A restart makes nothing live longer: it is paid, and given up like what was published since."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    recover(cores, owed_parcel)
    tick(cores.step, cores.owner.tick)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    assert len(sent_of(cores.step, Route)) == 1
    grow_old(cores)
    assert {record.outcome for record in records_of(cores.step, Kind.OUTCOME)} == {"unreachable"}
    assert held_by(cores) == []


def test_both_pieces_of_a_parcel_that_was_cut_are_given_up_on_time() -> None:
    """One owner after the other by tables that part the keys and unite them: each piece has its time."""
    early, late = topic_in(1, 16), topic_in(16, 32)
    parcel = parcel_of(event_of(early, 1), event_of(late, 2))
    to = subscription_of(on_topic(early, late), cluster=ELSEWHERE).id
    owed = OwedParcel(b"", parcel, Micros(0), (Obligation(to, ELSEWHERE),), ((1, b""),), (), at(9))
    cores = holding(32, owed, told_by=64)
    for table in (table_of(16, 32, 64, 96, n=2), table_of(32, 64, 96, n=3)):
        move(cores, table)
        tick(cores.step, cores.owner.tick)
        for place in (64, 96):
            cores.owner.on_copy_stored(at(place), kept(owed, table=table))
    assert len(cores.owner.owed_parcels.log.pieces_of(parcel.id)) == 2
    grow_old(cores)
    ended = [(record.event, record.outcome) for record in records_of(cores.step, Kind.OUTCOME)]
    assert ended == [(event.id, "unreachable") for event in parcel.events]
    assert held_by(cores) == []
