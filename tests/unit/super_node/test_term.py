"""A term: nothing is called stable that could be lost, or that some owner might answer without."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace

from p2psub.casts.cast import Casts
from p2psub.model.batches import BATCH_BYTES_MAX
from p2psub.model.changes import LogId
from p2psub.model.content import (
    FILTER_BYTES_MAX,
    Advertisement,
    DeclarationState,
    Filter,
    Operator,
    Predicate,
    Subscription,
)
from p2psub.model.graycode import WHOLE
from p2psub.model.ids import CastId, ClusterId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import ChangePayload, ChangeSummary, Summary
from p2psub.model.messages.cluster import ReplicateChanges, StoreChange
from p2psub.model.messages.declarations import Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.places import Standing
from p2psub.model.rates import RATE_ONE, Demand
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.overlay.census import Census
from p2psub.super_node.confirmations import claims_on_takeover
from p2psub.super_node.term import Beginning, Term
from p2psub.super_node.verdicts import _Own
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    change_of,
    epoch,
    make_durable,
    node_at,
    on_topic,
    records_of,
    sent,
    sent_of,
    subscription_of,
    topic_in,
)
from tests.unit.leaders import Leader

TOPIC = topic_in(32, 64)
"""A topic of the member at 64."""
RECORD = subscription_of(on_topic(TOPIC), subscriber=64)
NOTHING_ADVERTISED = Demand(0, 0, 0, 0)
STABLE = (at(64), Verdict(RECORD.id, 1, VerdictStatus.STABLE, (), demand=NOTHING_ADVERTISED))
LOG = LogId(CLUSTER, epoch(1, 1))


def test_change_is_numbered_replicated_and_stored_at_once() -> None:
    """To the first candidates and to the owner of its key; nobody is told a verdict yet."""
    leader = Leader(32, 64, 128)
    leader.subscribe(64, RECORD)
    change = change_of(RECORD, 1)
    assert sent(leader.step) == [
        (at(32), ReplicateChanges(CLUSTER, leader.grants.epoch, (change,))),
        (at(64), ReplicateChanges(CLUSTER, leader.grants.epoch, (change,))),
        (at(64), StoreChange(CLUSTER, leader.grants.epoch, change, None)),
    ]
    assert [record.number for record in records_of(leader.step, Kind.NUMBER)] == [change.number]


PARTS = ("durable", "owner", "first candidate", "second candidate")


@pytest.mark.parametrize("order", list(permutations(PARTS)), ids="-".join)
def test_subscription_is_stable_with_the_last_of_its_copies(order: tuple[str, ...]) -> None:
    """On our disk, at the owner of its key, at both candidates: stable after the last of them, in whatever order."""
    leader = Leader(32, 64, 128)
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    for part in order:
        assert leader.verdicts_sent() == []
        assert leader.grants.vector == {}
        match part:
            case "durable":
                leader.settle()
            case "owner":
                leader.store_change(64, store)
            case "first candidate":
                leader.hold_changes(32)
            case _:
                leader.hold_changes(64)
    assert leader.verdicts_sent() == [STABLE]
    assert leader.grants.vector == {LOG: 1}


def test_confirmations_of_the_wrong_ones_do_not_count() -> None:
    """Neither another member's word nor another term's."""
    leader = Leader(32, 64, 128)
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    leader.hold_changes(32)
    leader.hold_changes(64)
    leader.store_change(128, store)
    leader.store_change(64, StoreChange(CLUSTER, epoch(0, 1), store.change, None))
    leader.tick(3)
    assert leader.verdicts_sent() == []
    leader.store_change(64, store)
    assert leader.verdicts_sent() == [STABLE]


def test_stream_held_by_another_process_of_a_candidate_does_not_count() -> None:
    """What it says may be from before its restart, with a wiped disk in between."""
    leader = Leader(32, 64)
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    leader.store_change(64, store)
    leader.hold_changes(32)
    leader.hold_changes(64, incarnation=7)
    leader.tick(3)
    assert leader.verdicts_sent() == []
    leader.hold_changes(64)
    assert leader.verdicts_sent() == [STABLE]


def test_unanswered_store_is_repeated_until_confirmed() -> None:
    """To the owner that has not answered, and to it alone."""
    leader = Leader(32, 64)
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.tick(4)
    assert sent_of(leader.step, StoreChange) == [(at(64), store)] * 2
    leader.store_change(64, store)
    leader.tick(4)
    assert sent_of(leader.step, StoreChange) == []


def stable_leader() -> Leader:
    """A term with one stable subscription."""
    leader = Leader(32, 64)
    stabilise(leader, RECORD)
    return leader


def stabilise(leader: Leader, record: Subscription) -> None:
    """Take a record to its verdict."""
    leader.subscribe(record.id.node[0], record)
    answer_stores(leader)
    assert [verdict.status for _, verdict in leader.verdicts_sent()] == [VerdictStatus.STABLE]


def answer_stores(leader: Leader) -> None:
    """Every member asked stores, and every candidate holds."""
    stores = [(to, message) for to, message in leader.step.sends if isinstance(message, StoreChange)]
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    for to, store in stores:
        leader.store_change(to.id[0], store)
    leader.settle()


def test_repeated_request_repeats_the_verdict_and_numbers_nothing() -> None:
    """The verdict may have been lost; the subscription is one change for ever."""
    leader = stable_leader()
    records_of(leader.step, Kind.NUMBER)
    leader.subscribe(64, RECORD)
    assert sent(leader.step) == [STABLE]
    assert records_of(leader.step, Kind.NUMBER) == []


def test_end_is_the_next_change_of_the_same_record() -> None:
    """Unsubscribing is spread like subscribing (Hyper 3.1.3); an old copy of the request does not undo it."""
    leader = stable_leader()
    ended = subscription_of(on_topic(TOPIC), subscriber=64, version=2, is_active=False)
    stabilise(leader, ended)
    assert leader.grants.vector == {LOG: 2}
    assert list(leader.cores.changes.active()) == []
    leader.subscribe(64, RECORD)
    assert sent(leader.step) == [(at(64), Verdict(RECORD.id, 2, VerdictStatus.REFUSED, (), Reason.LAPSED))]
    assert list(leader.cores.changes.active()) == []


def test_peer_cannot_end_the_subscription_of_another() -> None:
    """A record is its own peer's to change."""
    leader = stable_leader()
    leader.subscribe(32, subscription_of(RECORD.filter, subscriber=64, version=2, is_active=False))
    assert list(leader.cores.changes.active()) == [RECORD]


def test_claims_have_no_gaps() -> None:
    """The second change is applied before the first: owners are told of neither until the first is."""
    leader = Leader(32, 64)
    other = subscription_of(on_topic(topic_in(1, 32)), 2, subscriber=64)
    for record in (RECORD, other):
        leader.subscribe(64, record)
    (_, first), (_, second) = sent_of(leader.step, StoreChange)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(32, second)
    assert [verdict.id for _, verdict in leader.verdicts_sent()] == [other.id]
    assert leader.grants.vector == {}
    leader.store_change(64, first)
    assert leader.grants.vector == {LOG: 2}


def test_new_process_of_a_member_ends_the_subscriptions_of_the_old_one() -> None:
    """They ended with it; those of the new process, and of others, stay."""
    leader = stable_leader()
    newer = subscription_of(on_topic(TOPIC), 9, subscriber=64, incarnation=2)
    foreign = subscription_of(on_topic(TOPIC), 9, subscriber=32)
    for record in (newer, foreign):
        leader.subscribe(record.id.node[0], record)
    leader.hear(64, incarnation=2)
    assert list(leader.cores.changes.active()) == [newer, foreign]
    current = leader.cores.changes.current(RECORD.id)
    assert current is not None
    assert (current.record.version, current.record.state) == (2, DeclarationState.ENDED)


def test_peer_that_is_not_heard_loses_its_subscriptions_after_its_lease() -> None:
    """Not earlier, not while it reports; the end is a change like any other."""
    leader = stable_leader()
    lease = CONFIG.cluster.subscriber_lease_ticks
    leader.term.leases.heard(at(64), 1)
    leader.tick(lease - 20)
    leader.term.leases.heard(at(64), 1)
    leader.tick(lease - 20)
    assert list(leader.cores.changes.active()) == [RECORD]
    leader.tick(40)
    assert list(leader.cores.changes.active()) == []


def test_peer_whose_lease_ran_out_is_told_when_it_is_back_and_goes_above() -> None:
    """It was cut off, or slept: what it still means gets the next number."""
    leader = stable_leader()
    leader.tick(CONFIG.cluster.subscriber_lease_ticks + 20)
    sent(leader.step)
    leader.term.leases.heard(at(64), 1)
    assert leader.verdicts_sent() == [(at(64), Verdict(RECORD.id, 2, VerdictStatus.REFUSED, (), Reason.LAPSED))]
    above = subscription_of(RECORD.filter, subscriber=64, version=3)
    leader.subscribe(64, above)
    assert list(leader.cores.changes.active()) == [above]
    sent(leader.step)
    leader.term.leases.heard(at(64), 1)
    assert leader.verdicts_sent() == []


def test_living_peer_is_told_what_the_other_half_of_a_cut_ring_ended() -> None:
    """It reports to us as ever; the other term heard nothing of it. An end that we number ourselves it asked for."""
    leader = stable_leader()
    later = subscription_of(RECORD.filter, 2, subscriber=64)
    stabilise(leader, later)
    leader.term.leases.heard(at(64), 1)
    leader.subscribe(64, subscription_of(RECORD.filter, 2, subscriber=64, version=2, is_active=False))
    ended = subscription_of(RECORD.filter, subscriber=64, version=2, is_active=False)
    leader.term.learn(change_of(ended, 1, epoch(1, 9)))
    sent(leader.step)
    leader.term.leases.heard(at(64), 1)
    assert leader.verdicts_sent() == [(at(64), Verdict(RECORD.id, 2, VerdictStatus.REFUSED, (), Reason.LAPSED))]


def test_restarted_member_must_confirm_and_hold_again() -> None:
    """What a process confirmed died with it."""
    leader = Leader(32, 64)
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    leader.store_change(64, store)
    leader.hold_changes(64)
    leader.term.confirmations.forget(node_at(64))
    leader.term.log.forget(node_at(64))
    leader.hold_changes(32)
    leader.tick(2)
    assert leader.verdicts_sent() == [], "it holds the changes no more"
    leader.hold_changes(64)
    assert leader.verdicts_sent() == [], "nor has its new process stored the change"
    leader.store_change(64, store)
    assert leader.verdicts_sent() == [STABLE]


def test_only_candidates_that_hold_every_claim_are_in_sync() -> None:
    """Whoever takes over without the state must be filled first; so it is not named."""
    leader = stable_leader()
    assert leader.term.in_sync_candidates() == (at(32), at(64))
    leader.term.log.forget(node_at(32))
    assert leader.term.in_sync_candidates() == (at(64),)


def test_nothing_is_applied_while_a_lease_of_the_term_before_may_run() -> None:
    """Somebody may still answer by the last table, of which we know nothing."""
    leader = Leader(32, 64)
    leader.grants.quarantine_until_us = Micros(leader.step.now + 10 * CONFIG.tick_us)
    leader.subscribe(64, RECORD)
    answer_stores(leader)
    leader.tick(9)
    assert leader.verdicts_sent() == []
    leader.tick()
    assert leader.verdicts_sent() == [STABLE]


def test_late_answer_is_told_as_accepted_then_stable() -> None:
    """With the clusters that have not stored it: here ours alone."""
    leader = Leader(32, 64)
    leader.subscribe(64, RECORD)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.tick(CONFIG.cube.accepted_after_ticks - 1)
    assert leader.verdicts_sent() == []
    leader.tick()
    assert leader.verdicts_sent() == [
        (at(64), Verdict(RECORD.id, 1, VerdictStatus.ACCEPTED, (CLUSTER,), demand=NOTHING_ADVERTISED))
    ]
    leader.store_change(64, store)
    assert leader.verdicts_sent() == [STABLE]


def test_a_change_is_not_cast_again_while_a_cast_of_it_is_open() -> None:
    """That hands its halves on again itself; another would send once more what waits for slow links."""
    leader = Leader(32, 64)
    leader.subscribe(64, RECORD)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    own = leader.term.verdicts._own[RECORD.id]
    first = own.cast
    leader.tick(CONFIG.cube.cast_ticks_max)
    assert own.cast == first
    leader.tick(2)
    assert own.cast != first


class Answers(Casts):
    """Casts that note what our cluster answers to those of others."""

    def __init__(self) -> None:
        self.given: list[tuple[CastId, Summary]] = []

    def answer_locally(self, cast: CastId, summary: Summary) -> None:
        self.given.append((cast, summary))


def test_change_of_another_cluster_is_answered_when_it_is_applied_here() -> None:
    """A cast waits for our owners and candidates; a repeated one finds it applied."""
    leader, answers = Leader(32, 64), Answers()
    leader.term.confirmations._casts = answers
    foreign = change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    first, again = (CastId(node_at(200), 1, n) for n in (1, 2))
    leader.term.take(first, ChangePayload(foreign), WHOLE)
    assert answers.given == []
    answer_stores(leader)
    leader.term.take(again, ChangePayload(foreign), WHOLE)
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 1, 0, 0)) for cast in (first, again)]


def test_repeated_cast_repeats_the_refusal() -> None:
    """Once refused, a change stays refused, whichever cast of it asks."""
    leader, answers = Leader(32, 64), Answers()
    leader.term.confirmations._casts = answers
    foreign = change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    first, again = (CastId(node_at(200), 1, n) for n in (1, 2))
    leader.term.take(first, ChangePayload(foreign), WHOLE)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(64, store, granted=False)
    leader.term.take(again, ChangePayload(foreign), WHOLE)
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 0, 1, 0)) for cast in (first, again)]


def test_refusal_is_answered_before_anything_else_is_known() -> None:
    """Neither our disk nor our candidates can change it."""
    leader, answers = Leader(32, 64), Answers()
    leader.term.confirmations._casts = answers
    cast, foreign = CastId(node_at(200), 1, 1), change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    leader.term.take(cast, ChangePayload(foreign), WHOLE)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.store_change(64, store, granted=False)
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 0, 1, 0))]


def test_refusal_is_told_when_its_end_outlives_us() -> None:
    """Not before: a successor that does not know the end would let the subscription stand, and its peer ask no more."""
    leader = refused_leader()
    refused = (at(64), Verdict(RECORD.id, 1, VerdictStatus.REFUSED, (), Reason.VOTED_DOWN))
    leader.settle()
    leader.subscribe(64, RECORD)
    assert leader.verdicts_sent() == []
    for place in (32, 64):
        leader.hold_changes(place)
    assert leader.verdicts_sent() == [refused]
    leader.subscribe(64, RECORD)
    assert leader.verdicts_sent() == [refused], "repeated when it is asked again"


def refused_leader() -> Leader:
    """A term whose owner has just voted against its one subscription."""
    leader = Leader(32, 64)
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(64, store, granted=False)
    return leader


def test_refused_change_is_claimed_together_with_its_end() -> None:
    """An heir knows of every claimed change that it was granted, or has ended. Later ones wait until then."""
    leader = refused_leader()
    other = subscription_of(on_topic(TOPIC), 2, subscriber=64)
    leader.subscribe(64, other)
    end, later = (store for _, store in sent_of(leader.step, StoreChange))
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(64, later)
    leader.tick()
    assert leader.grants.vector == {}
    leader.store_change(64, end)
    leader.tick()
    assert leader.grants.vector == {LOG: 3}


def test_older_cast_concludes_nothing() -> None:
    """A4: a cast that was followed by another may end after the verdict, with another answer."""
    leader, own = Leader(32, 64), list[_Own]()
    verdicts = leader.term.verdicts
    verdicts._cast = own.append  # type: ignore[method-assign,assignment]
    leader.subscribe(64, RECORD)
    answer_stores(leader)
    stable, refused = ChangeSummary((WHOLE,), 1, 0, 0), ChangeSummary((), 0, 1, 0)
    verdicts._cast_done(own[0], stable)
    verdicts._cast_done(own[0], refused)
    assert leader.verdicts_sent() == [STABLE]
    later = subscription_of(on_topic(TOPIC), 2, subscriber=64)
    leader.subscribe(64, later)
    answer_stores(leader)
    for summary in (refused, refused, stable):
        verdicts._cast_done(own[1], summary)
    assert leader.cores.changes.vector == {LOG: 3}, "one end, not two"
    assert leader.verdicts_sent() == []


def test_late_refusal_does_not_undo_an_end_that_its_peer_asked_for() -> None:
    """The cast of the version before comes back when there is a later one."""
    leader, own = Leader(32, 64), list[_Own]()
    verdicts = leader.term.verdicts
    verdicts._cast = own.append  # type: ignore[method-assign,assignment]
    leader.subscribe(64, RECORD)
    answer_stores(leader)
    leader.subscribe(64, subscription_of(on_topic(TOPIC), subscriber=64, version=2, is_active=False))
    sent(leader.step)
    verdicts._cast_done(own[0], ChangeSummary((), 0, 1, 0))
    assert leader.grants.changes.vector == {LOG: 2}
    assert leader.verdicts_sent() == []


def test_cluster_without_a_place_refuses_nothing() -> None:
    """What it fills up with was decided without it, and would keep it from its place."""
    leader, answers = Leader(32, 64), Answers()
    leader.term.confirmations._casts = answers
    entry = leader.cores.cube.entry
    assert entry is not None
    leader.cores.directory.merge([replace(entry, version=entry.version + 1, standing=Standing.LOST)])
    cast, foreign = CastId(node_at(200), 1, 1), change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    leader.term.take(cast, ChangePayload(foreign), WHOLE)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.store_change(64, store, granted=False)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.tick()
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 1, 0, 0))]
    assert leader.grants.vector == {foreign.number.log: 1}


def test_cluster_that_lost_its_place_takes_back_what_it_refused() -> None:
    """Else its claims would never reach what it must hold for another place; and what is claimed stays granted."""
    leader, answers = Leader(32, 64), Answers()
    leader.term.confirmations._casts = answers
    first, again = (CastId(node_at(200), 1, n) for n in (1, 2))
    foreign = change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    leader.term.take(first, ChangePayload(foreign), WHOLE)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(64, store, granted=False)
    entry = leader.cores.cube.entry
    assert entry is not None
    leader.cores.directory.merge([replace(entry, version=entry.version + 1, standing=Standing.LOST)])
    leader.tick()
    assert leader.grants.vector == {foreign.number.log: 1}
    leader.cores.directory.merge([replace(entry, version=entry.version + 2)])
    leader.term.take(again, ChangePayload(foreign), WHOLE)
    assert [summary.refused for _, summary in answers.given if isinstance(summary, ChangeSummary)] == [1, 0]


def test_later_version_of_what_was_refused_is_judged_anew() -> None:
    """Its peer, told of a lapse by another super-node, went above the end: that is another question."""
    leader = refused_leader()
    stores = sent_of(leader.step, StoreChange)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(64, stores[-1][1])
    above = subscription_of(RECORD.filter, subscriber=64, version=3)
    sent(leader.step)
    for _ in range(2):
        leader.subscribe(64, above)
    assert leader.verdicts_sent() == []
    assert list(leader.cores.changes.active()) == [above]


def succeed(leader: Leader, claims: dict[LogId, int]) -> Term:
    """Another term begins at the same node, with a table in force."""
    table, log = leader.grants.table, LogId(CLUSTER, epoch(2, 1))
    census = Census(leader.step, CONFIG.cluster, log.epoch)
    term = leader.cores.office.begin(Beginning(log, census, claims, Micros(0), None, None, is_complete=True))
    term.grants.table = table
    leader.step.tick += 1
    term.tick()
    return term


def test_new_term_applies_again_what_the_last_one_did_not_claim() -> None:
    """Claims heard count as far as we hold them; everything else must be stored by its owner once more."""
    leader = stable_leader()
    later = subscription_of(on_topic(TOPIC), 2, subscriber=64)
    leader.subscribe(64, later)
    make_durable(leader.step)
    sent(leader.step)
    succeed(leader, {LOG: 1})
    assert [store.change.record for _, store in sent_of(leader.step, StoreChange)] == [later]


def test_new_term_lets_owners_vote_again_on_what_was_refused() -> None:
    """The refusal was the last super-node's memory alone, and had not left it: its owner repeats its vote."""
    leader = refused_leader()
    leader.cores.changes._refused.clear()
    sent(leader.step)
    term = succeed(leader, leader.grants.vector)
    stores = [store for _, store in sent_of(leader.step, StoreChange) if store.change.record == RECORD]
    assert len(stores) == 1
    answers = Answers()
    term.confirmations._casts = answers
    cast = CastId(node_at(200), 1, 1)
    term.take(cast, ChangePayload(stores[0].change), WHOLE)
    leader.store_change(64, stores[0], granted=False)
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 0, 1, 0))]


def test_claims_on_takeover_are_what_was_heard_and_is_held() -> None:
    """Neither alone is enough: we cannot vouch for what we do not hold, nor for what nobody claimed."""
    one, two, three = (LogId(CLUSTER, epoch(n, 1)) for n in (1, 2, 3))
    assert claims_on_takeover(((one, 5), (two, 2)), {one: 3, two: 4, three: 9}) == {one: 3, two: 2}
    assert claims_on_takeover(((one, 5),), {}) == {}


def test_subscription_without_right_is_refused_and_gets_no_number() -> None:
    """A filter that names no topic needs the right to all of them."""
    leader = Leader(32, 64, 128)
    leader.cores.permits.link_up(node_at(64), Rights(subscribe=("other/*",)))
    leader.subscribe(64, RECORD)
    assert sent(leader.step) == [(at(64), Verdict(RECORD.id, 1, VerdictStatus.REFUSED, (), Reason.NOT_AUTHORIZED))]
    assert [record.reason for record in records_of(leader.step, Kind.DROP)] == ["not_authorized"]
    assert leader.cores.changes.vector == {}


def test_term_that_is_not_complete_names_no_candidate_in_sync() -> None:
    """It does not know what they would have to hold."""
    leader = Leader(32, 64, 128)
    leader.hold_changes(32)
    leader.hold_changes(64)
    assert leader.term.in_sync_candidates() == (at(32), at(64))
    leader.term.completeness.lose()
    assert leader.term.in_sync_candidates() == ()


@pytest.mark.parametrize("is_active", [True, False])
def test_subscription_that_is_too_large_is_refused_and_gets_no_number(is_active: bool) -> None:
    """Its peer's own limits should have stopped it; every cluster would have to store it."""
    leader = Leader(32, 64, 128)
    heavy = Filter(((Predicate("a", Operator.EQUAL, "x" * FILTER_BYTES_MAX),),))
    record = subscription_of(heavy, subscriber=64, is_active=is_active)
    leader.subscribe(64, record)
    refused = Verdict(record.id, 1, VerdictStatus.REFUSED, (), Reason.FILTER_TOO_LARGE)
    assert leader.verdicts_sent() == [(at(64), refused)]
    assert [found.reason for found in records_of(leader.step, Kind.DROP)] == ["filter_too_large"]
    assert leader.cores.changes.vector == {}


def test_heavy_changes_are_replicated_a_few_at_a_time() -> None:
    """A candidate that lacks many gets no more than one message should carry; the rest when it holds them."""
    leader = Leader(32, 64, 128)
    for n in range(1, 11):
        heavy = Filter(((Predicate("a", Operator.EQUAL, f"{n}" + "x" * 60_000),),))
        leader.subscribe(64, subscription_of(heavy, n, subscriber=64))
    streams = [state for to, state in sent_of(leader.step, ReplicateChanges) if to == at(32)]
    assert len(streams[-1].changes) == 4
    assert all(state.weight <= BATCH_BYTES_MAX for state in streams)


# Advertisements


def advertisement(state: DeclarationState = DeclarationState.ACTIVE, version: int = 1) -> Advertisement:
    """What the member at 64 will publish."""
    return Advertisement(RECORD.id, version, state, CLUSTER, on_topic(TOPIC), 5.0)


def test_advertisement_is_stable_once_the_candidates_hold_it() -> None:
    """No owner is asked: an advertisement is nothing that events are matched with."""
    leader = Leader(32, 64, 128)
    leader.subscribe(64, advertisement())
    assert [found.advertised for found in records_of(leader.step, Kind.NUMBER)] == [advertisement()]
    leader.settle()
    assert not sent_of(leader.step, StoreChange)
    assert leader.cores.changes.advertised == {RECORD.id: advertisement()}
    leader.hold_changes(32)
    assert leader.verdicts_sent() == []
    leader.hold_changes(64)
    leader.settle()
    assert leader.verdicts_sent() == [(at(64), Verdict(RECORD.id, 1, VerdictStatus.STABLE, ()))]


def test_verdict_says_what_is_advertised_of_a_subscription() -> None:
    """At the time of the verdict: what was withdrawn before counts no more."""
    leader = Leader(32, 64, 128)
    offers = [replace(advertisement(), id=SubscriptionId(node_at(place), 1, 9), rate=2.5) for place in (32, 64, 128)]
    for place, offer in zip((32, 64, 128), offers, strict=True):
        leader.subscribe(place, offer)
    leader.subscribe(128, replace(offers[2], version=2, state=DeclarationState.ENDED))
    leader.subscribe(64, RECORD)
    ((_, store),) = sent_of(leader.step, StoreChange)
    leader.settle()
    leader.store_change(64, store)
    leader.hold_changes(32)
    leader.hold_changes(64)
    leader.settle()
    (said,) = [verdict for _, verdict in leader.verdicts_sent() if verdict.id == RECORD.id]
    assert said.demand == Demand(5 * RATE_ONE, 5 * RATE_ONE, 2, 2)


def test_advertisement_ends_as_a_subscription_does() -> None:
    """By its peer, or by a new process of its peer."""
    leader = Leader(32, 64, 128)
    leader.subscribe(64, advertisement())
    leader.hear(64, incarnation=2)
    assert leader.cores.changes.advertised == {}
    leader.subscribe(64, advertisement(version=3))
    assert list(leader.cores.changes.advertised) == [RECORD.id]
    leader.subscribe(64, advertisement(DeclarationState.ENDED, 4))
    assert leader.cores.changes.advertised == {}


def test_nobody_advertises_what_it_may_not_publish() -> None:
    """The right to subscribe to it is another one."""
    leader = Leader(32, 64, 128)
    leader.cores.permits.link_up(at(64).id, Rights(publish=("other",), subscribe=("*",)))
    leader.subscribe(64, advertisement())
    assert [found.reason for found in records_of(leader.step, Kind.DROP)] == ["not_authorized"]
    assert leader.cores.changes.advertised == {}


@pytest.mark.parametrize("is_succeeded", [False, True])
def test_former_super_node_holds_everything_for_a_lease_or_until_another_term_answers(is_succeeded: bool) -> None:
    """What its cluster learns after that, it may lack; a term that it fills then must not take it for whole."""
    office = Leader(64, 128).cores.office
    office.end()
    held = [office.is_complete]
    if is_succeeded:
        office.be_succeeded()
    for ticks in (CONFIG.cluster.lease_ticks - 1, 1):
        office.step.tick += ticks
        held.append(office.is_complete)
    assert held == [True, not is_succeeded, False]
