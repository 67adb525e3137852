"""Casts at one super-node: every half is handed on once, answered once, and never dropped in silence."""

from __future__ import annotations

import pytest

from p2psub.casts.cast import is_doubled
from p2psub.model.content import Guarantee
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import (
    Answer,
    CastRefused,
    ChangeCast,
    Custody,
    CustodyRequest,
    EventCast,
    EventPayload,
    EventSummary,
)
from p2psub.model.messages.cube import SplitRequest
from p2psub.model.messages.pubsub import OutcomeOf, StreamAck, Want
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.places import Entry
from p2psub.model.records import Kind
from tests.unit.bench import (
    CONFIG,
    at,
    bits,
    epoch,
    event_of,
    on_topic,
    parcel_of,
    records_of,
    sent,
    sent_of,
    subscription_of,
    tick,
)
from tests.unit.casts.cubes import CHANGE, FOREIGN, PARENT, Bench, cluster_at, leader_of, multicast, vote
from tests.unit.unsound import UNSOUND


def handed_on(cast: CastId, receiver: str, half: str, hops: int = 1) -> tuple[Contact, ChangeCast]:
    """A half on its way."""
    return leader_of(receiver), ChangeCast(cast, Prefix(half), CHANGE, hops)


def test_root_hands_each_half_to_the_neighbour_there() -> None:
    """One message per dimension, and its own part to its own cluster."""
    bench = Bench("01")
    cast = bench.start()
    assert sent(bench.step) == [handed_on(cast, "11", "1"), handed_on(cast, "00", "00")]
    assert bench.local.taken == [(cast, CHANGE, Prefix("01"))]


def test_root_is_done_when_its_cluster_and_every_half_have_answered() -> None:
    """The summary is the sum; until the last answer nothing is said."""
    bench = Bench("01")
    cast = bench.start()
    bench.casts.answer_locally(cast, vote("01"))
    bench.answer(cast, "1", granted=2)
    assert bench.done == []
    bench.answer(cast, "00")
    assert bench.done == [(vote("01", "1", "00", granted=4), True)]


def test_second_answer_for_a_half_counts_nothing() -> None:
    """Two receivers may cover one half after a retry: the first answer fills the slot, the second is only counted."""
    bench = Bench("01")
    cast = bench.start()
    bench.answer(cast, "1", granted=2)
    bench.answer(cast, "1", granted=2)
    bench.casts.answer_locally(cast, vote("01"))
    bench.answer(cast, "00")
    bench.answer(cast, "00")
    assert bench.done == [(vote("01", "1", "00", granted=4), True)]
    assert [record.reason for record in records_of(bench.step, Kind.DUPLICATE)] == ["late_answer"] * 2


def test_vote_against_goes_up_at_once() -> None:
    """What is silent, here our own cluster, must not keep it from the root. It is repeated as any answer."""
    bench, against = Bench("10"), vote("11", granted=0, refused=1)
    bench.ask("1")
    sent(bench.step)
    bench.casts.on_answer(leader_of("11"), Answer(FOREIGN, Prefix("11"), against))
    answer = (PARENT, Answer(FOREIGN, Prefix("1"), against))
    assert sent(bench.step) == [answer]
    bench.casts.answer_locally(FOREIGN, vote("10"))
    assert sent(bench.step) == []
    bench.ask("1")
    assert sent(bench.step) == [answer]


def test_root_is_done_with_the_first_vote_against() -> None:
    """Its own cluster's, here; what the halves answer later is only counted."""
    bench = Bench("01")
    cast = bench.start()
    bench.casts.answer_locally(cast, vote("01", granted=0, refused=1))
    assert bench.done == [(vote("01", granted=0, refused=1), True)]
    bench.answer(cast, "1")
    bench.answer(cast, "00")
    assert len(bench.done) == 1
    assert [record.reason for record in records_of(bench.step, Kind.DUPLICATE)] == ["late_answer"] * 2


def test_receiver_covers_only_its_subcube() -> None:
    """Asked for the half "1", it hands on "11" and nothing of the other half (Hyper 2.1)."""
    bench = Bench("10")
    bench.ask("1", hops=1)
    assert sent(bench.step) == [handed_on(FOREIGN, "11", "11", hops=2)]
    assert bench.local.taken == [(FOREIGN, CHANGE, Prefix("10"))]


def test_custody_is_taken_once_of_what_is_still_open_at_the_next_tick() -> None:
    """A quick answer says as much, so it comes alone."""
    slow, quick = Bench("11"), Bench("11")
    slow.ask("11")
    tick(slow.step, slow.casts.tick, 2)
    assert sent(slow.step) == [(PARENT, Custody(FOREIGN, Prefix("11")))]
    quick.ask("11")
    quick.casts.answer_locally(FOREIGN, vote("11"))
    tick(quick.step, quick.casts.tick, 2)
    assert sent(quick.step) == [(PARENT, Answer(FOREIGN, Prefix("11"), vote("11")))]


def test_answer_goes_up_when_the_whole_subcube_is_covered() -> None:
    """Never a part of it: the parent would take that for all."""
    bench = Bench("10")
    bench.ask("1")
    sent(bench.step)
    bench.casts.answer_locally(FOREIGN, vote("10"))
    assert sent(bench.step) == []
    bench.answer(FOREIGN, "11")
    assert sent(bench.step) == [(PARENT, Answer(FOREIGN, Prefix("1"), vote("10", "11", granted=2)))]


def test_repeated_request_joins_the_open_cast() -> None:
    """Custody at once, but no second walk and no second storing; every parent gets the one answer."""
    bench, other = Bench("10"), at(201)
    bench.ask("1")
    sent(bench.step)
    bench.ask("1", peer=other)
    bench.ask("1")
    assert sent(bench.step) == [(other, Custody(FOREIGN, Prefix("1"))), (PARENT, Custody(FOREIGN, Prefix("1")))]
    assert len(bench.local.taken) == 1
    bench.casts.answer_locally(FOREIGN, vote("10"))
    bench.answer(FOREIGN, "11")
    answer = Answer(FOREIGN, Prefix("1"), vote("10", "11", granted=2))
    assert sent(bench.step) == [(PARENT, answer), (other, answer)]


def test_one_answer_serves_a_subcube_and_the_one_that_it_lies_in() -> None:
    """Asked for "10", and after a super-node died for "1", too: what both have is handed on once, for both."""
    bench, other = Bench("100", ("100", "101", "11", "0")), at(201)
    bench.ask("10", hops=2)
    bench.ask("1", peer=other)
    assert sent(bench.step) == [handed_on(FOREIGN, "101", "101", hops=3), handed_on(FOREIGN, "11", "11", hops=2)]
    bench.answer(FOREIGN, "101")
    bench.answer(FOREIGN, "11")
    bench.casts.answer_locally(FOREIGN, vote("100"))
    assert sent(bench.step) == [
        (PARENT, Answer(FOREIGN, Prefix("10"), vote("100", "101", granted=2))),
        (other, Answer(FOREIGN, Prefix("1"), vote("100", "11", "101", granted=3))),
    ]
    tick(bench.step, bench.casts.tick, CONFIG.cube.custody_ticks)
    assert sent(bench.step) == []


def test_a_shared_half_outlives_the_first_of_its_casts() -> None:
    """The first ran out of time; the other still gets its answer."""
    bench, other = Bench("100", ("100", "101", "11", "0")), at(201)
    bench.ask("10", hops=2)
    tick(bench.step, bench.casts.tick, CONFIG.cube.cast_ticks_max)
    bench.ask("1", peer=other)
    tick(bench.step, bench.casts.tick, 2)
    sent(bench.step)
    for half in ("101", "11"):
        bench.answer(FOREIGN, half)
    bench.casts.answer_locally(FOREIGN, vote("100"))
    assert sent(bench.step) == [(other, Answer(FOREIGN, Prefix("1"), vote("100", "11", "101", granted=3)))]


def test_repeated_request_after_the_answer_is_answered_from_memory() -> None:
    """The answer was lost: it is the same again, and nobody below is bothered."""
    bench = Bench("11")
    bench.ask("11")
    bench.casts.answer_locally(FOREIGN, vote("11"))
    sent(bench.step)
    bench.ask("11")
    again = Answer(FOREIGN, Prefix("11"), vote("11"))
    assert sent(bench.step) == [(PARENT, again)]
    assert len(bench.local.taken) == 1


def test_cast_for_a_foreign_subcube_is_refused_with_its_owner() -> None:
    """Two nodes with different directories: the sender learns, and tries again where it belongs."""
    bench = Bench("10")
    bench.ask("0")
    assert sent(bench.step) == [(PARENT, CastRefused(FOREIGN, Prefix("0"), bench.directory.entries()))]
    assert bench.local.taken == []


def test_refusal_teaches_the_sender_who_owns_the_half() -> None:
    """The next try goes to the owner that the refusal named."""
    bench = Bench("0", ("0", "1"))
    cast = bench.start()
    sent(bench.step)
    new_super_node = at(250)
    newer = Entry(cluster_at("1"), Prefix("1"), 1, new_super_node, epoch(2, 250), 1)
    bench.casts.on_custody(leader_of("1"), Custody(cast, Prefix("1")))
    bench.casts.on_cast_refused(leader_of("1"), CastRefused(cast, Prefix("1"), (newer,)))
    tick(bench.step, bench.casts.tick, CONFIG.cube.custody_ticks)
    assert sent(bench.step) == [(new_super_node, ChangeCast(cast, Prefix("1"), CHANGE, 1))]


def test_half_without_custody_is_tried_through_another_contact() -> None:
    """The first receiver may be gone: if it does not say either whether it has it, somebody else in that half."""
    bench = Bench("00")
    cast = bench.start()
    sent(bench.step)
    bench.casts.on_custody(leader_of("01"), Custody(cast, Prefix("01")))
    tick(bench.step, bench.casts.tick, CONFIG.cube.custody_ticks - 1)
    assert sent(bench.step) == []
    tick(bench.step, bench.casts.tick)
    assert sent(bench.step) == [(leader_of("10"), CustodyRequest(cast, Prefix("1")))]
    tick(bench.step, bench.casts.tick, 2 * CONFIG.cube.custody_ticks)
    assert sent(bench.step) == [handed_on(cast, "11", "1")]


def test_half_in_custody_is_not_repeated_however_slow_the_answer() -> None:
    """While custody is renewed, only a death of the holder starts it anew: a slow answer is no reason for that."""
    bench = Bench("00")
    cast = bench.start()
    sent(bench.step)
    dying_ticks = CONFIG.liveness.unreachable_after_ticks
    for count in range(1, CONFIG.cube.cast_ticks_max - dying_ticks):
        tick(bench.step, bench.casts.tick)
        for holder, half in (("10", "1"), ("01", "01")) if count == 1 or is_doubled(count, 6) else ():
            bench.casts.on_custody(leader_of(holder), Custody(cast, Prefix(half)))
    assert sent(bench.step) == []
    bench.kill("10")
    tick(bench.step, bench.casts.tick)
    assert sent(bench.step) == [handed_on(cast, "11", "1")]


def test_custody_counts_from_the_holder_alone() -> None:
    """A late word of the receiver before does not stop the retry."""
    bench = Bench("00")
    cast = bench.start()
    sent(bench.step)
    bench.casts.on_custody(leader_of("11"), Custody(cast, Prefix("1")))
    tick(bench.step, bench.casts.tick, CONFIG.cube.custody_ticks)
    assert [message.subcube for _, message in sent(bench.step) if isinstance(message, CustodyRequest)] == ["1", "01"]


def test_cast_that_stays_open_ends_incomplete() -> None:
    """The root is told what came in, and that it is not all; a parent is told nothing that it could take for all."""
    root, relay = Bench("0", ("0", "1")), Bench("10")
    cast = root.start()
    root.casts.answer_locally(cast, vote("0"))
    tick(root.step, root.casts.tick, CONFIG.cube.cast_ticks_max + 1)
    assert root.done == [(vote("0"), False)]
    relay.ask("1")
    relay.casts.answer_locally(FOREIGN, vote("10"))
    tick(relay.step, relay.casts.tick, CONFIG.cube.cast_ticks_max + 1)
    assert [message for _, message in sent(relay.step) if isinstance(message, Answer)] == []


def test_founder_that_is_filling_gets_the_cast_too() -> None:
    """The old super-node hands on, and answers for both only when both have it."""
    bench, founder = Bench("1", ("0", "1")), at(240)
    bench.cube.on_split_request(founder, SplitRequest(ClusterId("new"), founder))
    sent(bench.step)
    bench.ask("1")
    assert sent(bench.step) == [(founder, ChangeCast(FOREIGN, Prefix("11"), CHANGE, 2))]
    bench.casts.answer_locally(FOREIGN, vote("1"))
    assert sent(bench.step) == []
    bench.answer(FOREIGN, "11")
    assert sent(bench.step) == [(PARENT, Answer(FOREIGN, Prefix("1"), vote("1", "11", granted=2)))]


def test_deposed_super_node_sends_its_parents_elsewhere() -> None:
    """What it left undone must be asked of its successor; late answers do nothing."""
    bench = Bench("10")
    bench.ask("1")
    sent(bench.step)
    bench.casts.abandon()
    assert sent(bench.step) == [(PARENT, CastRefused(FOREIGN, Prefix("1"), bench.directory.entries()))]
    bench.casts.answer_locally(FOREIGN, vote("10"))
    bench.answer(FOREIGN, "11")
    assert sent(bench.step) == []


OWNER = Process(at(32), 5)


def _subscription(said: OutcomeOf | StreamAck) -> SubscriptionId:
    return said.subscription


def test_multicast_enters_only_halves_that_hold_a_target() -> None:
    """Each half gets its own targets; a cluster that is none is asked nothing."""
    bench = Bench("00")
    cast = bench.start(multicast("10", "11"))
    assert sent(bench.step) == [(leader_of("10"), EventCast(cast, Prefix("1"), multicast("10", "11"), 1))]
    assert bench.local.taken == []
    both = bench.start(multicast("01", "11"))
    assert sent_of(bench.step, EventCast) == [
        (leader_of("11"), EventCast(both, Prefix("1"), multicast("11"), 1)),
        (leader_of("01"), EventCast(both, Prefix("01"), multicast("01"), 1)),
    ]


def test_what_comes_of_a_repetition_says_so_on_every_hop() -> None:
    """A subscriber beyond may have had it by another way: nobody on ours may answer in its stead."""
    root = Bench("00")
    cast = root.start(multicast("10", "11"))
    ((_, first),) = sent_of(root.step, EventCast)
    root.casts.on_cast_refused(leader_of("10"), CastRefused(cast, Prefix("1"), ()))
    tick(root.step, root.casts.tick)
    ((_, again),) = sent_of(root.step, EventCast)
    assert (first.is_repeated, again.is_repeated) == (False, True)
    hop = Bench("10")
    hop.casts.on_cast(leader_of("00"), again)
    beyond = again.payload.restrict(Prefix("11"))
    assert beyond is not None
    assert beyond.is_repeated
    assert sent(hop.step) == [(leader_of("11"), EventCast(cast, Prefix("11"), beyond, 2))]


def test_multicast_gathers_every_outcome() -> None:
    """What each subtree says of its subscriptions, and of the owner's streams, comes together at the root."""
    bench = Bench("00")
    payload = multicast("00", "01", "11")
    cast = bench.start(payload)
    said = {
        prefix: EventSummary(
            (OutcomeOf(want.subscription, Outcome.DELIVERED, b""),), (StreamAck(want.subscription, 1, 1, b"", 9),)
        )
        for _, prefix, (want,), _ in payload.targets
    }
    bench.casts.answer_locally(cast, said[Prefix("00")])
    for half, target in (("1", "11"), ("01", "01")):
        bench.casts.on_answer(leader_of(half), Answer(cast, Prefix(half), said[Prefix(target)]))
    ((summary, is_whole),) = bench.done
    assert isinstance(summary, EventSummary)
    assert is_whole
    told = [outcome for part in said.values() for outcome in part.outcomes]
    assert sorted(summary.outcomes, key=_subscription) == sorted(told, key=_subscription)
    acks = [ack for part in said.values() for ack in part.acks]
    assert sorted(summary.acks, key=_subscription) == sorted(acks, key=_subscription)


def test_at_most_once_waits_for_nobody() -> None:
    """It is sent down once, without custody or answer; a repeated copy is not handed on again."""
    bench = Bench("10")
    asked = EventCast(FOREIGN, Prefix("1"), multicast("10", "11", guarantee=Guarantee.AT_MOST_ONCE), 1)
    bench.casts.on_cast(PARENT, asked)
    bench.casts.answer_locally(FOREIGN, EventSummary(()))
    bench.casts.on_cast(PARENT, asked)
    below = EventCast(FOREIGN, Prefix("11"), multicast("11", guarantee=Guarantee.AT_MOST_ONCE), 2)
    assert sent(bench.step) == [(leader_of("11"), below)]
    assert len(bench.local.taken) == 1
    tick(bench.step, bench.casts.tick, 10)
    assert sent(bench.step) == []


def test_cluster_without_a_place_finishes_at_once_and_says_so() -> None:
    """Nothing was covered: whoever asked must not take that for success."""
    bench = Bench("00", ())
    bench.start()
    assert bench.done == [(vote(granted=0), False)]


# Payloads


def test_change_concerns_every_half_and_its_votes_are_summed() -> None:
    """Nothing is cut off for a half; of no votes the sum is empty."""
    assert CHANGE.restrict(Prefix("1")) is CHANGE
    assert CHANGE.has_part_in(Prefix("01"))
    assert CHANGE.wants_answer
    assert CHANGE.merge(()) == vote(granted=0)
    assert CHANGE.merge([vote("0"), vote("1", refused=2)]) == vote("0", "1", granted=2, refused=2)


def test_event_is_cut_down_to_the_targets_of_a_half() -> None:
    """What concerns no cluster there is not sent there; what concerns all of them is sent as it is."""
    payload = multicast("10", "01")
    assert payload.restrict(Prefix("1")) == multicast("10")
    assert payload.restrict(Prefix("11")) is None
    assert payload.restrict(Prefix("")) is payload
    assert [prefix for prefix in ("1", "10", "100", "11", "00") if payload.has_part_in(Prefix(prefix))] == [
        "1",
        "10",
        "100",
    ]


def test_half_gets_only_the_events_that_a_target_there_wants() -> None:
    """The rest of the parcel stays behind; what travels names the same places, numbers and owner as before."""
    parcel = parcel_of(*(event_of("x", n) for n in range(1, 6)))
    low, high = (subscription_of(on_topic("x"), n).id for n in (1, 2))
    near = (cluster_at("0"), Prefix("0"), (Want(low, bits(0, 1), 3, 2),), ())
    far = (cluster_at("1"), Prefix("1"), (Want(high, bits(1, 4), 5, 4),), ())
    payload = EventPayload(parcel, Micros(7), (near, far), (), OWNER)
    assert payload.restrict(Prefix("1")) == EventPayload(parcel.part(0b10010), Micros(7), (far,), (), OWNER)
    assert payload.restrict(Prefix("")) is payload
    nothing = (cluster_at("1"), Prefix("1"), (Want(high, bits(9)),), ())
    assert EventPayload(parcel, Micros(7), (near, nothing)).restrict(Prefix("1")) is None, "no such place"


@pytest.mark.parametrize("parcel", UNSOUND.values(), ids=UNSOUND)
def test_no_half_gets_a_part_of_an_unsound_parcel(parcel: Parcel) -> None:
    """A super-node that lies takes no other down: there is no telling which events its places name."""
    one, other = (subscription_of(on_topic("x"), n).id for n in (1, 2))
    near = (cluster_at("0"), Prefix("0"), (Want(one, bits(0)),), ())
    far = (cluster_at("1"), Prefix("1"), (Want(other, bits(1)),), ())
    assert EventPayload(parcel, Micros(7), (near, far)).restrict(Prefix("1")) is None


def test_summary_of_another_kind_counts_nothing() -> None:
    """A liar may answer a multicast with votes, or a broadcast with outcomes: neither is merged."""
    said = EventSummary((OutcomeOf(subscription_of(on_topic("x")).id, Outcome.DELIVERED, b""),))
    assert multicast("1").merge([vote("1"), said]) == said
    assert CHANGE.merge([said, vote("1")]) == vote("1")
