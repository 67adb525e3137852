"""OwedParcels: an event that is owed is never let go before the owner holds it, or it owes nothing."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.digests import digest_of_matches
from p2psub.model.effects import Pack, Persist
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import (
    CopyLost,
    CopyStored,
    Discharged,
    OwedParcel,
    OwedParcelId,
    StillOwed,
    StoreCopy,
)
from p2psub.model.place_sets import to_bitmap
from p2psub.model.records import Kind
from p2psub.owner.held_parcel import head_of
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    make_durable,
    member_at,
    node_at,
    parcel_of,
    records_of,
    sent,
    sent_of,
    table_of,
    tick,
)
from tests.unit.owner.copies import (
    ELSEWHERE,
    MOVED,
    TABLE,
    erased,
    former_holder,
    held_by,
    hold,
    holding,
    keep,
    kept,
    move,
    owed_by,
    owed_in,
    owed_parcel_of,
    places_of,
    recover,
)


def test_owner_asks_the_members_after_it_for_copies() -> None:
    """At once for those that an acknowledgement needs; all r successors hold what is still owed a heartbeat later."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    tick(cores.step, cores.owner.owed_parcels.tick)
    cores.owner.owed_parcels.replicate(hold(cores, owed_parcel))
    assert sent(cores.step) == [(at(place), keep(owed_parcel)) for place in (64, 96)]
    make_durable(cores.step)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    sent(cores.step)
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(128)]


def test_copy_is_stated_only_when_it_is_durable() -> None:
    """Kept is a promise that survives a crash; before the disk has it, nothing is said."""
    cores, owed_parcel = member_at(64, TABLE), owed_parcel_of()
    cores.owner.on_store_copy(at(32), keep(owed_parcel))
    assert sent(cores.step) == []
    effects = cores.step.close()
    assert sent(cores.step) == []
    persist = effects[-1]
    assert isinstance(persist, Persist)
    assert persist.packs == [Pack(1, head_of(owed_parcel, cores.step.wall_us), owed_parcel.parcel)]
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), kept(owed_parcel))]


def test_repeated_request_is_confirmed_again_but_not_before_the_first_is_durable() -> None:
    """The repetition writes nothing, yet its answer states a durable copy too."""
    cores, owed_parcel = member_at(64, TABLE), owed_parcel_of()
    cores.owner.on_store_copy(at(32), keep(owed_parcel))
    (persist,) = [effect for effect in cores.step.close() if isinstance(effect, Persist)]
    cores.owner.on_store_copy(at(32), keep(owed_parcel))
    assert sent(cores.step) == []
    cores.step.close()
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), kept(owed_parcel))] * 2


def test_what_one_copy_knows_to_be_settled_is_settled() -> None:
    """Of two copies the smaller debt counts; a debt that was paid never comes back."""
    owed_parcel = owed_parcel_of(owed=3)
    first, second, third = owed_parcel.owed
    cores = holding(64, owed_parcel)
    paid = msgspec.structs.replace(owed_parcel, owed=(second, third))
    cores.owner.on_store_copy(at(32), keep(paid))
    assert owed_by(cores) == [second.subscription, third.subscription]
    other = msgspec.structs.replace(owed_parcel, owed=(first, third))
    cores.owner.on_store_copy(at(32), keep(other))
    assert owed_by(cores) == [third.subscription]


def test_what_was_discharged_is_not_taken_again() -> None:
    """Whoever paid it says so instead of holding, and paying, it again."""
    cores, owed_parcel = member_at(32, table_of(32)), owed_parcel_of()
    cores.owner.owed_parcels.discharge(hold(cores, owed_parcel))
    sent(cores.step)
    cores.owner.on_store_copy(at(64), keep(owed_parcel))
    assert sent(cores.step) == [(at(64), Discharged(CLUSTER, (places_of(owed_parcel),)))]
    assert held_by(cores) == []


def test_former_holder_lets_go_when_as_many_present_holders_hold_it_as_an_acknowledgement_needs() -> None:
    """Hand-over: it asks the owner by the new table and the members after it, and keeps its copy until they have it."""
    owed_parcel = owed_parcel_of()
    cores = former_holder(owed_parcel)
    tick(cores.step, cores.owner.owed_parcels.tick)
    asked = sent_of(cores.step, StoreCopy)
    assert [to for to, _ in asked] == [at(32), at(40), at(48)]
    assert {told.id for _, ask in asked for told in ask.owed_parcels} == {owed_parcel.id}
    for place in (32, 40):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel, table=MOVED))
        tick(cores.step, cores.owner.owed_parcels.tick, 20)
        assert held_by(cores) == [owed_parcel.id]
    cores.owner.on_copy_stored(at(56), kept(owed_parcel, table=MOVED))
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert held_by(cores) == []
    assert erased(cores) == [1]


def test_former_holder_waits_for_the_owners_own_copy() -> None:
    """Without it the event has holders, and no member that would pay what it owes."""
    owed_parcel = owed_parcel_of()
    cores = former_holder(owed_parcel)
    tick(cores.step, cores.owner.owed_parcels.tick)
    for place in (40, 48, 56):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel, table=MOVED))
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert held_by(cores) == [owed_parcel.id]


def test_copy_stated_by_an_older_table_does_not_let_a_former_holder_go() -> None:
    """Its holder may be a former one by that table, and rely on ours: both would let go."""
    owed_parcel = owed_parcel_of()
    cores = former_holder(owed_parcel)
    tick(cores.step, cores.owner.owed_parcels.tick)
    for place in (32, 40, 48):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel, table=TABLE))
    sent(cores.step)
    tick(cores.step, cores.owner.owed_parcels.tick, CONFIG.pubsub.retry_ticks)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(32), at(40), at(48)]
    assert held_by(cores) == [owed_parcel.id]


def test_holder_keeps_its_copy_though_the_owner_holds_it() -> None:
    """A replica is let go only by a discharge."""
    owed_parcel = owed_parcel_of()
    cores = holding(64, owed_parcel)
    cores.owner.on_copy_stored(at(32), kept(owed_parcel))
    tick(cores.step, cores.owner.owed_parcels.tick, 200)
    assert held_by(cores) == [owed_parcel.id]


def test_new_table_makes_copies_be_counted_anew() -> None:
    """A member may have come back without its disk: what it stated before the change counts no more."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    tick(cores.step, cores.owner.owed_parcels.tick)
    held = hold(cores, owed_parcel)
    make_durable(cores.step)
    for place in (64, 96, 128):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    sent(cores.step)
    tick(cores.step, cores.owner.owed_parcels.tick, CONFIG.pubsub.retry_ticks)
    assert sent_of(cores.step, StoreCopy) == []
    move(cores, table_of(32, 64, 96, 128, 160, 192, n=2))
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert list(held.held_by) == [node_at(32)]
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64), at(96), at(128)]


def test_lost_request_is_repeated_to_those_who_have_not_confirmed() -> None:
    """And carries the age that the event has by then, and only what is still owed."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of(owed=2, age_us=7)
    tick(cores.step, cores.owner.owed_parcels.tick)
    held = hold(cores, owed_parcel)
    cores.owner.owed_parcels.replicate(held)
    make_durable(cores.step)
    cores.owner.on_copy_stored(at(96), kept(owed_parcel))
    held.owed.pop(owed_parcel.owed[0].subscription)
    sent(cores.step)
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert sent_of(cores.step, StoreCopy) == []
    tick(cores.step, cores.owner.owed_parcels.tick)
    age = Micros(7 + 2 * TICK_US)
    aged = msgspec.structs.replace(owed_parcel, age_us=age, owed=owed_parcel.owed[1:])
    assert sent_of(cores.step, StoreCopy) == [(at(64), keep(aged)), (at(128), keep(aged))]
    tick(cores.step, cores.owner.owed_parcels.tick, CONFIG.pubsub.retry_ticks - 1)
    assert sent_of(cores.step, StoreCopy) == []
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(64), at(128)]


def test_discharge_removes_the_row_and_tells_every_holder() -> None:
    """Present holders, and whoever is known to hold it from before."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    held = hold(cores, owed_parcel)
    make_durable(cores.step)
    held.state(node_at(192), TABLE.version, 1)
    cores.owner.owed_parcels.discharge(held)
    assert held_by(cores) == []
    assert cores.owner.owed_parcels.log.pieces_of(owed_parcel.id.parcel) == []
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    said = Discharged(CLUSTER, (places_of(owed_parcel),))
    assert sent_of(cores.step, Discharged) == [(at(place), said) for place in (64, 96, 128, 192)]
    assert erased(cores) == [1]


def test_owner_that_hears_of_a_discharge_tells_the_other_holders() -> None:
    """An owner before us settled it; its replicas would hold it for ever if nobody told them."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    hold(cores, owed_parcel, Kind.COPY)
    make_durable(cores.step)
    cores.owner.owed_parcels.on_discharged(at(64), Discharged(CLUSTER, (places_of(owed_parcel),)))
    assert held_by(cores) == []
    assert cores.owner.owed_parcels.places_known(owed_parcel.id, owed_parcel.parcel.first, 1) == 1
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert [to for to, _ in sent_of(cores.step, Discharged)] == [at(64), at(96), at(128)]


def test_stale_replica_asks_its_owner() -> None:
    """A discharge may be lost: a replica that heard nothing for long asks the owner, without the events."""
    owed_parcel = owed_parcel_of()
    cores = holding(64, owed_parcel)
    tick(cores.step, cores.owner.owed_parcels.tick, 59)
    assert sent_of(cores.step, StillOwed) == []
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert sent(cores.step) == [(at(32), StillOwed(CLUSTER, (question_of(owed_parcel),)))]


def question_of(owed_parcel: OwedParcel) -> tuple[OwedParcelId, int, bytes]:
    """As a replica asks for it."""
    parcel = owed_parcel.parcel
    return owed_parcel.id, parcel.first.sequence, to_bitmap(parcel.places)


def test_owner_says_what_it_holds_has_discharged_and_does_not_know() -> None:
    """Then the replica keeps it, lets it go, or gives it back."""
    held, unknown = owed_parcel_of(), owed_parcel_of(2)
    cores = holding(32, held)
    sent(cores.step)
    ask = cores.owner.inquiries.on_still_owed
    ask(at(64), StillOwed(CLUSTER, (question_of(held), question_of(unknown))))
    assert sent(cores.step) == [
        (at(64), CopyStored(CLUSTER, (places_of(held),), TABLE.version)),
        (at(64), CopyLost(CLUSTER, (places_of(unknown),))),
    ]
    for piece in list(cores.owner.owed_parcels.log):
        cores.owner.owed_parcels.discharge(piece)
    ask(at(64), StillOwed(CLUSTER, (question_of(held),)))
    assert sent(cores.step) == [(at(64), Discharged(CLUSTER, (places_of(held),)))]
    ask(at(64), StillOwed(ELSEWHERE, (question_of(held),)))
    assert sent(cores.step) == []


def test_restarted_holder_still_holds_what_was_durable() -> None:
    """It shows it to the owner, and counts its own copy."""
    owed_parcel = owed_parcel_of()
    cores = member_at(64, TABLE)
    recover(cores, owed_parcel)
    assert [list(held.held_by) for held in cores.owner.owed_parcels.log] == [[node_at(64)]]
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert [to for to, _ in sent_of(cores.step, StoreCopy)] == [at(32)]


@pytest.mark.parametrize(
    "message", [StoreCopy(ELSEWHERE, (owed_parcel_of(),)), Discharged(ELSEWHERE, (places_of(owed_parcel_of(2)),))]
)
def test_other_clusters_have_no_say(message: StoreCopy | Discharged) -> None:
    """A message of another ring neither adds nor removes anything."""
    standing = owed_parcel_of(2)
    cores = holding(64, standing)
    if isinstance(message, StoreCopy):
        cores.owner.on_store_copy(at(32), message)
    else:
        cores.owner.owed_parcels.on_discharged(at(32), message)
    assert held_by(cores) == [standing.id]
    assert sent(cores.step) == []


def test_same_event_matched_differently_is_owed_twice() -> None:
    """Two owners parted by a cut: each debt is paid on its own, in whatever order the matches were found."""
    one, other = owed_parcel_of(owed=1), owed_parcel_of(owed=2)
    assert one.id != other.id
    assert digest_of_matches(o.subscription for o in other.owed[::-1]) == other.matches
    cores = holding(64, one)
    cores.owner.on_store_copy(at(32), keep(other))
    assert owed_in(cores) == [one, other]


def test_replica_says_in_the_trace_that_it_keeps_once_durable() -> None:
    """S5 counts those records: no record without a durable row."""
    cores, owed_parcel = member_at(64, TABLE), owed_parcel_of()
    cores.owner.on_store_copy(at(32), keep(owed_parcel))
    assert records_of(cores.step, Kind.COPY) == []
    make_durable(cores.step)
    assert [record.event for record in records_of(cores.step, Kind.COPY)] == [owed_parcel.parcel.first]


def test_heavy_parcels_are_copied_a_few_at_a_time() -> None:
    """By bytes, attributes and all that they owe included."""
    cores = member_at(32, TABLE)
    for n in range(1, 9):
        owed_parcel = owed_parcel_of(n)
        event = msgspec.structs.replace(owed_parcel.parcel.events[0], attributes={"a": "x" * 100_000})
        heavy = msgspec.structs.replace(owed_parcel, parcel=parcel_of(event))
        cores.owner.owed_parcels.replicate(hold(cores, heavy))
    make_durable(cores.step)
    sent(cores.step)
    tick(cores.step, cores.owner.owed_parcels.tick, CONFIG.pubsub.retry_ticks)
    keeps = [keep for to, keep in sent_of(cores.step, StoreCopy) if to == at(64)]
    assert [len(keep.owed_parcels) for keep in keeps] == [2, 2, 2, 2]


def test_many_discharges_are_told_in_several_messages() -> None:
    """After a burst there may be tens of thousands."""
    cores = member_at(32, TABLE)
    for n in range(1, 5_001):
        held = hold(cores, owed_parcel_of(n, owed=0))
        held.asked = {node_at(64): None}
        cores.owner.owed_parcels.discharge(held)
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert [len(told.discharged) for _, told in sent_of(cores.step, Discharged)] == [4_096, 904]


def test_copy_that_is_stated_twice_in_one_message_is_discharged_once() -> None:
    """A holder that has two pieces of what we hold in one names them both."""
    owed_parcel = msgspec.structs.replace(owed_parcel_of(), owed=())
    cores = holding(32, owed_parcel)
    twice = CopyStored(CLUSTER, (places_of(owed_parcel),) * 2, TABLE.version)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), twice)
    assert list(cores.owner.owed_parcels.log) == []
    assert len(records_of(cores.step, Kind.DISCHARGE)) == 1
