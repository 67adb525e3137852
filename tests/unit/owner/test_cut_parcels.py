"""Parcels that a table cuts among owners: each event is held once, given back to its owner, and let go by itself."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.digests import digest_of_matches
from p2psub.model.effects import Persist
from p2psub.model.ids import EventId, Process
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import (
    CopyStored,
    Delivered,
    Discharged,
    GiveBackRequest,
    GivenBack,
    Obligation,
    OutcomeOf,
    OwedParcel,
    OwedParcelId,
    Publish,
    Route,
    Routed,
    StoreCopy,
    StreamAck,
    WindowUpdate,
)
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import bitmap_within, places_in, to_bitmap
from p2psub.model.records import Kind
from p2psub.model.seals import Signature
from p2psub.node.cores import Cores
from tests.oracles.instances import instances_of
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    bits,
    event_of,
    make_durable,
    member_at,
    node_at,
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
from tests.unit.owner.copies import ELSEWHERE, TABLE, erased, holding, keep, move, owed_in, recover
from tests.unit.unsound import UNSOUND

EARLY, LATE = topic_in(1, 16), topic_in(16, 32)
"""Both are the member's at 32, until one joins at 16."""
CUT = table_of(16, 32, 64, 96, 128, 160, 192, n=2)
EARLY_ONES, LATE_ONES = 0b0101, 0b1010

FOUR = parcel_of(*(event_of(topic, n) for n, topic in enumerate((EARLY, LATE, EARLY, LATE), 1)))
TWO = tuple(subscription_of(on_topic(EARLY, LATE), n, cluster=ELSEWHERE).id for n in (1, 2))


def owed_of(places: int = 0b1111, second: int = 0b1111, age_us: int = 0, parcel: Parcel = FOUR) -> OwedParcel:
    """Some of the events, owed to two subscriptions: all of them to the first, some to the second."""
    owed = [Obligation(TWO[0], ELSEWHERE)]
    owed += [Obligation(TWO[1], ELSEWHERE, bitmap_within(second & places, places))] if second & places else []
    return OwedParcel(digest_of_matches(TWO), parcel.part(places), Micros(age_us), tuple(owed), ((2, b""),), (), at(9))


ID = owed_of().id


def held(cores: Cores) -> list[int]:
    """The places of the pieces that a member holds."""
    return [piece.places for piece in cores.owner.owed_parcels.log]


def asked(cores: Cores) -> dict[int, list[int]]:
    """Whom a member asked to hold which places since the last look."""
    found: dict[int, list[int]] = {}
    for to, message in sent_of(cores.step, StoreCopy):
        found.setdefault(to.id[0], []).extend(owed.parcel.places for owed in message.owed_parcels)
    return found


def discharged(*places: int) -> Discharged:
    """Events of the four owe nothing any more."""
    return Discharged(CLUSTER, ((ID, bits(*places)),))


def packs_after(cores: Cores, packs: dict[int, object]) -> dict[int, object]:
    """The heads of a member that had these, once all that it wrote and erased within a few heartbeats is durable."""
    left = dict(packs)
    tick(cores.step, cores.owner.owed_parcels.tick, 8)
    for effect in make_durable(cores.step):
        if isinstance(effect, Persist):
            left |= {pack.number: pack.head for pack in effect.packs}
            for number in effect.erased_packs:
                left.pop(number, None)
    return left


# Cutting


def test_table_that_cuts_a_parcel_has_its_pieces_held_apart() -> None:
    """And each is offered to its own owner: a holder asks both, each for its own events."""
    cores = holding(64, owed_of())
    assert held(cores) == [0b1111]
    move(cores, CUT)
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert sorted(held(cores)) == [EARLY_ONES, LATE_ONES]
    assert asked(cores) == {16: [EARLY_ONES], 32: [LATE_ONES]}


def test_former_owner_gives_back_what_is_another_s_and_copies_what_stays_its_own() -> None:
    """Of one parcel: the piece of the newcomer goes to it, the other to the members after us."""
    cores = holding(32, owed_of(), told_by=64)
    move(cores, CUT)
    tick(cores.step, cores.owner.owed_parcels.tick)
    assert asked(cores) == {16: [EARLY_ONES], 64: [LATE_ONES], 96: [LATE_ONES], 128: [LATE_ONES]}


def test_piece_is_let_go_by_itself() -> None:
    """When enough holders state it; the other stays until its own have."""
    moved = table_of(16, 20, 24, 28, 32, 64, 96, 128, 160, 192, n=2)
    cores = holding(128, owed_of())
    move(cores, moved)
    tick(cores.step, cores.owner.owed_parcels.tick)
    early = (ID, to_bitmap(EARLY_ONES))
    for place in (16, 20, 24):
        cores.owner.on_copy_stored(at(place), CopyStored(CLUSTER, (early,), moved.version))
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert EARLY_ONES not in held(cores)
    assert cores.owner.owed_parcels.log.count == 2


def test_copy_of_some_events_is_no_copy_of_the_piece() -> None:
    """A member that states half of what we hold does not let us go."""
    moved = table_of(16, 20, 24, 28, 32, 64, 96, 128, 160, 192, n=2)
    cores = holding(128, owed_of())
    move(cores, moved)
    tick(cores.step, cores.owner.owed_parcels.tick)
    for place in (16, 20, 24):
        cores.owner.on_copy_stored(at(place), CopyStored(CLUSTER, ((ID, bits(0)),), moved.version))
    tick(cores.step, cores.owner.owed_parcels.tick, 20)
    assert cores.owner.owed_parcels.log.count == 4
    for place in (16, 20, 24):
        cores.owner.on_copy_stored(at(place), CopyStored(CLUSTER, ((ID, bits(2)),), moved.version))
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    assert EARLY_ONES not in held(cores)


def test_pack_is_erased_when_both_of_its_pieces_are_gone() -> None:
    """Not before: a restart must find what is still owed."""
    cores = holding(64, owed_of())
    move(cores, CUT)
    tick(cores.step, cores.owner.owed_parcels.tick)
    cores.owner.owed_parcels.on_discharged(at(16), discharged(0, 2))
    assert held(cores) == [LATE_ONES]
    assert erased(cores) == []
    cores.owner.owed_parcels.on_discharged(at(32), discharged(1, 3))
    assert held(cores) == []
    assert erased(cores) == [1]


def test_new_owner_pays_the_piece_that_is_its_own() -> None:
    """It was given the whole parcel by a member that follows an older table."""
    cores = member_at(16, CUT)
    tick(cores.step, cores.owner.owed_parcels.tick)
    cores.owner.on_store_copy(at(32), keep(owed_of()))
    make_durable(cores.step)
    sent(cores.step)
    assert sorted(held(cores)) == [EARLY_ONES, LATE_ONES]
    for place in (32, 64):
        cores.owner.on_copy_stored(at(place), CopyStored(CLUSTER, ((ID, b""),), CUT.version))
    (route,) = [message for _, message in sent(cores.step) if not isinstance(message, StoreCopy)]
    assert getattr(route, "parcel", None) == FOUR.part(EARLY_ONES)


def test_events_that_are_cut_before_they_are_durable_count_like_others() -> None:
    """The disk was slow, or full: a table came meanwhile, and each piece is a copy as soon as the pack is written."""
    cores = member_at(32, TABLE)
    tick(cores.step, cores.owner.tick)
    cores.owner.on_store_copy(at(64), keep(owed_of()))
    (persist,) = [effect for effect in cores.step.close() if isinstance(effect, Persist)]
    move(cores, CUT)
    tick(cores.step, cores.owner.tick)
    assert sorted(held(cores)) == [EARLY_ONES, LATE_ONES]
    cores.step.keep_promises(persist.number)
    assert all(piece.is_held_by(node_at(32)) for piece in cores.owner.owed_parcels.log)
    copies = [(record.event, record.run) for record in records_of(cores.step, Kind.COPY)]
    assert sorted(copies) == [(event.id, None) for event in FOUR.events]
    for place in (64, 96):
        cores.owner.on_copy_stored(at(place), CopyStored(CLUSTER, ((ID, b""),), CUT.version))
    tick(cores.step, cores.owner.tick)
    assert [route.parcel for _, route in sent_of(cores.step, Route)] == [FOUR.part(LATE_ONES)]


# Parts that overlap


def test_member_takes_what_it_lacks_of_a_part_and_states_all_of_it() -> None:
    """What it held before stays in its own pack, and only the rest is written."""
    cores = holding(64, owed_of(0b0011))
    cores.owner.on_store_copy(at(32), keep(owed_of(0b0110)))
    (persist,) = [effect for effect in cores.step.close() if isinstance(effect, Persist)]
    assert [pack.body for pack in persist.packs] == [owed_of(0b0100).parcel]
    assert sent(cores.step) == []
    cores.step.keep_promises(persist.number)
    assert sent(cores.step) == [(at(32), CopyStored(CLUSTER, ((ID, bits(1, 2)),), TABLE.version))]
    assert held(cores) == [0b0011, 0b0100]


def test_part_that_is_taken_keeps_the_matches_of_its_own_events() -> None:
    """Counts of the events that were held already are not those of the rest."""
    counts = ((2, bits(0, 1)), (1, bits(2, 3)))
    cores = holding(64, msgspec.structs.replace(owed_of(), matched=counts))
    cores.owner.owed_parcels.on_discharged(at(32), discharged(2, 3))
    tick(cores.step, cores.owner.owed_parcels.tick)
    cores.owner.on_store_copy(at(32), keep(msgspec.structs.replace(owed_of(), matched=counts)))
    assert [(piece.places, piece.matched) for piece in cores.owner.owed_parcels.log] == [
        (0b0011, [(2, 0b0011)]),
        (0b1100, [(1, 0b1100)]),
    ]


def test_what_another_copy_of_a_part_knows_to_be_paid_is_paid() -> None:
    """For the events of that part alone: of the others it says nothing."""
    cores = holding(64, owed_of())
    cores.owner.on_store_copy(at(32), keep(owed_of(0b0011, second=0b0001)))
    (piece,) = cores.owner.owed_parcels.log
    assert piece.owed == {TWO[0]: (ELSEWHERE, 0b1111), TWO[1]: (ELSEWHERE, 0b1101)}


def test_discharge_of_some_events_lets_those_go_alone() -> None:
    """An owner that cut the parcel otherwise: the rest is held, owed and asked for as before."""
    cores = holding(64, owed_of())
    cores.owner.owed_parcels.on_discharged(at(32), discharged(1, 2, 77))
    assert held(cores) == [0b1001]
    (piece,) = cores.owner.owed_parcels.log
    assert piece.owed == dict.fromkeys(TWO, (ELSEWHERE, 9))
    assert [owed.parcel for owed in owed_in(cores)] == [FOUR.part(0b1001)]
    assert erased(cores) == []


def test_owner_that_hears_of_a_partial_discharge_remembers_and_tells_just_that() -> None:
    """The other holders let the same events go; of the rest a late copy is still taken."""
    cores = holding(32, owed_of(), told_by=64)
    cores.owner.owed_parcels.on_discharged(at(64), discharged(0, 1))
    tick(cores.step, cores.owner.owed_parcels.tick, 2)
    told = sent_of(cores.step, Discharged)
    assert [(to, said) for to, said in told] == [(at(place), discharged(0, 1)) for place in (64, 96, 128)]
    assert cores.owner.owed_parcels.places_known(ID, FOUR.first, 0b1111) == 0b1111
    cores.owner.on_store_copy(at(96), keep(owed_of()))
    make_durable(cores.step)
    assert sent(cores.step) == [
        (at(96), discharged(0, 1)),
        (at(96), CopyStored(CLUSTER, ((ID, bits(2, 3)),), TABLE.version)),
    ]


def test_too_old_part_is_refused_by_its_owner_and_held_for_another() -> None:
    """Of a parcel with two owners each judges its own events."""
    cores = member_at(32, CUT)
    cores.owner.on_store_copy(at(64), keep(owed_of(age_us=CONFIG.pubsub.too_old_us + 1)))
    assert held(cores) == [EARLY_ONES]
    assert sent_of(cores.step, Discharged) == [(at(64), discharged(1, 3))]
    dropped = [(record.event, record.run) for record in records_of(cores.step, Kind.DROP)]
    assert dropped == [(FOUR.events[1].id, None), (FOUR.events[3].id, None)]


# Restarts


def test_restart_with_overlapping_packs_holds_each_event_once() -> None:
    """Packs that were written at different cuts; one that brings nothing new is erased."""
    cores = member_at(64, TABLE)
    packs = recover(cores, owed_of(0b0111), owed_of(0b1110), owed_of(0b0110))
    assert held(cores) == [0b0111, 0b1000]
    assert cores.owner.status().kept == tuple(event.id for event in FOUR.events)
    recovered = [(record.event, record.run) for record in records_of(cores.step, Kind.COPY)]
    assert recovered == [(FOUR.first, 3), (FOUR.events[3].id, None)]
    packs = packs_after(cores, packs)
    assert list(packs) == [1, 2]
    cores.owner.owed_parcels.on_discharged(at(32), discharged(0, 1, 2, 3))
    assert packs_after(cores, packs) == {}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["copy", "discharged", "cut"]), st.integers(1, 15)), max_size=12))
def test_what_is_held_is_on_the_disk_after_whatever_came(happenings: list[tuple[str, int]]) -> None:
    """Copies, discharges and tables in any order: each event is held once, and a restart holds all that was held."""
    cores, packs = member_at(64, TABLE), dict[int, object]()
    tick(cores.step, cores.owner.owed_parcels.tick)
    expected, tables = 0, 1
    for what, places in happenings:
        if what == "copy":
            cores.owner.on_store_copy(at(32), keep(owed_of(places)))
            expected |= places
        elif what == "discharged":
            cores.owner.owed_parcels.on_discharged(at(32), discharged(*places_in(places)))
            expected &= ~places
        else:
            tables += 1
            members = [owner.id[0] for owner in (CUT if places % 2 else TABLE).owners]
            move(cores, table_of(*members, n=tables))
        packs = packs_after(cores, packs)
        assert sum(held(cores)) == expected
        assert len(cores.owner.status().kept) == expected.bit_count()
    again = member_at(64, TABLE)
    again.owner.recover(packs)
    assert sum(held(again)) & expected == expected
    assert len(again.owner.status().kept) == again.owner.owed_parcels.log.count


# Liars


@pytest.mark.parametrize("parcel", UNSOUND.values(), ids=UNSOUND)
def test_unsound_copy_is_not_held(parcel: Parcel) -> None:
    """Dropped with a record; what comes with it in the same message is held."""
    cores = member_at(64, TABLE)
    lie = OwedParcel(b"", parcel, Micros(0), (), ((0, b""),), (), at(9))
    cores.owner.on_store_copy(at(32), keep(lie, owed_of()))
    assert [(r.peer, r.reason) for r in records_of(cores.step, Kind.DROP)] == [(node_at(32), "foreign_event")]
    make_durable(cores.step)
    assert held(cores) == [0b1111]
    assert sent(cores.step) == [(at(32), CopyStored(CLUSTER, ((ID, bits(0, 1, 2, 3)),), TABLE.version))]


def test_copy_that_owes_events_which_it_does_not_bring_owes_those_it_brings() -> None:
    """A member that lies about places takes no other down."""
    cores = member_at(64, TABLE)
    lie = msgspec.structs.replace(owed_of(0b0011), owed=(Obligation(TWO[0], ELSEWHERE, bits(2)), *owed_of().owed[1:]))
    cores.owner.on_store_copy(at(32), keep(lie))
    make_durable(cores.step)
    assert [(piece.places, list(piece.owed)) for piece in cores.owner.owed_parcels.log] == [(0b0011, [TWO[1]])]


def test_event_that_a_copy_counts_twice_is_counted_once() -> None:
    """By the first of its counts: a liar's thousand counts make no thousand records."""
    cores = member_at(64, TABLE)
    counts = (*[(n, bits(0, 2)) for n in range(1_000)], (2, b""))
    cores.owner.on_store_copy(at(32), keep(msgspec.structs.replace(owed_of(), matched=counts)))
    (piece,) = cores.owner.owed_parcels.log
    assert piece.matched == [(0, 0b0101), (2, 0b1010)]


FORGED = msgspec.structs.replace(FOUR, signature=Signature(bytes(64), b"forged"), proof=(bytes(16),))
"""Its proof leads to no signature, so that no part of it has one."""


def test_copy_whose_parts_have_no_proof_is_not_held_in_parts() -> None:
    """Some of its events are held already: of the others no member could make anything that a subscriber takes."""
    cores = holding(64, owed_of(0b0001))
    cores.owner.on_store_copy(at(32), keep(owed_of(parcel=FORGED)))
    assert [(r.reason, r.count) for r in records_of(cores.step, Kind.DROP)] == [("bad_signature", 3)]
    make_durable(cores.step)
    assert held(cores) == [0b0001]
    assert sent(cores.step) == [(at(32), CopyStored(CLUSTER, ((ID, bits(0)),), TABLE.version))]


LAST = parcel_of(*(event_of(topic, 2**63 - 4 + n) for n, topic in enumerate((EARLY, LATE, EARLY, LATE))), number=7)


def test_last_numbers_that_there_are_are_held_and_let_go_like_others() -> None:
    """Their sum with a place stays a number that a message can carry."""
    cores, owed = holding(64, owed_of(parcel=LAST)), owed_of(parcel=LAST)
    assert list(cores.owner.status().kept) == [event.id for event in LAST.events]
    cores.owner.owed_parcels.on_discharged(at(32), Discharged(CLUSTER, ((owed.id, bits(3)),)))
    assert held(cores) == [0b0111]


PLACES = st.binary(max_size=32)
NAMES = st.builds(OwedParcelId, st.just(FOUR.id), st.sampled_from([ID.matches, b""]))
ENDS = st.lists(st.builds(OutcomeOf, st.sampled_from(TWO), st.sampled_from(list(Outcome)), PLACES), max_size=3)
US = st.sampled_from([Process(at(32), 1), Process(at(32), 2), None])
VERSIONS = st.sampled_from([TABLE.version, CUT.version])
NUMBERS = st.integers(0, 6)
ACKS = st.lists(
    st.builds(StreamAck, st.sampled_from(TWO), NUMBERS, NUMBERS, PLACES, st.integers(0, 5)), max_size=3
).map(tuple)
SAID: st.SearchStrategy[Message] = st.one_of(
    st.builds(lambda ends, us, acks: Delivered(FOUR.id, tuple(ends), us, acks), ENDS, US, ACKS),
    st.builds(lambda ends, us, acks: Routed(1, FOUR.id, tuple(ends), us, acks), ENDS, US, ACKS),
    st.builds(WindowUpdate, st.just(Process(at(32), 1)), ACKS),
    st.builds(GiveBackRequest, st.just(CLUSTER), VERSIONS),
    st.builds(GivenBack, st.just(CLUSTER), VERSIONS),
    st.builds(lambda name, places: Discharged(CLUSTER, ((name, places),)), NAMES, PLACES),
    st.builds(lambda name, places: CopyStored(CLUSTER, ((name, places),), TABLE.version), NAMES, PLACES),
    st.builds(lambda places, second: keep(owed_of(places, second)), st.integers(1, 15), st.integers(0, 15)),
    st.builds(lambda owed: StoreCopy(CLUSTER, (owed,)), instances_of(OwedParcel)),
    instances_of(Publish),
)


def hear(cores: Cores, message: Message) -> None:
    """A member that may be a liar says something of parcels."""
    owner = cores.owner
    match message:
        case Delivered():
            owner.on_delivered(at(TWO[0].node[0]), message)
        case Routed():
            owner.on_routed(at(1), message)
        case WindowUpdate():
            owner.on_window_update(at(TWO[0].node[0]), message)
        case GiveBackRequest():
            owner.inquiries.on_give_back_request(at(64), message)
        case GivenBack():
            for other in (owner_ for owner_ in CUT.owners if owner_.id != node_at(32)):
                owner.on_given_back(other, message)
        case Discharged():
            owner.owed_parcels.on_discharged(at(64), message)
        case CopyStored():
            owner.on_copy_stored(at(64), message)
        case StoreCopy():
            owner.on_store_copy(at(64), message)
        case Publish():
            owner.on_publish(at(9), message)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(SAID, st.integers(1, 14)), max_size=8), st.integers(0, 8), st.booleans())
def test_no_message_makes_an_owner_fall(messages: list[tuple[Message, int]], cut_at: int, is_ordered: bool) -> None:
    """Whatever is said of parcels that it holds and of others; each event it holds, it holds once."""
    first, second = owed_of().owed
    owed = (first, msgspec.structs.replace(second, is_ordered=is_ordered))
    cores = holding(32, msgspec.structs.replace(owed_of(), owed=owed), told_by=64)
    for index, (message, ticks) in enumerate(messages):
        if index == cut_at:
            move(cores, CUT)
        hear(cores, message)
        make_durable(cores.step)
        cores.arc_lease.renew(cores.step.now, None)
        tick(cores.step, cores.owner.tick, ticks)
    kept: list[EventId] = list(cores.owner.status().kept)
    of_four = [event for event in kept if event in {e.id for e in FOUR.events}]
    assert len(of_four) == len(set(of_four))
    parcels = [(piece, piece.parcel) for piece in cores.owner.owed_parcels.log]
    assert all(parcel is None or piece.places & ~parcel.places == 0 for piece, parcel in parcels)
