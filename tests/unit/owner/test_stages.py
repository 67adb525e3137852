"""Stages of what is held: a table that names whatever may happen, and nothing else."""

from __future__ import annotations

import pytest

from p2psub.model.instants import Micros
from p2psub.owner.held_parcel import HeldPack, HeldParcel, HeldStage, HeldTurn, head_of
from tests.unit.bench import at, make_durable, member_at, parcel_of, table_of, tick
from tests.unit.owner.copies import TABLE, holding, keep, kept, move, owed_parcel_of, recover

ALIVE = (HeldStage.TAKEN, HeldStage.STORED, HeldStage.COPIED)
TRANSITIONS = {
    (HeldStage.TAKEN, HeldTurn.DURABLE): HeldStage.STORED,
    (HeldStage.STORED, HeldTurn.ENOUGH_COPIES): HeldStage.COPIED,
    (HeldStage.TAKEN, HeldTurn.NEW_TABLE): HeldStage.TAKEN,
    (HeldStage.STORED, HeldTurn.NEW_TABLE): HeldStage.STORED,
    (HeldStage.COPIED, HeldTurn.NEW_TABLE): HeldStage.STORED,
    **{(stage, HeldTurn.PAID): HeldStage.DISCHARGED for stage in ALIVE},
    **{(stage, HeldTurn.LET_GO): HeldStage.RELEASED for stage in ALIVE},
}


def held_at(stage: HeldStage) -> HeldParcel:
    """Something that is held, at a stage."""
    held = HeldParcel(head_of(owed_parcel_of(), 0), 1, HeldPack(1, 1), Micros(0), 0)
    held.stage = stage
    return held


@pytest.mark.parametrize("turn", HeldTurn)
@pytest.mark.parametrize("stage", HeldStage)
def test_every_turn_leads_where_the_table_says_or_cannot_happen(stage: HeldStage, turn: HeldTurn) -> None:
    """What is not held any more has no turn; what is stored is not stored again; copies count when it is stored."""
    held = held_at(stage)
    if (stage, turn) in TRANSITIONS:
        held.turn(turn)
        assert held.stage is TRANSITIONS[stage, turn]
        assert held.is_held == (held.stage in ALIVE)
    else:
        with pytest.raises(KeyError):
            held.turn(turn)
        assert held.stage is stage


def test_whatever_is_held_can_meet_a_table_its_payment_and_its_end() -> None:
    """These come from other members at any time: the table is total for them."""
    for turn in (HeldTurn.NEW_TABLE, HeldTurn.PAID, HeldTurn.LET_GO):
        assert {stage for stage, named in TRANSITIONS if named is turn} == set(ALIVE)


def test_events_are_taken_then_stored_then_copied_then_discharged() -> None:
    """The life of most: their owner pays them when enough members hold them, and lets them go when they are paid."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    tick(cores.step, cores.owner.tick)
    cores.owner.on_store_copy(at(64), keep(owed_parcel))
    (held,) = cores.owner.owed_parcels.log
    seen = [held.stage]
    make_durable(cores.step)
    seen.append(held.stage)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    seen.append(held.stage)
    cores.owner.owed_parcels.discharge(held)
    assert [*seen, held.stage] == [HeldStage.TAKEN, HeldStage.STORED, HeldStage.COPIED, HeldStage.DISCHARGED]


def test_copies_stated_before_our_own_is_durable_count_when_it_is() -> None:
    """Others were quicker: nothing is copied before it is stored here."""
    cores, owed_parcel = member_at(32, TABLE), owed_parcel_of()
    tick(cores.step, cores.owner.tick)
    cores.owner.on_store_copy(at(64), keep(owed_parcel))
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    (held,) = cores.owner.owed_parcels.log
    seen = [held.stage]
    make_durable(cores.step)
    assert [*seen, held.stage] == [HeldStage.TAKEN, HeldStage.COPIED]


def test_new_table_makes_what_was_copied_stored_again() -> None:
    """A member may have come back without its disk: no statement counts any more, and nothing is paid by it."""
    cores, owed_parcel = holding(32, owed_parcel_of(), told_by=64), owed_parcel_of()
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    (held,) = cores.owner.owed_parcels.log
    seen = [held.stage]
    table = table_of(32, 64, 96, 128, n=2)
    move(cores, table)
    tick(cores.step, cores.owner.tick)
    seen.append(held.stage)
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel, table=table))
    assert [*seen, held.stage] == [HeldStage.COPIED, HeldStage.STORED, HeldStage.COPIED]


def test_copies_of_what_is_anothers_make_it_no_safer_to_pay() -> None:
    """A holder that is not the owner never pays: for it events stay stored."""
    cores, owed_parcel = holding(64, owed_parcel_of()), owed_parcel_of()
    for place in (32, 96, 128):
        cores.owner.on_copy_stored(at(place), kept(owed_parcel))
    assert [held.stage for held in cores.owner.owed_parcels.log] == [HeldStage.STORED]


def test_what_a_process_finds_on_its_disk_is_stored() -> None:
    """It was durable: that is why it is found."""
    cores = member_at(64, TABLE)
    recover(cores, owed_parcel_of())
    assert [held.stage for held in cores.owner.owed_parcels.log] == [HeldStage.STORED]


def test_piece_that_is_cut_off_is_at_the_stage_of_the_whole() -> None:
    """Cutting says nothing of copies: only what made it necessary does."""
    events = [event for n in (1, 2) for event in owed_parcel_of(n).parcel.events]
    owed = owed_parcel_of()
    whole = type(owed)(owed.matches, parcel_of(*events), Micros(0), owed.owed, owed.matched, (), at(9))
    for stage in ALIVE:
        held = HeldParcel(head_of(whole, 0), 0b11, HeldPack(1, 0b11), Micros(0), 0)
        held.stage = stage
        assert held.split(0b10).stage is stage
