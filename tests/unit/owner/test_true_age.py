"""How old what is held is: time that its holder was down counts, and where copies meet the larger age."""

from __future__ import annotations

import pytest

from p2psub.model.messages.pubsub import Discharged
from p2psub.model.records import Kind
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    member_at,
    records_of,
    sent_of,
)
from tests.unit.owner.copies import (
    TABLE,
    heads_of,
    held_by,
    holding,
    keep,
    kept,
    owed_parcel_of,
    places_of,
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
