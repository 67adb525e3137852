"""Parcels at their owner: it takes the part that is its own, answers for each event, and pays what is still owed."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.content import TOPIC as TOPIC_NAME
from p2psub.model.content import Event, Filter, Operator, Predicate
from p2psub.model.effects import Persist
from p2psub.model.ids import EventId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    CopyStored,
    Deliver,
    Delivered,
    NotOwner,
    OutcomeOf,
    Publish,
    Route,
    Routed,
    StoreCopy,
    StreamAck,
    Want,
)
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.model.rights import Rights
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    bits,
    effects_of,
    event_of,
    forget,
    make_durable,
    parcel_of,
    records_of,
    sent,
    sent_of,
    subscription_of,
    tick,
    topic_in,
)
from tests.unit.owner.copies import owed_in
from tests.unit.owner.owners import (
    ALONE,
    ALSO_THERE,
    ELSEWHERE,
    HERE,
    PROCESS,
    PUBLISHER,
    TABLE,
    THERE,
    TOPIC,
    confirm,
    outcomes,
    owner,
    paid,
    publish,
    stored,
)
from tests.unit.unsound import UNSOUND


def numbered(n: int, topic: str = TOPIC, retain_us: int = 0) -> Event:
    """An event that says its number."""
    return msgspec.structs.replace(event_of(topic, n, retain_us=retain_us), attributes={"n": n})


def up_to(n: int) -> Filter:
    """Wants the first n events of the topic."""
    return Filter(((Predicate(TOPIC_NAME, Operator.EQUAL, TOPIC), Predicate("n", Operator.LESS_EQUAL, n)),))


FOUR = parcel_of(*(numbered(n) for n in (1, 2, 3, 4)))
FIRST_TWO = subscription_of(up_to(2), 4, subscriber=96)


def answers(cores: Cores) -> list[Acknowledged]:
    """What the publisher was told of its events since the last look; other messages are thrown away."""
    told = sent_of(cores.step, Acknowledge)
    assert all(to == PUBLISHER for to, _ in told)
    return [said for _, answer in told for said in answer.outcomes]


def runs(records: list[Record]) -> list[tuple[EventId | None, int | None]]:
    """The events that records name."""
    return [(record.event, record.run) for record in records]


def end(cores: Cores, *ends: tuple[Outcome, bytes]) -> None:
    """The subscriber says how events of the parcel ended."""
    said = tuple(OutcomeOf(HERE.id, outcome, places) for outcome, places in ends)
    is_full = any(outcome is Outcome.DEFERRED for outcome, _ in ends)
    acks = (StreamAck(HERE.id, 1, 0, b"", 0),) if is_full else ()
    cores.owner.on_delivered(at(96), Delivered(FOUR.id, said, PROCESS, acks))


# Taking


def test_owner_takes_its_own_part_and_names_the_owners_of_the_rest() -> None:
    """A parcel may hold several keys, and after a new table they have several owners."""
    second, third = topic_in(32, 64), topic_in(64, 96)
    parcel = parcel_of(*(event_of(t, n) for n, t in enumerate((TOPIC, second, TOPIC, third, second), 1)))
    cores = owner(HERE)
    publish(cores, parcel)
    named = ((bits(1, 4), at(64)), (bits(3), at(96)))
    assert [send for send in sent(cores.step) if not isinstance(send[1], StoreCopy)] == [
        (PUBLISHER, NotOwner(parcel.id, named))
    ]
    assert [owed.parcel for owed in owed_in(cores)] == [parcel.part(0b00101)]
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)
    assert answers(cores) == [Acknowledged(bits(0, 2), 3, 1)]


def test_each_event_of_a_parcel_needs_the_right_to_its_topic() -> None:
    """The others are taken; of those without, the publisher hears why."""
    cores = owner(HERE)
    other = topic_in(128, 32)
    cores.permits.link_up(PUBLISHER.id, Rights(publish=(TOPIC,)))
    parcel = parcel_of(event_of(TOPIC, 1), event_of(f"{other}x", 2), event_of(TOPIC, 3))
    publish(cores, parcel)
    assert answers(cores) == [Acknowledged(bits(1), refused=Reason.NOT_AUTHORIZED)]
    assert runs(records_of(cores.step, Kind.DROP)) == [(parcel.events[1].id, None)]
    assert cores.owner.owed_parcels.log.count == 2


def test_each_event_is_acknowledged_with_its_own_matches() -> None:
    """As many subscriptions as want it, however the others of its parcel fare; so it is in the trace."""
    cores, _ = stored(HERE, FIRST_TWO, THERE, parcel=FOUR)
    matched = {(record.event, record.run): record.matched for record in records_of(cores.step, Kind.STORE)}
    assert matched == {(FOUR.events[0].id, 2): 3, (FOUR.events[2].id, 2): 2}
    told = {(said.copies, said.matched): said.bitmap for said in answers(cores)}
    assert told == {(3, 3): bits(0, 1), (3, 2): bits(2, 3)}


@pytest.mark.parametrize("count", range(1, 10))
def test_matches_are_counted_for_any_number_of_subscriptions(count: int) -> None:
    """The n-th event is wanted by all but the first n - 1 of them."""
    records = [subscription_of(up_to(n), n, subscriber=96) for n in range(1, count + 1)]
    cores = owner(*records, table=ALONE)
    publish(cores, parcel_of(*(numbered(n) for n in range(1, count + 2))))
    make_durable(cores.step)
    told = {said.matched: (said.copies, said.bitmap) for said in answers(cores)}
    assert told == {count + 1 - n: (1 if n <= count else 0, bits(n - 1)) for n in range(1, count + 2)}


def test_what_nobody_wants_is_acknowledged_at_once_and_kept_by_nobody() -> None:
    """With 0 copies, as is true; the events beside it wait for theirs."""
    cores = owner(FIRST_TWO)
    publish(cores, FOUR)
    asked = [message for _, message in cores.step.sends if isinstance(message, StoreCopy)]
    assert [owed.parcel for ask in asked for owed in ask.owed_parcels] == [FOUR.part(0b0011)] * 2
    assert answers(cores) == [Acknowledged(bits(2, 3), 0, 0)]
    (store,) = records_of(cores.step, Kind.STORE)
    assert (store.event, store.run, store.matched) == (FOUR.events[2].id, 2, 0)
    make_durable(cores.step)
    confirm(cores, FOUR, 64, 96)
    assert answers(cores) == [Acknowledged(bits(0, 1), 3, 1)]


def test_parcel_that_nobody_wants_costs_neither_row_nor_copy() -> None:
    """And is over: the trace says so."""
    cores = owner()
    publish(cores, FOUR)
    assert [type(message) for _, message in cores.step.sends] == [Acknowledge]
    assert answers(cores) == [Acknowledged(bits(0, 1, 2, 3), 0, 0)]
    assert runs(records_of(cores.step, Kind.DISCHARGE)) == [(FOUR.first, 4)]
    assert effects_of(cores.step, Persist) == []
    assert [effect for effect in make_durable(cores.step) if isinstance(effect, Persist) and effect.writes] == []


def test_retained_events_that_nobody_wants_are_copied_all_the_same() -> None:
    """A later subscription may get them: they are acknowledged like what is owed, with 0 matches."""
    parcel = parcel_of(numbered(1), numbered(2, retain_us=60 * SECOND_US), numbered(3))
    cores = owner()
    publish(cores, parcel)
    told = sent(cores.step)
    assert [to for to, message in told if isinstance(message, StoreCopy)] == [at(64), at(96)]
    nothing = (PUBLISHER, Acknowledge(parcel.id, (Acknowledged(bits(0, 2), 0, 0),)))
    assert [send for send in told if isinstance(send[1], Acknowledge)] == [nothing]
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)
    assert answers(cores) == [Acknowledged(bits(1), 3, 0)]
    assert cores.owner.owed_parcels.log.count == 0
    late = subscription_of(up_to(9), 5, subscriber=96, replay=True)
    assert cores.owner.replay(late) == 1


def test_replay_owes_the_retained_events_that_match_and_retains_them_once() -> None:
    """Of a parcel only those; when they are discharged again the next subscription gets the same."""
    parcel = parcel_of(*(numbered(n, retain_us=60 * SECOND_US) for n in (1, 2, 3)))
    cores = owner(table=ALONE)
    publish(cores, parcel)
    make_durable(cores.step)
    forget(cores.step)
    for number in (1, 2, 3):
        late = subscription_of(up_to(2), 4 + number, subscriber=96, replay=True)
        assert cores.owner.replay(late) == 2
        make_durable(cores.step)
        deliver = Deliver(parcel.part(0b011), Micros(0), (Want(late.id, b"", number, number - 1),), (), PROCESS)
        assert sent_of(cores.step, Deliver) == [(at(96), deliver)]
        done = OutcomeOf(late.id, Outcome.DELIVERED, b"")
        cores.owner.on_delivered(at(96), Delivered(parcel.id, (done,)))
    assert cores.owner.owed_parcels.log.count == 0


# Again


def test_repeated_part_whose_matches_are_being_gathered_is_not_gathered_again() -> None:
    """Only what is new of it is: two gatherings under way, each for its own events."""
    cores = owner(HERE)
    cores.owner.on_publish(PUBLISHER, Publish(FOUR.part(0b0011), Micros(0)))
    first = sent_of(cores.step, MatchRequest)
    cores.owner.on_publish(PUBLISHER, Publish(FOUR.part(0b0111), Micros(0)))
    second = sent_of(cores.step, MatchRequest)
    assert {tuple(event.id.sequence for event in ask.events) for _, ask in first} == {(1, 2)}
    assert {tuple(event.id.sequence for event in ask.events) for _, ask in second} == {(3,)}
    cores.owner.on_publish(PUBLISHER, Publish(FOUR.part(0b0110), Micros(0)))
    assert sent(cores.step) == []
    for to, ask in (*second, *first):
        cores.owner.on_match_response(to, MatchResponse(CLUSTER, ask.shard, ask.number, (), (), False))
    assert sorted(held.places for held in cores.owner.owed_parcels.log) == [0b0011, 0b0100]
    make_durable(cores.step)
    confirm(cores, FOUR, 64, 96)
    assert sorted(said.bitmap for said in answers(cores)) == [bits(0, 1), bits(2)]


def test_repeated_part_is_answered_from_what_is_held_and_what_is_over() -> None:
    """Each event with what was said of it before; nothing is stored, copied or paid again."""
    cores = owner(FIRST_TWO)
    publish(cores, FOUR)
    make_durable(cores.step)
    confirm(cores, FOUR, 64, 96)
    forget(cores.step)
    publish(cores, FOUR.part(0b0110))
    said = answers(cores)
    assert Acknowledged(bits(2), 0, 0) in said
    assert [(one.copies, one.matched) for one in said if one.bitmap != bits(2)] == [(3, 1)]
    assert runs(records_of(cores.step, Kind.DUPLICATE)) == [(FOUR.events[1].id, 2)]
    done = OutcomeOf(FIRST_TWO.id, Outcome.DELIVERED, b"")
    cores.owner.on_delivered(at(96), Delivered(FOUR.id, (done,)))
    assert cores.owner.owed_parcels.log.count == 0
    publish(cores, FOUR.part(0b0110))
    assert {(one.bitmap, one.copies, one.matched) for one in answers(cores)} == {(bits(1), 3, 1), (bits(2), 0, 0)}
    assert cores.owner.owed_parcels.log.count == 0


def test_repeated_publish_does_not_acknowledge_what_lacks_copies() -> None:
    """Asked twice, it still waits for the members that hold it."""
    cores = owner(HERE)
    publish(cores, FOUR)
    publish(cores, FOUR.part(0b0001))
    make_durable(cores.step)
    confirm(cores, FOUR, 64)
    publish(cores, FOUR.part(0b1000))
    assert answers(cores) == []
    confirm(cores, FOUR, 96)
    assert answers(cores) == [Acknowledged(bits(0, 1, 2, 3), 3, 1)]


def test_copies_count_when_they_are_of_every_event() -> None:
    """A holder that was asked in other pieces states them one by one: only together they are a copy."""
    cores = owner(HERE)
    publish(cores, FOUR)
    make_durable(cores.step)
    confirm(cores, FOUR, 64)
    forget(cores.step)
    ((id_, version),) = [(held.id, TABLE.version) for held in cores.owner.owed_parcels.log]
    cores.owner.on_copy_stored(at(96), CopyStored(CLUSTER, ((id_, bits(0, 1)),), version))
    assert answers(cores) == []
    earlier = version._replace(n=0)
    cores.owner.on_copy_stored(at(96), CopyStored(CLUSTER, ((id_, bits(2, 3)),), earlier))
    assert answers(cores) == [], "by an older table: what it held by the newer one is not known to be with these"
    cores.owner.on_copy_stored(at(96), CopyStored(CLUSTER, ((id_, bits(1, 3)), (id_, bits(0, 2, 9))), version))
    assert answers(cores) == [Acknowledged(bits(0, 1, 2, 3), 3, 1)]


# Paying


def test_each_subscription_gets_its_own_events_of_a_parcel() -> None:
    """A peer one message with what any of its subscriptions wants; other clusters one multicast."""
    cores, _ = stored(HERE, FIRST_TWO, THERE, parcel=FOUR)
    wants = (Want(HERE.id, b"", 1, 0), Want(FIRST_TWO.id, bits(0, 1), 1, 0))
    there = ((ELSEWHERE, (Want(THERE.id, b"", 1, 0),), ()),)
    assert paid(cores)[1:] == [
        (at(96), Deliver(FOUR, Micros(0), wants, (), PROCESS)),
        (at(1), Route(1, FOUR, Micros(0), there, (), PROCESS)),
    ]


def test_deferred_events_are_paid_again_and_only_those() -> None:
    """What was delivered has its outcome; of the rest one event is offered again after the short patience."""
    cores, _ = stored(HERE, parcel=FOUR)
    forget(cores.step)
    end(cores, (Outcome.DELIVERED, bits(0, 1)), (Outcome.DEFERRED, bits(2, 3)))
    (record,) = records_of(cores.step, Kind.OUTCOME)
    assert (record.event, record.run, record.outcome) == (FOUR.first, 2, "delivered")
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.retry_ticks)
    age = Micros(CONFIG.pubsub.retry_ticks * CONFIG.tick_us)
    again = Deliver(FOUR.part(0b0100), age, (Want(HERE.id, b"", 1, 0),), (), PROCESS)
    assert paid(cores) == [(at(96), again)], "under its number, though it is less"
    end(cores, (Outcome.DELIVERED, bits(2)))
    assert cores.owner.owed_parcels.log.count == 4, "copies are let go together"
    end(cores, (Outcome.DELIVERED, bits(3)))
    assert cores.owner.owed_parcels.log.count == 0
    assert runs(records_of(cores.step, Kind.DISCHARGE)) == [(FOUR.first, 4)]


def test_outcome_of_some_events_is_recorded_once_for_each() -> None:
    """Repeated, overlapping or of places that are not there: each debt ends once."""
    cores, _ = stored(HERE, ALSO_THERE, parcel=FOUR)
    forget(cores.step)
    end(cores, (Outcome.DELIVERED, bits(1)), (Outcome.ENDED, bits(0, 1, 200)), (Outcome.DELIVERED, bits(0, 1)))
    ended = [(r.event, r.run, r.outcome) for r in records_of(cores.step, Kind.OUTCOME)]
    assert ended == [(FOUR.events[1].id, None, "delivered"), (FOUR.first, None, "ended")]
    cores.owner.on_routed(at(1), Routed(1, FOUR.id, (OutcomeOf(ALSO_THERE.id, Outcome.DELIVERED, bits(3)),)))
    (held,) = cores.owner.owed_parcels.log
    assert held.owed == {HERE.id: (CLUSTER, 0b1100), ALSO_THERE.id: (ELSEWHERE, 0b0111)}


def test_what_is_not_delivered_at_its_time_ends_unreachable() -> None:
    """The undelivered events alone, in one run."""
    cores, _ = stored(HERE, parcel=FOUR)
    end(cores, (Outcome.DELIVERED, bits(0)))
    tick(cores.step, cores.owner.tick)
    forget(cores.step)
    cores.step.now = Micros(CONFIG.pubsub.undelivered_ttl_us + SECOND_US)
    cores.arc_lease.renew(cores.step.now, None)
    tick(cores.step, cores.owner.tick, CONFIG.pubsub.redeliver_ticks)
    (record,) = records_of(cores.step, Kind.OUTCOME)
    assert (record.event, record.run, record.outcome) == (FOUR.events[1].id, 3, "unreachable")
    assert cores.owner.owed_parcels.log.count == 0
    assert [message for _, message in sent(cores.step) if isinstance(message, Route | Deliver)] == []


# Liars


@pytest.mark.parametrize("parcel", UNSOUND.values(), ids=UNSOUND)
def test_unsound_parcel_is_refused_and_kept_by_nobody(parcel: Parcel) -> None:
    """Its publisher hears so; no place that it names is acknowledged."""
    cores = owner(HERE)
    publish(cores, parcel)
    assert [said.refused for said in answers(cores)] == [Reason.FOREIGN_EVENT]
    assert cores.owner.owed_parcels.log.count == 0
    assert outcomes(cores) == []
